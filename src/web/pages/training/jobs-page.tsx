import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Badge, toneOf } from '../../parts/badge.tsx'
import { Aside, Button, Choice, Empty, Filters, Loaded, PageHeader, Panel, Quiet } from '../../parts/layout.tsx'
import { Meter } from '../../parts/meter.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count, plural, words } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { ROUND_COLUMNS } from './round-columns.tsx'
import { StartTraining } from './start-training.tsx'
import styles from './training.module.css'
import type { Job } from './types.ts'

const DEFAULTS = { status: '', page: 1 }
const PAGE = 100

const STATUSES = [
  ['', 'Any status'],
  ...(['running', 'completed', 'failed', 'stopped'] as const).map((status) => [status, words(status)] as const),
] as const

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
    name: 'Ended by',
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
            <Table label="Rounds" columns={ROUND_COLUMNS} rows={rounds} rowKey={({ id }) => id} />
          </Panel>
        )
      }
    </Loaded>
  )
}

/** Training jobs, and the latest rounds, of jobs and of none. */
export const JobsPage = () => {
  const [{ status, page }, change] = usePageState(DEFAULTS)
  const query = useApi('/api/v1/training/jobs', {
    query: {
      limit: PAGE,
      offset: (Math.max(1, Math.trunc(page)) - 1) * PAGE,
      ...(status !== '' && { status: status as Job['status'] }),
    },
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
      </Filters>
      <Loaded query={query}>
        {({ jobs, total }) => (
          <Panel title="Jobs" aside={<Quiet>{plural(total, 'job')}</Quiet>} flush>
            {jobs.length === 0 ? (
              <Empty
                title={status === '' ? 'No training job yet' : 'No job has this status'}
                command="svc train start my-model --rounds 10"
              >
                A job runs rounds one after another from a model:
              </Empty>
            ) : (
              <Table label="Training jobs" columns={JOBS} rows={jobs} rowKey={({ id }) => id} />
            )}
            {total > PAGE && (
              <nav className={styles.pages} aria-label="Pages of jobs">
                <Button disabled={page <= 1} onClick={() => change({ page: page - 1 })}>
                  Newer
                </Button>
                <Quiet>{`page ${count(page)} of ${count(Math.ceil(total / PAGE))}`}</Quiet>
                <Button disabled={page * PAGE >= total} onClick={() => change({ page: page + 1 })}>
                  Older
                </Button>
              </nav>
            )}
          </Panel>
        )}
      </Loaded>
      <Rounds />
    </>
  )
}
