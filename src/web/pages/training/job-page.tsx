import { useMemo } from 'react'
import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Ago, Badge, Id, toneOf, useNow } from '../../parts/cells.tsx'
import { DetailPage } from '../../parts/detail-page.tsx'
import { Empty, Facts, Panel } from '../../parts/layout.tsx'
import { TablePanel } from '../../parts/list-page.tsx'
import { Meter } from '../../parts/meter.tsx'
import { count, duration, elapsed, measure, plural, words } from '../../text/format.ts'
import { modelHref } from '../../url/hrefs.ts'
import { JobActions } from './job-actions.tsx'
import { JobCurves } from './job-curves.tsx'
import { JOB_ROUND_COLUMNS } from './round-columns.tsx'
import { jobRoundsOf, MAX_ROUNDS, timeInRounds } from './round-figures.ts'
import type { JobDetail, JobRound } from './training-records.ts'

const StartModel = ({ modelId, version }: { readonly modelId: string; readonly version: number | null }) => {
  const { data: model } = useApi('/api/v1/models/{model_id}', { path: { model_id: modelId } })
  if (model?.name == null) return <Id id={modelId} />
  const label = model.versions.find((one) => one.version === version)?.version_label ?? ''
  return <Link href={modelHref(model.id)}>{`${model.name} ${label}`.trim()}</Link>
}

interface JobWithRounds {
  readonly job: JobDetail
  /** The latest ones, newest first. */
  readonly rounds: readonly JobRound[]
  readonly total: number
}

const Overview = ({ job, rounds, total }: JobWithRounds) => {
  const now = useNow(1000)
  const spent = job.privacy_spent
  return (
    <Panel title="Job">
      <Facts
        entries={[
          [
            'Rounds',
            <Meter
              key="rounds"
              label="Rounds completed"
              value={job.rounds_completed}
              max={job.rounds}
              text={`${job.rounds_completed} of ${job.rounds}`}
              tone={toneOf(job.status)}
            />,
          ],
          ['Strategy', job.strategy],
          ['Devices per round', `target ${job.target_devices}, minimum ${job.min_devices}`],
          total === rounds.length && ['Time in rounds', duration(timeInRounds(rounds, now))],
          ['Elapsed', duration(elapsed(job.started_at, job.ended_at, now))],
          ['Started', <Ago key="started" time={job.started_at} />],
          job.resumed_at !== null && ['Resumed', <Ago key="resumed" time={job.resumed_at} />],
          job.ended_by !== null && ['Ended by', words(job.ended_by)],
          spent !== undefined && [
            'Privacy spent',
            `ε ${measure(spent.epsilon)} at δ ${spent.target_delta.toExponential(0)}`,
          ],
          job.model_id !== null && [
            'Started from',
            <StartModel key="model" modelId={job.model_id} version={job.model_version} />,
          ],
          job.latest_model_id !== null && ['Latest model', <Id key="latest" id={job.latest_model_id} />],
          ['Job id', <Id key="id" id={job.id} />],
        ]}
      />
    </Panel>
  )
}

const Rounds = ({ job, rounds, total }: JobWithRounds) => (
  <TablePanel
    title="Rounds"
    label="Rounds of this job"
    aside={total > rounds.length ? `the latest ${count(rounds.length)} of ${count(total)}` : plural(total, 'round')}
    columns={JOB_ROUND_COLUMNS}
    rows={rounds}
    rowKey="id"
    empty={
      job.ended_at === null ? (
        <Empty title="No round has started yet">The first one starts when enough devices are active.</Empty>
      ) : (
        <Empty title="No round was started" />
      )
    }
  />
)

/** A job: its metrics round by round, and the duration of each round. */
export const JobPage = ({ jobId }: { readonly jobId: string }) => {
  const query = useApi('/api/v1/training/jobs/{job_id}', { path: { job_id: jobId } })
  const rounds = useApi('/api/v1/training/jobs/{job_id}/rounds', {
    path: { job_id: jobId },
    query: { limit: MAX_ROUNDS },
  })
  const newestFirst = useMemo(() => jobRoundsOf(rounds.data ?? { rounds: [], total: 0 }), [rounds.data])
  const total = rounds.data?.total ?? 0
  const unnamed = `Job ${jobId.slice(0, 8)}`
  return (
    <DetailPage
      query={query}
      title={({ name }) => name ?? unnamed}
      loading={unnamed}
      up={['/training', 'Training']}
      badge={({ status }) => <Badge state={status} />}
      actions={(job) => <JobActions job={job} />}
    >
      {(job) => (
        <>
          {(job.reason ?? job.waiting_for) !== null && (
            <Panel title={job.reason === null ? 'Waiting for devices' : 'Why it ended'}>
              <p>{job.reason ?? job.waiting_for}</p>
              {job.reason === null && job.waiting_until !== null && (
                <p>
                  It stops waiting <Ago time={job.waiting_until} />.
                </p>
              )}
              {job.status === 'failed' && newestFirst[0] && (
                <p>
                  The page of the last round shows what each device reported:{' '}
                  <Link href={`/training/rounds/${newestFirst[0].id}`}>{`round ${newestFirst[0].round_number}`}</Link>
                </p>
              )}
            </Panel>
          )}
          <JobCurves job={job} rounds={newestFirst} />
          <Overview job={job} rounds={newestFirst} total={total} />
          <Rounds job={job} rounds={newestFirst} total={total} />
        </>
      )}
    </DetailPage>
  )
}
