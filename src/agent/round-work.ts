import { openAsBlob } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ApiError } from '../client/client.ts'
import { errorMessage } from '../domain/error-message.ts'
import { jsonOrNull } from '../domain/parse-json.ts'
import { percent } from '../domain/percent.ts'
import { openFileSink } from '../platform/transfer/file-sink.ts'
import { NetworkError } from '../sdk/api-error.ts'
import type { Device, TrainingReport } from '../sdk/device.ts'
import { isTransient } from '../sdk/retry.ts'
import { reportFor } from '../sdk/round-calls.ts'
import { takeSecurePart } from '../sdk/secure-part.ts'
import type { Evaluation } from '../sdk/trainers/train.ts'
import type { Plan } from '../sdk/wire.ts'
import { platformExpandMask } from '../secure-aggregation/platform-crypto.ts'
import type { AgentTrainer, TrainingOutcome } from './agent-trainer.ts'
import { openJobMemory } from './job-memory.ts'
import { openSecureMemory } from './secure-memory.ts'
import { extensionByContent } from './weight-file-extension.ts'

export interface RoundContext {
  readonly device: Device
  readonly trainer: AgentTrainer
  /** Contains one folder per started round. */
  readonly roundsFolder: string
  readonly signal: AbortSignal
  readonly now: () => number
  readonly log: (message: string) => void
}

export interface RoundResult {
  readonly plan: Plan
  readonly report: TrainingReport
  /** The received model's evaluation on held-out data, if the trainer can evaluate it. */
  readonly globalModel: Evaluation | null
}

/** Exists in a round's folder once training is done, so that an agent that was killed only has to submit. */
const FINISHED = 'finished.json'
const PARTIAL = 'global.partial'
const CONTROL = 'control'

/** Deletes the folders of other rounds, which are over. */
const removeOthers = async (roundsFolder: string, roundId: string): Promise<void> => {
  const others = (await readdir(roundsFolder)).filter((name) => name !== roundId)
  await Promise.all(others.map((name) => rm(join(roundsFolder, name), { recursive: true, force: true })))
}

/** Downloads the round's model into its folder, and resumes an earlier download. Returns null if the round has no model. */
const fetchGlobal = async (plan: Plan, folder: string, { device, signal }: RoundContext): Promise<string | null> => {
  if (plan.model === null) return null
  const partial = join(folder, PARTIAL)
  const earlier = (await readdir(folder)).find((name) => name.startsWith('global.'))
  if (earlier !== undefined && earlier !== PARTIAL) await rename(join(folder, earlier), partial)
  const sink = await openFileSink(partial)
  try {
    await device.download(plan, sink, { signal })
  } finally {
    await sink.close()
  }
  const path = join(folder, `global${extensionByContent(partial)}`)
  await rename(partial, path)
  return path
}

/** Downloads the service's control variate, if the strategy has one. */
const fetchControl = async (plan: Plan, folder: string, { device, signal }: RoundContext): Promise<string | null> => {
  const bytes = await device.control(plan, { signal })
  if (bytes === null) return null
  const path = join(folder, CONTROL)
  await writeFile(path, bytes)
  return path
}

/** Null if it is missing, or incomplete after a power cut: the round is then trained again. */
const readFinished = async (folder: string): Promise<TrainingOutcome | null> =>
  jsonOrNull(await readFile(join(folder, FINISHED), 'utf8').catch(() => '')) as TrainingOutcome | null

const writeFinished = async (folder: string, outcome: TrainingOutcome): Promise<void> => {
  const temporary = join(folder, `${FINISHED}.tmp`)
  await writeFile(temporary, JSON.stringify(outcome))
  await rename(temporary, join(folder, FINISHED))
}

/** Submits a masked update, so that the service learns only the sum. The secrets are deleted with the round's folder. */
const deliverUnseen = async (
  plan: Plan,
  folder: string,
  context: RoundContext,
  train: () => Promise<TrainingOutcome>,
): Promise<TrainingOutcome> => {
  const { device, signal, log } = context
  const update = async () => {
    const { weights, report } = await train()
    const global = await fetchGlobal(plan, folder, context)
    return { global: await readFile(global!), weights: await readFile(weights), report }
  }
  const memory = openSecureMemory(folder)
  await takeSecurePart(device, plan.roundId, update, {
    signal,
    until: plan.timeoutAt,
    memory,
    expand: platformExpandMask,
    log,
  })
  // Trained by now, in this run or an earlier one.
  return (await readFinished(folder)) ?? train()
}

const trainAndSubmit = async (roundId: string, folder: string, context: RoundContext): Promise<RoundResult> => {
  const { device, trainer, signal, now, log } = context
  const plan = await device.plan(roundId, { signal })
  const finished = await readFinished(folder)
  if (finished !== null)
    log(`Round ${plan.roundNumber}: submitting the update trained before this agent was interrupted.`)
  const memory = plan.jobId === null ? null : openJobMemory(join(context.roundsFolder, '../device', 'jobs'), plan.jobId)
  const train = async (): Promise<TrainingOutcome> => {
    if (finished !== null) return finished
    const globalWeights = await fetchGlobal(plan, folder, context)
    const control = await fetchControl(plan, folder, context)
    const kept = (await memory?.find()) ?? null
    const timeoutMs = Math.max(0, plan.timeoutAt - now())
    const outcome = await trainer.train({ plan, globalWeights, control, memory: kept, folder, timeoutMs, signal })
    await writeFinished(folder, outcome)
    return outcome
  }
  const outcome = plan.secure ? await deliverUnseen(plan, folder, context, train) : await train()
  const { weights, report, globalModel, control, memory: toKeep } = outcome
  if (!plan.secure) {
    await device.submit(roundId, await openAsBlob(weights), reportFor(plan, offering(trainer, report)), {
      fileName: basename(weights),
      until: plan.timeoutAt,
      signal,
      ...(control === undefined ? {} : { control: await openAsBlob(control) }),
    })
  }
  if (toKeep !== undefined) await memory?.keep(toKeep)
  return { plan, report, globalModel }
}

/** Adds to the report that this trainer can evaluate a job's last model, if the report has an evaluation. */
const offering = ({ evaluateFinal }: AgentTrainer, report: TrainingReport): TrainingReport =>
  evaluateFinal === undefined || report.evaluation === undefined
    ? report
    : { ...report, evaluation: { ...report.evaluation, finalModel: true } }

/** Describes the round for the log. */
export const describeRound = ({ plan, report, globalModel }: RoundResult): string => {
  const took = report.trainingTimeSeconds === undefined ? '' : ` in ${report.trainingTimeSeconds.toFixed(1)} s`
  const loss = report.localLoss === undefined ? '' : `, loss ${report.localLoss.toFixed(4)}`
  const accuracy = report.localAccuracy === undefined ? '' : `, accuracy ${percent(report.localAccuracy)}`
  const received = globalModel === null ? '' : ` The received model's accuracy was ${percent(globalModel.accuracy)}.`
  return `Round ${plan.roundNumber}: submitted an update from ${report.numSamples} samples${took}${loss}${accuracy}.${received}`
}

/** Evaluates a job's last model, and reports the result or the reason for its failure. @throws like `workOnRound` */
export const workOnEvaluation = async (
  roundId: string,
  { device, trainer, roundsFolder, signal, now, log }: RoundContext,
): Promise<void> => {
  if (!/^[\w-]{1,64}$/.test(roundId))
    throw new NetworkError(`The service sent the round id '${roundId}', which is not a valid id.`)
  const folder = join(roundsFolder, `evaluation-${roundId}`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    const plan = await device.evaluationPlan(roundId, { signal })
    const partial = join(folder, PARTIAL)
    const sink = await openFileSink(partial)
    try {
      await device.downloadEvaluated(plan, sink, { signal })
    } finally {
      await sink.close()
    }
    const globalWeights = join(folder, `global${extensionByContent(partial)}`)
    await rename(partial, globalWeights)
    if (trainer.evaluateFinal === undefined)
      throw new Error('This device cannot evaluate: it was started without a trainer that can.')
    const timeoutMs = Math.max(0, plan.timeoutAt - now())
    const found = await trainer.evaluateFinal({ plan, globalWeights, folder, timeoutMs, signal })
    const isTaken = await device.submitEvaluation(roundId, found, { signal, until: plan.timeoutAt })
    if (isTaken) log(`Round ${plan.roundNumber}: evaluated its model on ${found.numSamples} samples.`)
  } catch (error) {
    if (!isTransient(error) && !(error instanceof ApiError)) {
      const failureReason = errorMessage(error)
      await device.submitEvaluation(roundId, { failureReason }, { until: now() + 5000 }).catch(() => false)
    }
    throw error
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Takes part in one round: plan, model, training, update. Everything is kept in the round's folder until it is submitted, so
 * that calling this again after a crash or a long outage continues where it stopped. Failures of this device are reported to
 * the service, so that the round does not wait for it.
 * @throws any error; after a transient one (`isTransient`), the round may be worth another try
 */
export const workOnRound = async (roundId: string, context: RoundContext): Promise<RoundResult> => {
  const { device, roundsFolder } = context
  // Used as a folder name.
  if (!/^[\w-]{1,64}$/.test(roundId))
    throw new NetworkError(`The service sent the round id '${roundId}', which is not a valid id.`)
  const folder = join(roundsFolder, roundId)
  await removeOthers(roundsFolder, roundId)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    const result = await trainAndSubmit(roundId, folder, context)
    await rm(folder, { recursive: true, force: true })
    return result
  } catch (error) {
    if (isTransient(error) && !context.signal.aborted) throw error
    await rm(folder, { recursive: true, force: true })
    const roundIsOver = error instanceof ApiError && (error.status === 404 || error.status === 409)
    if (!roundIsOver) {
      const reason = errorMessage(error)
      // The error matters more than a failure to report it.
      await device.reportFailure(roundId, reason, { until: context.now() + 5000 }).catch(() => false)
    }
    throw error
  }
}
