import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Ago, Badge, toneOf } from '../../parts/cells.tsx'
import { Choice, choices } from '../../parts/form.tsx'
import { Aside, Empty, Filters, Loaded, PageHeader, Panel } from '../../parts/layout.tsx'
import { Pager, pageQuery, TablePanel } from '../../parts/list-page.tsx'
import { Meter } from '../../parts/meter.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { plural, words } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { ROUND_COLUMNS } from './round-columns.tsx'
import { StartTraining } from './start-training.tsx'
import type { Job } from './training-records.ts'

const DEFAULTS = { status: '', page: 1 }
const STATUSES = choices('Any status', ['running', 'completed', 'failed', 'stopped'])
const WORDS = { status: STATUSES }

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
  { name: 'Started', number: true, cell: ({ started_at, created_at }) => <Ago time={started_at ?? created_at} /> },
]

const Rounds = () => {
  const query = useApi('/api/v1/training/rounds', { query: { limit: 100 } })
  return (
    <Loaded query={query}>
      {({ rounds, total }) =>
        rounds.length > 0 && (
          <Panel title="Latest rounds" aside={plural(total, 'round')} flush>
            <Table label="Rounds" columns={ROUND_COLUMNS} rows={rounds} rowKey="id" />
          </Panel>
        )
      }
    </Loaded>
  )
}

/** Training jobs, and the latest rounds, including those without a job. */
export const JobsPage = () => {
  const [{ status, page }, change] = usePageState(DEFAULTS, WORDS)
  const query = useApi('/api/v1/training/jobs', {
    query: { ...pageQuery(page), status: status as Job['status'] },
  })
  return (
    <>
      <PageHeader title="Training">
        <Aside>
          <StartTraining />
        </Aside>
      </PageHeader>
      <Filters>
        <Choice
          label="Status"
          value={status}
          options={STATUSES}
          onChange={(value) => change({ status: value, page: 1 })}
        />
        <Pager page={page} total={query.data?.total ?? 0} onPage={(next) => change({ page: next })} />
      </Filters>
      <Loaded query={query}>
        {({ jobs, total }) => (
          <TablePanel
            title="Jobs"
            label="Training jobs"
            aside={plural(total, 'job')}
            columns={JOBS}
            rows={jobs}
            rowKey="id"
            empty={
              <Empty
                title={status === '' ? 'No training jobs yet' : 'No job has this status'}
                command="svc train start my-model --rounds 10"
              >
                A job trains a model in consecutive rounds. Start one with:
              </Empty>
            }
          />
        )}
      </Loaded>
      <Rounds />
    </>
  )
}
