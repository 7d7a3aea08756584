import type { operations } from '../../client/api.gen.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { percent } from '../../domain/percent.ts'
import { plural } from '../../domain/plural.ts'
import type { Connection } from '../connection.ts'
import { modelNamed } from '../model-sources/catalog.ts'
import type { Output } from '../output.ts'
import { textWords } from '../resources/cells.ts'
import { find } from '../resources/find.ts'
import type { Session } from '../session.ts'

export type JobDetail = operations['getTrainingJob']['responses'][200]['content']['application/json']
export type JobRound = JobDetail['history'][number]

export const jobById = (connection: Connection, id: string): Promise<JobDetail> =>
  connection.request((client) => client.GET('/api/v1/training/jobs/{job_id}', { params: { path: { job_id: id } } }))

/** Finds a job by id or name, or the newest job that started from the model with this name or id. @throws Failure */
export const jobOf = async (session: Session, connection: Connection, modelOrJob: string): Promise<JobDetail> =>
  jobById(connection, String((await find({ connection, session, org: undefined }, 'job', modelOrJob)).job_id))

const figure = (value: number | null): string | null => (value === null ? null : value.toPrecision(4))
const share = (value: number | null): string | null => (value === null ? null : percent(value))

type Summaries = NonNullable<JobRound['metrics']>

/** Loss and accuracy have their own fields. */
const otherNames = (metrics: Summaries | undefined): readonly string[] =>
  Object.keys(metrics ?? {}).filter((name) => name !== 'loss' && name !== 'accuracy')

const named = (name: string, value: number): string => `${name} ${name === 'accuracy' ? share(value) : figure(value)}`

const MAX_NAMED = 4

/** Returns the place of each round in its job, whose history has only the latest rounds. Another round takes the place of a failed one. */
export const placesOf = ({ history, rounds_completed }: Pick<JobDetail, 'history' | 'rounds_completed'>): number[] => {
  const isCompleted = ({ status }: JobRound): boolean => status === 'completed'
  let completed = Math.max(0, rounds_completed - history.filter(isCompleted).length)
  return history.map((round) => (isCompleted(round) ? ++completed : completed + 1))
}

/** `Round 3 of 10: loss 0.5312, accuracy 87.1%, f1 0.8000, 5 updates`; for a failed round, its reason. */
export const roundLine = (round: JobRound, place: number, rounds: number): string => {
  const name = `Round ${place} of ${rounds}`
  if (round.status === 'failed') return `${name} failed: ${round.failure_reason ?? 'no reason given'}`
  const parts = [
    round.loss === null ? null : `loss ${figure(round.loss)}`,
    round.accuracy === null ? null : `accuracy ${share(round.accuracy)}`,
    ...otherNames(round.metrics)
      .slice(0, MAX_NAMED)
      .map((name) => named(name, round.metrics![name]!.mean)),
    plural(round.completed_devices, 'update'),
  ]
  return `${name}: ${parts.filter((part) => part !== null).join(', ')}`
}

/** Null where the figures of other organizations' devices are withheld. */
const worstTenth = (value: number | null): string => (value === null ? '' : ` (worst 10% ${percent(value)})`)

/** `Model of round 3 on held-out data: loss 0.51, accuracy 87.0% (worst 10% 61.2%), 5 devices`; null if not evaluated. */
export const evaluationLine = ({ evaluation }: JobRound, place: number): string | null => {
  if (evaluation === undefined) return null
  const { metrics, devices } = evaluation
  const { loss, accuracy } = metrics
  const parts = [
    ...(loss ? [named('loss', loss.mean)] : []),
    ...(accuracy ? [named('accuracy', accuracy.mean) + worstTenth(accuracy.worst_tenth)] : []),
    ...otherNames(metrics)
      .slice(0, MAX_NAMED)
      .map((name) => named(name, ownEntry(metrics, name)!.mean)),
    plural(devices, 'device'),
  ]
  return `Model of round ${place} on held-out data: ${parts.join(', ')}`
}

type MetricColumn = readonly [head: string, cell: (round: JobRound) => string | null]

/** Returns the columns for training metrics other than loss and accuracy, and for evaluations of the new model. */
const metricColumns = (history: readonly JobRound[]): readonly MetricColumn[] => {
  const namesIn = (of: (round: JobRound) => readonly string[]) => [...new Set(history.flatMap(of))].slice(0, MAX_NAMED)
  const cell = (name: string, summaries: Summaries | undefined) => {
    const mean = ownEntry(summaries ?? {}, name)?.mean ?? null
    return name === 'accuracy' ? share(mean) : figure(mean)
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
  `epsilon ${Number(epsilon.toPrecision(4))} spent at delta ${target_delta}, by ${plural(rounds, 'round')}`

/** Says what the result of a completed job is, and how to fetch it. The job is done, even if the service is unreachable by now. */
export const resultOf = async (
  connection: Connection,
  { published, model_id, latest_model_id }: Pick<JobDetail, 'published' | 'model_id' | 'latest_model_id'>,
): Promise<string> => {
  const newest = published.at(-1)
  const model = newest && model_id !== null ? await modelNamed(connection, model_id).catch(() => null) : null
  return newest && model
    ? `The result is version ${newest.version_label} of ${model.name}. Fetch it with: svc pull ${model.name}`
    : `The result is model ${latest_model_id}.`
}

export const printJob = (out: Output, job: JobDetail): void => {
  out.fields([
    ['Job', job.id],
    ['Name', job.name],
    ['Status', job.reason === null ? job.status : `${job.status}: ${job.reason}`],
    ['Strategy', [job.strategy, ...Object.entries(job.strategy_options).map(([k, v]) => `${k}=${v}`)].join(' ')],
    job.secure_aggregation !== null && ['Secure', 'only the sum is visible'],
    ['Rounds', `${job.rounds_completed} of ${job.rounds}`],
    job.privacy_spent !== undefined && ['Privacy', spending(job.privacy_spent)],
    ['Model', job.model_name ?? job.model_id],
    ['Result', job.latest_model_id],
    job.published.length > 0 && ['Versions', job.published.map(({ version_label }) => version_label).join(', ')],
    job.waiting_until !== null && ['Waiting for devices until', textWords(job.waiting_until)],
    job.waiting_for !== null && ['Waiting', job.waiting_for],
  ])
  if (job.history.length === 0) return
  out.line('')
  const measured = metricColumns(job.history)
  const places = placesOf(job)
  out.table(
    ['IN JOB', 'ROUND', 'STATUS', 'LOSS', 'ACCURACY', ...measured.map(([head]) => head), 'UPDATES', 'REASON'],
    job.history.map((round, index) => [
      `${places[index]} of ${job.rounds}`,
      String(round.round_number),
      round.status,
      figure(round.loss),
      share(round.accuracy),
      ...measured.map(([, cell]) => cell(round)),
      String(round.completed_devices),
      round.failure_reason ?? '',
    ]),
  )
  if (mayWithhold(job)) out.note(WITHHELD)
}

const WITHHELD =
  'Loss and accuracy of a federation are shown to a member only if each other organization that reported them did so with at least ' +
  'five devices (docs/federations.md, Permissions).'

/** True if no round shows a figure, though it may have one. */
const mayWithhold = ({ federation_id, privacy, history }: JobDetail): boolean =>
  federation_id !== null &&
  privacy === null &&
  history.some(({ status }) => status === 'completed') &&
  history.every(({ loss, accuracy, metrics }) => loss === null && accuracy === null && metrics === undefined)
