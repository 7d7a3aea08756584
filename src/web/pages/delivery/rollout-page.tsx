import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Badge } from '../../parts/badge.tsx'
import { Id } from '../../parts/copy.tsx'
import { Aside, Columns, Facts, Loaded, PageHeader, Panel, Quiet } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count, duration } from '../../text/format.ts'
import { DeviceStates } from './device-states.tsx'
import { DeviceTable } from './device-table.tsx'
import { Events } from './events.tsx'
import styles from './rollout.module.css'
import { RolloutActions } from './rollout-actions.tsx'
import { Health } from './rollout-health.tsx'
import { Headline, StageTrack } from './rollout-stages.tsx'
import { rolloutTone } from './rollouts-page.tsx'
import { stagesOf } from './stages.ts'
import type { Rollout } from './types.ts'

/** What devices report comes on no stream: there may be thousands in a second. */
const REPORTS = { everyMs: 3000 } as const
const MAX_DEVICES = 500
const MAX_EVENTS = 1000

const REASONS: readonly Column<Rollout['failures'][number]>[] = [
  { name: 'Reason', cell: ({ reason }) => reason ?? <Quiet>none given</Quiet> },
  { name: 'Devices', number: true, cell: ({ devices }) => count(devices) },
]

const Settings = ({ rollout }: { readonly rollout: Rollout }) => (
  <Panel title="Rollout">
    <Facts
      entries={[
        [
          'Model',
          <Link key="model" href={`/models/${encodeURIComponent(rollout.model_name ?? rollout.model_id)}`}>
            {rollout.model_name ?? rollout.model_id}
          </Link>,
        ],
        ['Version', rollout.version],
        [
          'Devices',
          rollout.group_id === null ? (
            'every device'
          ) : (
            <Link key="group" href={`/delivery/groups/${rollout.group_id}`}>
              a group
            </Link>
          ),
        ],
        ['Steps', `${rollout.increment_step} % every ${duration(rollout.step_interval_minutes * 60_000)}`],
        ['Up to', `${rollout.target_percentage} %`],
        ['Started', <Ago key="started" time={rollout.started_at} />],
        ...(rollout.ended_at === null ? [] : [['Ended', <Ago key="ended" time={rollout.ended_at} />] as const]),
        ['Rollout id', <Id key="id" id={rollout.rollout_id} />],
      ]}
    />
  </Panel>
)

const Body = ({ rollout, reached }: { readonly rollout: Rollout; readonly reached: number }) => {
  const path = { model_id: rollout.model_id, rollout_id: rollout.rollout_id }
  const history = useApi('/api/v1/models/{model_id}/rollouts/{rollout_id}/history', {
    path,
    query: { limit: MAX_EVENTS },
  })
  const devices = useApi(
    '/api/v1/models/{model_id}/rollouts/{rollout_id}/devices',
    {
      path,
      query: { limit: MAX_DEVICES },
    },
    REPORTS,
  )
  const events = history.data?.events ?? []
  const stages = stagesOf(rollout, events)
  const reports = Object.values(rollout.reports).reduce((sum, of) => sum + of, 0)
  return (
    <>
      {rollout.warnings.length > 0 && (
        <Panel title="Attention">
          {rollout.warnings.map((warning) => (
            <p key={warning}>{warning}</p>
          ))}
        </Panel>
      )}
      <Panel title="Stages">
        <p className={styles.headline}>
          <Headline rollout={rollout} next={stages.find(({ state }) => state === 'next')} />
        </p>
        <StageTrack stages={stages} />
      </Panel>
      <div className={styles.below}>
        <Columns>
          <Health rollout={rollout} />
          <DeviceStates counts={{ ...rollout.reports, assigned: Math.max(0, reached - reports) }} />
        </Columns>
        {rollout.failures.length > 0 && (
          <Panel title="Why devices failed" flush>
            <Table
              label="Reasons of failure"
              columns={REASONS}
              rows={rollout.failures}
              rowKey={({ reason }) => reason ?? ''}
            />
          </Panel>
        )}
        <Loaded query={devices}>{(data) => <DeviceTable devices={data.devices} total={data.total} />}</Loaded>
        <Events events={events} />
        <Settings rollout={rollout} />
      </div>
    </>
  )
}

/** One rollout: where it is, what is next, whether its devices are well, and what can be done. */
export const RolloutPage = ({ modelId, rolloutId }: { readonly modelId: string; readonly rolloutId: string }) => {
  const path = { model_id: modelId, rollout_id: rolloutId }
  const query = useApi('/api/v1/models/{model_id}/rollouts/{rollout_id}', { path }, REPORTS)
  const devices = useApi(
    '/api/v1/models/{model_id}/rollouts/{rollout_id}/devices',
    {
      path,
      query: { limit: MAX_DEVICES },
    },
    REPORTS,
  )
  const rollout = query.data
  const reached = devices.data?.total ?? 0
  return (
    <>
      <PageHeader
        title={rollout ? `${rollout.model_name ?? 'Model'} ${rollout.version}` : 'Rollout'}
        up={{ href: '/delivery', label: 'Rollouts' }}
      >
        {rollout && <Badge state={rollout.status} tone={rolloutTone(rollout.status)} />}
        <Aside>{rollout && <RolloutActions rollout={rollout} devices={reached} />}</Aside>
      </PageHeader>
      <Loaded query={query}>{(loaded) => <Body rollout={loaded} reached={reached} />}</Loaded>
    </>
  )
}
