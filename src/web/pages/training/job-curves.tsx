import { useMemo } from 'react'
import { useIsOthers } from '../../api/session.ts'
import { useApi, useApiAll } from '../../api/use-api.ts'
import { Curve } from '../../parts/curve.tsx'
import type { Series } from '../../parts/curve-data.ts'
import { Columns, Empty, Panel } from '../../parts/layout.tsx'
import { count } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { chartsOf } from './metric-charts.ts'
import { jobRoundsOf, MAX_ROUNDS } from './round-figures.ts'
import styles from './training.module.css'
import type { Job, JobDetail, JobRound, Round } from './training-records.ts'

const DEFAULTS = { with: [] as readonly string[], smooth: false }
const SMOOTHING = 0.7
const MAX_JOBS = 20
const MAX_OTHERS = 5

const nameOf = (job: Pick<Job, 'id' | 'name'>): string => job.name ?? job.id.slice(0, 8)

/** By the rounds' places in their job, so that jobs of different times can be overlaid. */
const seriesOf = (name: string, rounds: readonly JobRound[], readFrom: (round: Round) => number | null): Series => ({
  name,
  points: rounds
    .filter(({ status }) => status === 'completed')
    .map((round) => [round.jobRound, readFrom(round)] as const)
    .reverse(),
})

/** The latest jobs that started from the same model. Of another organization's model, the service lists none by its id. */
const useJobsOfModel = ({ model_id }: JobDetail): readonly Job[] => {
  const isOthers = useIsOthers()
  const path = { model_id: model_id ?? '' }
  const { data: model, isPending } = useApi('/api/v1/models/{model_id}', { path }, { enabled: model_id !== null })
  const query = { limit: MAX_JOBS, ...(model !== undefined && !isOthers(model.org_id) && { model: model.id }) }
  const enabled = model_id === null || !isPending
  const jobs = useApi('/api/v1/training/jobs', { query }, { enabled }).data?.jobs ?? []
  return jobs.filter((job) => model_id === null || job.model_id === model_id)
}

interface CompareProps {
  readonly job: JobDetail
  readonly jobs: readonly Job[]
  readonly chosen: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
}

const Compare = ({ job, jobs, chosen, onChange }: CompareProps) => {
  const others = jobs.filter(({ id }) => id !== job.id)
  if (others.length === 0) return null
  return (
    <fieldset className={styles.compare}>
      <legend>Compare with</legend>
      {others.map((other) => (
        <label key={other.id}>
          <input
            type="checkbox"
            checked={chosen.includes(other.id)}
            disabled={chosen.length >= MAX_OTHERS && !chosen.includes(other.id)}
            onChange={({ target }) =>
              onChange(target.checked ? [...chosen, other.id] : chosen.filter((id) => id !== other.id))
            }
          />
          {`${nameOf(other)}, ${other.strategy}`}
        </label>
      ))}
    </fieldset>
  )
}

/** Loss, accuracy, and all other metrics by round, for this job and jobs to compare it with. */
export const JobCurves = ({ job, rounds }: { readonly job: JobDetail; readonly rounds: readonly JobRound[] }) => {
  const [state, change] = usePageState(DEFAULTS)
  const others = useApiAll(
    '/api/v1/training/jobs/{job_id}/rounds',
    state.with.map((job_id) => ({ path: { job_id }, query: { limit: MAX_ROUNDS } })),
  ).map(({ data }) => jobRoundsOf(data ?? { rounds: [], total: 0 }))
  const jobs = useJobsOfModel(job)
  const names = state.with.map((id) => nameOf(jobs.find((other) => other.id === id) ?? { id, name: null }))
  const key = JSON.stringify([names, others, rounds])
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` compares the content
  const charts = useMemo(
    () =>
      chartsOf(rounds).map((chart) => ({
        ...chart,
        series: [
          seriesOf(nameOf(job), rounds, chart.readFrom),
          ...others.map((other, index) => seriesOf(names[index] ?? '', other, chart.readFrom)),
        ],
      })),
    [key],
  )
  const smoothing = state.smooth ? SMOOTHING : 0
  // The best of the rounds that are listed may not be the job's.
  const isPartial = [rounds, ...others].some((each) => (each.at(-1)?.jobRound ?? 1) > 1)
  const hasAny = (series: readonly Series[]) => series.some(({ points }) => points.some(([, y]) => y !== null))
  return (
    <>
      <Columns>
        {charts.map(({ title, name, better, format, series }) => (
          <Panel
            key={title}
            title={title}
            aside={
              isPartial
                ? `the latest ${count(MAX_ROUNDS)} rounds`
                : `${better === 'lowest' ? 'lower' : 'higher'} is better`
            }
          >
            {hasAny(series) ? (
              <Curve
                title={name}
                x="job round"
                series={series}
                better={isPartial ? undefined : better}
                format={format}
                smoothing={smoothing}
              />
            ) : (
              <Empty
                title={job.privacy === null ? 'No round has reported a loss yet' : 'Private rounds report no metrics'}
              >
                {job.privacy === null
                  ? 'The curve begins with the first completed round whose devices report one.'
                  : 'What devices measure in training would reveal something about their data.'}
              </Empty>
            )}
          </Panel>
        ))}
      </Columns>
      <div className={styles.options}>
        <label>
          <input type="checkbox" checked={state.smooth} onChange={({ target }) => change({ smooth: target.checked })} />
          Smooth
        </label>
        <Compare job={job} jobs={jobs} chosen={state.with} onChange={(ids) => change({ with: ids })} />
      </div>
    </>
  )
}
