import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Ago } from '../../parts/cells.tsx'
import { Choice, choices } from '../../parts/form.tsx'
import { Empty, Quiet } from '../../parts/layout.tsx'
import { ListPage, pageQuery } from '../../parts/list-page.tsx'
import { Meter } from '../../parts/meter.tsx'
import type { Column } from '../../parts/table.tsx'
import { usePageState } from '../../url/use-page-state.ts'
import type { ListedRollout } from './delivery-records.ts'
import { PlanBadge, planTone } from './plan-badge.tsx'
import { isCanary } from './stages.ts'

const DEFAULTS = { status: '', page: 1 }

const STATUSES = choices('Any status', ['active', 'paused', 'pending', 'completed', 'rolled_back'])
const WORDS = { status: STATUSES }

const COLUMNS: readonly Column<ListedRollout>[] = [
  {
    name: 'Rollout',
    cell: ({ model_id, rollout_id, model_name, version }) => (
      <Link href={`/delivery/rollouts/${model_id}/${rollout_id}`}>
        {`${model_name ?? model_id.slice(0, 8)} ${version}`}
      </Link>
    ),
  },
  { name: 'Status', cell: PlanBadge },
  {
    name: 'Devices',
    cell: ({ percentage: planned, target_percentage, status }) => {
      // Before it starts, it has reached nothing.
      const percentage = status === 'pending' ? 0 : planned
      return (
        <Meter
          label="Share of devices"
          value={percentage}
          max={100}
          text={`${percentage}%${percentage === target_percentage ? '' : `, target ${target_percentage}%`}`}
          tone={planTone(status)}
        />
      )
    },
  },
  {
    name: 'Next step',
    number: true,
    cell: (rollout) => {
      if (rollout.status === 'active' && isCanary(rollout)) return <Quiet>decided by its policy</Quiet>
      if (rollout.status === 'paused') return <Quiet>waiting for you</Quiet>
      return <Ago time={rollout.next_step_at} />
    },
  },
  { name: 'Reason', cell: ({ reason }) => reason ?? '' },
  { name: 'Started', number: true, cell: ({ started_at }) => <Ago time={started_at} /> },
]

export const RolloutsPage = () => {
  const [{ status, page }, change] = usePageState(DEFAULTS, WORDS)
  const query = { ...pageQuery(page), status: status as ListedRollout['status'] }
  return (
    <ListPage
      title="Rollouts"
      noun="rollout"
      query={useApi('/api/v1/rollouts', { query })}
      filters={
        <Choice
          label="Status"
          value={status}
          options={STATUSES}
          onChange={(value) => change({ status: value, page: 1 })}
        />
      }
      page={page}
      onPage={(next) => change({ page: next })}
      columns={COLUMNS}
      rows={({ rollouts }) => rollouts}
      rowKey="rollout_id"
      empty={
        <Empty
          title={status === '' ? 'No rollouts yet' : 'No rollout has this status'}
          command="svc deploy my-model --rollout 10"
        >
          A rollout brings a version to a growing share of the fleet while it stays healthy. Start one from a model’s
          page, or with:
        </Empty>
      }
    />
  )
}
