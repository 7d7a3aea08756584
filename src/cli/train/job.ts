import type { operations } from '../../client/api.gen.ts'
import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import { nullIfNotFound } from '../model-sources/catalog.ts'
import type { Output } from '../output.ts'

export type JobDetail = operations['getTrainingJob']['responses'][200]['content']['application/json']
export type JobRound = JobDetail['history'][number]

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const jobById = (connection: Connection, id: string): Promise<JobDetail> =>
  connection.ask((client) => client.GET('/api/v1/training/jobs/{job_id}', { params: { path: { job_id: id } } }))

export const roundsOf = (count: number): string => (count === 1 ? '1 round' : `${count} rounds`)

type ListedJob = Omit<JobDetail, 'history' | 'privacy_spent' | 'published'>
/** Selects among jobs with the same name or model; if none matches, the newest is used. */
type Meant = (job: ListedJob) => boolean

export const hasEnded = ({ status }: ListedJob): boolean => status !== 'pending' && status !== 'running'

/** Jobs are sorted newest first. */
const meantOf = (jobs: readonly ListedJob[], meant: Meant): ListedJob | undefined => jobs.find(meant) ?? jobs[0]

/** Finds a job by name, or by the beginning of its id. */
const jobNamed = async (connection: Connection, text: string, meant: Meant): Promise<JobDetail | null> => {
  const query = { limit: 1000, offset: 0 }
  const { jobs } = await connection.ask((client) => client.GET('/api/v1/training/jobs', { params: { query } }))
  const begun = /^[0-9a-f-]{6,}$/i.test(text) ? jobs.filter(({ id }) => id.startsWith(text.toLowerCase())) : []
  const named = jobs.filter(({ name }) => name === text)
  const found = meantOf(named, meant) ?? (begun.length === 1 ? begun[0] : undefined)
  return found === undefined ? null : jobById(connection, found.id)
}

/** Finds a job by id or name, or the newest selected job that started from the model with this name or id. */
export const jobOf = async (
  connection: Connection,
  modelOrJob: string,
  meant: Meant = () => true,
): Promise<JobDetail> => {
  if (UUID.test(modelOrJob)) {
    const job = await nullIfNotFound(jobById(connection, modelOrJob))
    if (job !== null) return job
  }
  const query = { model: modelOrJob, limit: 100, offset: 0 }
  const ofModel = connection.ask((client) => client.GET('/api/v1/training/jobs', { params: { query } }))
  const found = meantOf((await nullIfNotFound(ofModel))?.jobs ?? [], meant)
  const job = found === undefined ? await jobNamed(connection, modelOrJob, meant) : await jobById(connection, found.id)
  if (job !== null) return job
  // If the model does not exist either, throws that error.
  await ofModel
  throw new Failure(`No training job has trained '${modelOrJob}'.`, {
    advice: `Start one: svc train start ${modelOrJob}`,
  })
}

const figure = (value: number | null): string | null => (value === null ? null : value.toPrecision(4))
const percent = (share: number | null): string | null => (share === null ? null : `${(share * 100).toFixed(1)}%`)

type Summaries = NonNullable<JobRound['metrics']>

/** Loss and accuracy have their own fields. */
const otherNames = (metrics: Summaries | undefined): readonly string[] =>
  Object.keys(metrics ?? {}).filter((name) => name !== 'loss' && name !== 'accuracy')

const named = (name: string, value: number): string => `${name} ${name === 'accuracy' ? percent(value) : figure(value)}`

const MAX_NAMED = 4

/** `Round 3 of 10: loss 0.5312, accuracy 87.1%, f1 0.8000, 5 updates`; for a failed round, its reason. */
export const roundLine = (round: JobRound, place: number, rounds: number): string => {
  const name = `Round ${place} of ${rounds}`
  if (round.status === 'failed') return `${name} failed: ${round.failure_reason ?? 'no reason given'}`
  const parts = [
    round.loss === null ? null : `loss ${figure(round.loss)}`,
    round.accuracy === null ? null : `accuracy ${percent(round.accuracy)}`,
    ...otherNames(round.metrics)
      .slice(0, MAX_NAMED)
      .map((name) => named(name, round.metrics![name]!.mean)),
    `${round.completed_devices} ${round.completed_devices === 1 ? 'update' : 'updates'}`,
  ]
  return `${name}: ${parts.filter((part) => part !== null).join(', ')}`
}

/** Null where the figures of other organizations' devices are withheld. */
const worstTenth = (share: number | null): string => (share === null ? '' : ` (worst tenth ${percent(share)})`)

/** `Model of round 3 on held-out data: loss 0.51, accuracy 87.0% (worst tenth 61.2%), 5 devices`; null if not evaluated. */
export const evaluationLine = ({ evaluation }: JobRound, place: number): string | null => {
  if (evaluation === undefined) return null
  const { metrics, devices } = evaluation
  const { loss, accuracy } = metrics
  const parts = [
    ...(loss ? [named('loss', loss.mean)] : []),
    ...(accuracy ? [named('accuracy', accuracy.mean) + worstTenth(accuracy.worst_tenth)] : []),
    ...otherNames(metrics)
      .slice(0, MAX_NAMED)
      .map((name) => named(name, metrics[name]!.mean)),
    `${devices} ${devices === 1 ? 'device' : 'devices'}`,
  ]
  return `Model of round ${place} on held-out data: ${parts.join(', ')}`
}

type MetricColumn = readonly [head: string, cell: (round: JobRound) => string | null]

/** Returns the columns for training metrics other than loss and accuracy, and for evaluations of the new model. */
const metricColumns = (history: readonly JobRound[]): readonly MetricColumn[] => {
  const namesIn = (of: (round: JobRound) => readonly string[]) => [...new Set(history.flatMap(of))].slice(0, MAX_NAMED)
  const cell = (name: string, summaries: Summaries | undefined) => {
    const mean = summaries?.[name]?.mean ?? null
    return name === 'accuracy' ? percent(mean) : figure(mean)
  }
  const trained = namesIn(({ metrics }) => otherNames(metrics))
  const evaluated = namesIn(({ evaluation }) => Object.keys(evaluation?.metrics ?? {}))
  return [
    ...trained.map((name): MetricColumn => [name.toUpperCase(), ({ metrics }) => cell(name, metrics)]),
    ...evaluated.map(
      (name): MetricColumn => [`HELD-OUT ${name.toUpperCase()}`, ({ evaluation }) => cell(name, evaluation?.metrics)],
    ),
  ]
}

/** `epsilon 2.35 spent at delta 0.00001, by 10 rounds` */
const spending = ({ epsilon, target_delta, rounds }: NonNullable<JobDetail['privacy_spent']>): string =>
  `epsilon ${Number(epsilon.toPrecision(4))} spent at delta ${target_delta}, by ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`

/** Says what the result of a completed job is, and how to fetch it. */
export const resultOf = ({ published, latest_model_id }: JobDetail, model: string): string => {
  const newest = published.at(-1)
  return newest === undefined
    ? `The result is model ${latest_model_id}.`
    : `The result is version ${newest.version_label} of ${model}. Fetch it with: svc pull ${model}`
}

export const printJob = (out: Output, job: JobDetail): void => {
  out.fields([
    ['Job', job.id],
    ['Name', job.name],
    ['Status', job.reason === null ? job.status : `${job.status}: ${job.reason}`],
    ['Strategy', [job.strategy, ...Object.entries(job.strategy_options).map(([k, v]) => `${k}=${v}`)].join(' ')],
    ...(job.secure_aggregation === null ? [] : [['Secure', 'only the sum is visible'] as const]),
    ['Rounds', `${job.rounds_completed} of ${job.rounds}`],
    ...(job.privacy_spent === undefined ? [] : [['Privacy', spending(job.privacy_spent)] as const]),
    ['Model', job.model_id],
    ['Result', job.latest_model_id],
    ...(job.published.length === 0
      ? []
      : [['Versions', job.published.map(({ version_label }) => version_label).join(', ')] as const]),
    ...(job.waiting_until === null ? [] : [['Waiting for devices until', job.waiting_until] as const]),
    ...(job.waiting_for === null ? [] : [['Waiting', job.waiting_for] as const]),
  ])
  if (job.history.length === 0) return
  out.line('')
  const measured = metricColumns(job.history)
  out.table(
    ['ROUND', 'STATUS', 'LOSS', 'ACCURACY', ...measured.map(([head]) => head), 'UPDATES', 'REASON'],
    job.history.map((round) => [
      String(round.round_number),
      round.status,
      figure(round.loss),
      percent(round.accuracy),
      ...measured.map(([, cell]) => cell(round)),
      String(round.completed_devices),
      round.failure_reason ?? '',
    ]),
  )
}
