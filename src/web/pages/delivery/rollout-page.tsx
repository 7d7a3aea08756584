import { Link } from 'wouter'
import { isNotFound } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { Ago, Id } from '../../parts/cells.tsx'
import { DetailPage } from '../../parts/detail-page.tsx'
import { Columns, Facts, Loaded, Panel, Quiet, useLastError, Warnings } from '../../parts/layout.tsx'
import { TablePanel } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { count, duration } from '../../text/format.ts'
import { modelHref } from '../../url/hrefs.ts'
import styles from './delivery.module.css'
import { REPORTS, type Rollout } from './delivery-records.ts'
import { DeviceStates, withoutDevices } from './device-states.tsx'
import { DeviceTable } from './device-table.tsx'
import { Events } from './events.tsx'
import { PlanBadge } from './plan-badge.tsx'
import { RolloutActions } from './rollout-actions.tsx'
import { Health } from './rollout-health.tsx'
import { Headline, StageTrack } from './rollout-stages.tsx'
import { isCanary, stagesOf } from './stages.ts'

const MAX_DEVICES = 500
const MAX_EVENTS = 1000
const MINUTE_MS = 60_000

const REASONS: readonly Column<Rollout['failures'][number]>[] = [
  { name: 'Reason', cell: ({ reason }) => reason ?? <Quiet>none given</Quiet> },
  { name: 'Devices', number: true, cell: ({ devices }) => count(devices) },
]

const GroupLink = ({ groupId }: { readonly groupId: string }) => {
  const group = useApi('/api/v1/device-groups/{group_id}', { path: { group_id: groupId } })
  if (isNotFound(useLastError(group))) return 'a deleted group: no device gets the version'
  return <Link href={`/delivery/groups/${groupId}`}>{group.data?.name ?? 'a group'}</Link>
}

const Settings = ({ rollout }: { readonly rollout: Rollout }) => {
  const model = rollout.model_name ?? rollout.model_id
  return (
    <Panel title="Rollout">
      <Facts
        entries={[
          [
            'Model',
            <Link key="model" href={modelHref(rollout.model_id)}>
              {model}
            </Link>,
          ],
          ['Version', rollout.version],
          [
            'Devices',
            rollout.group_id === null ? 'every device' : <GroupLink key="group" groupId={rollout.group_id} />,
          ],
          [
            'Steps',
            isCanary(rollout)
              ? 'none: its policy promotes it or rolls it back'
              : `${rollout.increment_step}% every ${duration(rollout.step_interval_minutes * 60_000)}`,
          ],
          ['Up to', `${rollout.target_percentage}%`],
          ['Started', <Ago key="started" time={rollout.started_at} />],
          rollout.ended_at !== null && ['Ended', <Ago key="ended" time={rollout.ended_at} />],
          ['Rollout id', <Id key="id" id={rollout.rollout_id} />],
        ]}
      />
    </Panel>
  )
}

const useDevices = (path: { readonly model_id: string; readonly rollout_id: string }) => {
  const params = { path, query: { limit: MAX_DEVICES } }
  return useApi('/api/v1/models/{model_id}/rollouts/{rollout_id}/devices', params, REPORTS)
}

/** The number of devices that get the version from the rollout now; others only reported on it. */
const currentOf = (found: ReturnType<typeof useDevices>['data']): number =>
  Object.values(found?.states ?? {}).reduce((sum, of) => sum + of, 0)

/** When a policy decides on this canary at the latest; null if it does not, or while unknown. */
const useDecisionDeadline = (rollout: Rollout): Date | null => {
  const path = { model_id: rollout.model_id }
  const enabled = rollout.status === 'active' && isCanary(rollout)
  const policy = useApi('/api/v1/models/{model_id}/policy', { path }, { enabled })
  const query = { limit: 100 }
  const found = useApi('/api/v1/models/{model_id}/policy/decisions', { path, query }, { enabled })
  const decision = found.data?.decisions.find(({ canary_rollout_id: id }) => id === rollout.rollout_id)
  if (!enabled || policy.data?.enabled !== true || decision?.status !== 'observing') return null
  return new Date(Date.parse(decision.created_at) + policy.data.observe_minutes * MINUTE_MS)
}

const Body = ({ rollout }: { readonly rollout: Rollout }) => {
  const path = { model_id: rollout.model_id, rollout_id: rollout.rollout_id }
  const history = useApi('/api/v1/models/{model_id}/rollouts/{rollout_id}/history', {
    path,
    query: { limit: MAX_EVENTS },
  })
  const devices = useDevices(path)
  const decidedBy = useDecisionDeadline(rollout)
  const events = history.data?.events ?? []
  const stages = stagesOf(rollout, events)
  // Until the devices are known, only reports are.
  const none =
    devices.data === undefined
      ? 'No device has reported on it.'
      : withoutDevices(rollout.status, rollout.warnings.length > 0)
  return (
    <>
      {rollout.warnings.length > 0 && (
        <Panel title="Attention">
          <Warnings texts={rollout.warnings} />
        </Panel>
      )}
      <Panel title="Stages">
        <p className={styles.headline}>
          <Headline rollout={rollout} next={stages.find(({ state }) => state === 'next')} decidedBy={decidedBy} />
        </p>
        <StageTrack stages={stages} />
      </Panel>
      <Columns>
        <Health rollout={rollout} />
        <DeviceStates
          none={none}
          counts={
            devices.data === undefined
              ? rollout.reports
              : { ...devices.data.states, no_longer_reached: devices.data.total - currentOf(devices.data) }
          }
        />
      </Columns>
      {rollout.failures.length > 0 && (
        <TablePanel
          title="Why devices failed"
          label="Reasons for failure"
          columns={REASONS}
          rows={rollout.failures}
          rowKey={({ reason }) => reason ?? ''}
        />
      )}
      <Loaded query={devices}>{(data) => <DeviceTable devices={data.devices} total={data.total} none={none} />}</Loaded>
      <Events planId={rollout.rollout_id} events={events} />
      <Settings rollout={rollout} />
    </>
  )
}

/** A rollout: its progress, next step, health, and available actions. */
export const RolloutPage = ({ modelId, rolloutId }: { readonly modelId: string; readonly rolloutId: string }) => {
  const path = { model_id: modelId, rollout_id: rolloutId }
  const current = currentOf(useDevices(path).data)
  return (
    <DetailPage
      query={useApi('/api/v1/models/{model_id}/rollouts/{rollout_id}', { path }, REPORTS)}
      title={({ model_name, version }) => `${model_name ?? 'Model'} ${version}`}
      loading="Rollout"
      up={['/delivery', 'Rollouts']}
      badge={PlanBadge}
      actions={(rollout) => <RolloutActions rollout={rollout} devices={current} />}
    >
      {(rollout) => <Body rollout={rollout} />}
    </DetailPage>
  )
}
