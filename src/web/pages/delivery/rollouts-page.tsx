import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Ago } from '../../parts/cells.tsx'
import { choices } from '../../parts/form.tsx'
import { Empty, Quiet } from '../../parts/layout.tsx'
import { createListState, ListPage } from '../../parts/list-page.tsx'
import { Meter } from '../../parts/meter.tsx'
import type { Column } from '../../parts/table.tsx'
import type { ListedRollout } from './delivery-records.ts'
import { PlanBadge, planTone } from './plan-badge.tsx'
import { isCanary } from './stages.ts'

const STATUSES = ['active', 'paused', 'pending', 'completed', 'rolled_back'] as const
const useListState = createListState('status', choices('Any status', STATUSES))

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
  const { query, list, isFiltered } = useListState()
  return (
    <ListPage
      {...list}
      title="Rollouts"
      noun="rollout"
      query={useApi('/api/v1/rollouts', { query })}
      columns={COLUMNS}
      rows={({ rollouts }) => rollouts}
      rowKey="rollout_id"
      empty={
        <Empty
          title={isFiltered ? 'No rollout has this status' : 'No rollouts yet'}
          command="svc deploy my-model --rollout 10"
        >
          A rollout brings a version to a growing share of the fleet while it stays healthy. Start one from a model’s
          page, or with:
        </Empty>
      }
    />
  )
}
