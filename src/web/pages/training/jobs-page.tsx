import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Ago, Badge, toneOf } from '../../parts/cells.tsx'
import { choices } from '../../parts/form.tsx'
import { Empty, Loaded } from '../../parts/layout.tsx'
import { createListState, ListPage, TablePanel } from '../../parts/list-page.tsx'
import { Meter } from '../../parts/meter.tsx'
import type { Column } from '../../parts/table.tsx'
import { plural, words } from '../../text/format.ts'
import { ROUND_COLUMNS } from './round-columns.tsx'
import { StartTraining } from './start-training.tsx'
import type { Job } from './training-records.ts'

const STATUSES = ['running', 'pending', 'completed', 'failed', 'stopped'] as const
const useListState = createListState('status', choices('Any status', STATUSES))

const nameOf = (job: Job): string => job.name ?? `Job ${job.id.slice(0, 8)}`

const JOBS: readonly Column<Job>[] = [
  { name: 'Job', cell: (job) => <Link href={`/training/jobs/${job.id}`}>{nameOf(job)}</Link> },
  { name: 'Status', cell: ({ status }) => <Badge state={status} /> },
  { name: 'Strategy', cell: ({ strategy }) => strategy },
  {
    name: 'Rounds',
    cell: (job) => (
      <Meter
        label="Rounds completed"
        value={job.rounds_completed}
        max={job.rounds}
        text={`${job.rounds_completed} / ${job.rounds}`}
        tone={toneOf(job.status)}
      />
    ),
  },
  {
    name: 'Reason',
    cell: ({ reason, ended_by, waiting_for }) => reason ?? waiting_for ?? (ended_by === null ? '' : words(ended_by)),
  },
  { name: 'Created', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]

const Rounds = () => {
  const query = useApi('/api/v1/training/rounds', { query: { limit: 100 } })
  return (
    <Loaded query={query}>
      {({ rounds, total }) =>
        rounds.length > 0 && (
          <TablePanel
            title="Latest rounds"
            label="Rounds"
            aside={plural(total, 'round')}
            columns={ROUND_COLUMNS}
            rows={rounds}
            rowKey="id"
          />
        )
      }
    </Loaded>
  )
}

/** Training jobs, and the latest rounds, including those without a job. */
export const JobsPage = () => {
  const { query, list, isFiltered } = useListState()
  const jobs = useApi('/api/v1/training/jobs', { query })
  return (
    <>
      <ListPage
        {...list}
        title="Training"
        panel="Jobs"
        label="Training jobs"
        aside={plural(jobs.data?.total ?? 0, 'job')}
        query={jobs}
        actions={<StartTraining />}
        columns={JOBS}
        rows={(data) => data.jobs}
        rowKey="id"
        empty={
          <Empty
            title={isFiltered ? 'No job has this status' : 'No training jobs yet'}
            command="svc train start my-model --rounds 10"
          >
            A job trains a model in consecutive rounds. Start one with:
          </Empty>
        }
      />
      <Rounds />
    </>
  )
}
