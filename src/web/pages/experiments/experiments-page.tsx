import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Ago, Badge } from '../../parts/cells.tsx'
import { DialogButton } from '../../parts/dialog.tsx'
import { choices } from '../../parts/form.tsx'
import { Empty } from '../../parts/layout.tsx'
import { createListState, ListPage } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { percent } from '../../text/format.ts'
import { CreateExperiment } from './create-experiment.tsx'
import type { ListedExperiment } from './experiment-records.ts'

const STATUSES = ['running', 'draft', 'paused', 'completed', 'cancelled'] as const
const useListState = createListState('status', choices('Any status', STATUSES))

const COLUMNS: readonly Column<ListedExperiment>[] = [
  { name: 'Experiment', cell: ({ id, name }) => <Link href={`/experiments/${id}`}>{name}</Link> },
  { name: 'Status', cell: ({ status }) => <Badge state={status} /> },
  {
    name: 'Variants',
    cell: ({ variants }) => variants.map(({ name, allocation }) => `${name} ${percent(allocation, 0)}`).join(', '),
  },
  { name: 'Metric', cell: ({ primary_metric }) => primary_metric },
  { name: 'Reason', cell: ({ reason }) => reason ?? '' },
  { name: 'Started', number: true, cell: ({ started_at }) => <Ago time={started_at} /> },
  { name: 'Ended', number: true, cell: ({ ended_at }) => <Ago time={ended_at} /> },
]

/** Comparisons of versions on randomly assigned devices. */
export const ExperimentsPage = () => {
  const { query, list, isFiltered } = useListState()
  return (
    <ListPage
      {...list}
      title="Experiments"
      noun="experiment"
      query={useApi('/api/v1/experiments', { query })}
      actions={
        <DialogButton needs="models:write" tone="primary" dialog={<CreateExperiment />}>
          Create experiment
        </DialogButton>
      }
      columns={COLUMNS}
      rows={({ experiments }) => experiments}
      rowKey="id"
      empty={
        <Empty
          title={isFiltered ? 'No experiment has this status' : 'No experiments yet'}
          command="svc experiments create my-test --variant a=my-model@1.0.0:0.5 --variant b=my-model@2.0.0:0.5"
        >
          An experiment assigns two or more versions to random devices and compares what they measure. Create one here,
          or with:
        </Empty>
      }
    />
  )
}
