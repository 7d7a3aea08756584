import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Ago, Badge } from '../../parts/cells.tsx'
import { DialogButton } from '../../parts/dialog.tsx'
import { Choice, choices } from '../../parts/form.tsx'
import { Empty } from '../../parts/layout.tsx'
import { ListPage, pageQuery } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { percent } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { CreateExperiment } from './create-experiment.tsx'
import type { ListedExperiment } from './experiment-records.ts'

const DEFAULTS = { status: '', page: 1 }

const STATUSES = choices('Any status', ['running', 'draft', 'paused', 'completed', 'cancelled'])
const WORDS = { status: STATUSES }

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
  const [{ status, page }, change] = usePageState(DEFAULTS, WORDS)
  const query = { ...pageQuery(page), status: status as ListedExperiment['status'] }
  return (
    <ListPage
      title="Experiments"
      noun="experiment"
      query={useApi('/api/v1/experiments', { query })}
      actions={
        <DialogButton needs="models:write" tone="primary" dialog={(close) => <CreateExperiment onClose={close} />}>
          Create experiment
        </DialogButton>
      }
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
      rows={({ experiments }) => experiments}
      rowKey="id"
      empty={
        <Empty
          title={status === '' ? 'No experiments yet' : 'No experiment has this status'}
          command="svc experiments create my-test --variant a=my-model@1.0.0:0.5 --variant b=my-model@2.0.0:0.5"
        >
          An experiment assigns two or more versions to random devices and compares what they measure. Create one here,
          or with:
        </Empty>
      }
    />
  )
}
