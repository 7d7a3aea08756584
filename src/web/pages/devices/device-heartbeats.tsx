import { useMemo } from 'react'
import type { AnswerOf } from '../../api/paths.ts'
import { useApi } from '../../api/use-api.ts'
import { Curve } from '../../parts/curve.tsx'
import { Loaded, Panel } from '../../parts/layout.tsx'
import { count } from '../../text/format.ts'

type History = AnswerOf<'/api/v1/devices/{device_id}/heartbeats'>

const ByTime = ({ from, slot_seconds, counts }: History) => {
  const series = useMemo(() => {
    const start = Date.parse(from) / 1000
    return [{ name: 'heartbeats', points: counts.map((beats, slot) => [start + slot * slot_seconds, beats] as const) }]
  }, [from, slot_seconds, counts])
  return <Curve title="Heartbeats" x="time" series={series} format={count} />
}

/** When its heartbeats came: 0 is a time of silence. */
export const DeviceHeartbeats = ({
  device,
}: {
  readonly device: { readonly device_id: string; readonly org_id: string | null }
}) => {
  const history = useApi(
    '/api/v1/devices/{device_id}/heartbeats',
    { path: { device_id: device.device_id }, query: { ...(device.org_id !== null && { org_id: device.org_id }) } },
    { everyMs: 60_000 },
  )
  return (
    <Panel title="Heartbeats" aside="in each quarter of an hour of the last day">
      <Loaded query={history}>{(data) => <ByTime {...data} />}</Loaded>
    </Panel>
  )
}
