import type { Moment } from '../../parts/timeline.tsx'
import { type DeviceReport, reportTone, versionName } from './device-versions.tsx'
import type { RoundOfDevice } from './use-device-rounds.ts'

const MAX_ROWS = 20

const DID: Readonly<Record<DeviceReport['state'], string>> = {
  downloading: 'began to download',
  verifying: 'is verifying',
  ready: 'is ready to run',
  active: 'runs',
  failed: 'failed with',
}

const TOOK_PART: Readonly<Record<string, readonly [tone: Moment['tone'], text: string]>> = {
  selected: ['busy', 'was selected for'],
  delivered: ['good', 'delivered its update to'],
  failed: ['bad', 'failed in'],
  absent: ['warn', 'was absent from'],
}

const because = (reason: string | null): string => (reason === null ? '' : `: ${reason}`)

/** Returns a device's known history, newest first. */
export const momentsOf = (
  device: { readonly created_at: string; readonly last_heartbeat: string; readonly status: string },
  reports: readonly DeviceReport[],
  rounds: readonly RoundOfDevice[],
): readonly Moment[] => {
  const moments: Moment[] = [
    {
      key: 'heard',
      tone: device.status === 'active' ? 'good' : 'warn',
      text: device.status === 'active' ? 'last heartbeat' : 'last heartbeat; inactive since',
      time: device.last_heartbeat,
    },
    { key: 'registered', tone: 'idle', text: 'registered', time: device.created_at },
    ...reports.map((report) => ({
      key: report.plan_id,
      tone: reportTone(report.state),
      text: `${DID[report.state]} ${versionName(report)}, by ${report.kind}${because(report.reason)}`,
      time: report.reported_at,
    })),
    ...rounds.flatMap(({ round, selection }) => {
      const part = TOOK_PART[selection?.state ?? '']
      if (part === undefined) return []
      const [tone, text] = part
      const why = tone === 'bad' || tone === 'warn' ? because(selection?.reason ?? null) : ''
      const time = round.ended_at ?? round.started_at ?? round.created_at
      return [{ key: round.id, tone, text: `${text} round ${round.round_number}${why}`, time }]
    }),
  ]
  return moments.sort((a, b) => Date.parse(b.time ?? '') - Date.parse(a.time ?? '')).slice(0, MAX_ROWS)
}
