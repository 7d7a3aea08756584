import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Badge, type Tone, toneOf } from '../../parts/badge.tsx'
import { Aside, Choice, Empty, Filters, Loaded, PageHeader, Panel, Quiet } from '../../parts/layout.tsx'
import { Meter } from '../../parts/meter.tsx'
import { Ago } from '../../parts/now.tsx'
import { PAGE, Pager } from '../../parts/pager.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { plural, words } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import type { ListedRollout } from './types.ts'

const DEFAULTS = { status: '', page: 1 }

const STATUSES = [
  ['', 'Any status'],
  ...(['active', 'paused', 'pending', 'completed', 'rolled_back'] as const).map((name) => [name, words(name)] as const),
] as const

/** A rollout that is active is at work, where an active device is well. */
export const rolloutTone = (status: string): Tone => (status === 'active' ? 'busy' : toneOf(status))

const COLUMNS: readonly Column<ListedRollout>[] = [
  {
    name: 'Rollout',
    cell: ({ model_id, rollout_id, model_name, version }) => (
      <Link
        href={`/delivery/rollouts/${model_id}/${rollout_id}`}
      >{`${model_name ?? model_id.slice(0, 8)} ${version}`}</Link>
    ),
  },
  { name: 'Status', cell: ({ status }) => <Badge state={status} tone={rolloutTone(status)} /> },
  {
    name: 'Devices',
    cell: ({ percentage, target_percentage, status }) => (
      <Meter
        label="Share of devices"
        value={percentage}
        max={Math.max(1, target_percentage)}
        text={`${percentage} % of ${target_percentage} %`}
        tone={rolloutTone(status)}
      />
    ),
  },
  {
    name: 'Next step',
    number: true,
    cell: ({ next_step_at, status }) =>
      next_step_at === null ? <Quiet>{status === 'paused' ? 'waits for you' : ''}</Quiet> : <Ago time={next_step_at} />,
  },
  { name: 'Reason', cell: ({ reason }) => reason ?? '' },
  { name: 'Started', number: true, cell: ({ started_at, created_at }) => <Ago time={started_at ?? created_at} /> },
]

export const RolloutsPage = () => {
  const [{ status, page }, change] = usePageState(DEFAULTS)
  const query = useApi('/api/v1/rollouts', {
    query: {
      limit: PAGE,
      offset: (page - 1) * PAGE,
      ...(status !== '' && { status: status as ListedRollout['status'] }),
    },
  })
  return (
    <>
      <PageHeader title="Rollouts">
        <Aside>
          <Quiet>{query.data && plural(query.data.total, 'rollout')}</Quiet>
        </Aside>
      </PageHeader>
      <Filters>
        <Choice
          label="Status"
          value={status as (typeof STATUSES)[number][0]}
          options={STATUSES}
          onChange={(value) => change({ status: value, page: 1 })}
        />
        <Pager page={page} total={query.data?.total ?? 0} onChange={(next) => change({ page: next })} />
      </Filters>
      <Loaded query={query}>
        {({ rollouts }) => (
          <Panel title="All rollouts" flush>
            {rollouts.length === 0 ? (
              <Empty
                title={status === '' ? 'No rollout yet' : 'No rollout has this status'}
                command="svc deploy my-model --rollout 10"
              >
                A rollout brings a version to a growing part of the fleet, for as long as health holds. Start one from a
                model’s page, or with:
              </Empty>
            ) : (
              <Table label="Rollouts" columns={COLUMNS} rows={rollouts} rowKey={({ rollout_id }) => rollout_id} />
            )}
          </Panel>
        )}
      </Loaded>
    </>
  )
}
