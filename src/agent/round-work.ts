import { openAsBlob } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ApiError } from '../client/client.ts'
import { percent } from '../domain/percent.ts'
import { plural } from '../domain/plural.ts'
import { makeFolder } from '../platform/files/make-folder.ts'
import { exists } from '../platform/files/missing-file.ts'
import type { Device, TrainingReport } from '../sdk/device.ts'
import { NotNeeded, notNeeded } from '../sdk/not-needed.ts'
import { isTransient } from '../sdk/retry.ts'
import { hasArrived, reportFor } from '../sdk/round-calls.ts'
import { takeSecurePart } from '../sdk/secure-part.ts'
import type { Evaluation } from '../sdk/trainers/train.ts'
import type { Plan } from '../sdk/wire.ts'
import { platformExpandMask } from '../secure-aggregation/platform-crypto.ts'
import { type AgentTrainer, DamagedMemory, type TrainingOutcome, type TrainingTask } from './agent-trainer.ts'
import { fetchModel } from './fetch-model.ts'
import { type JobMemory, openJobMemory } from './job-memory.ts'
import { isKeyRefused } from './registration.ts'
import {
  type FinishedTraining,
  failureReasonOf,
  openSecureMemory,
  readFinished,
  requireRoundId,
  writeFinished,
} from './round-folder.ts'

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
  /** Null if an earlier version trained the update, and the round was over before this one could submit it. */
  readonly roundNumber: number | null
  readonly report: TrainingReport
  /** The received model's evaluation on held-out data, if the trainer can evaluate it. */
  readonly globalModel: Evaluation | null
}

const CONTROL = 'control'

/** True for errors after which the round may be worth another try. A refused key may be accepted again. */
const isPassing = (error: unknown): boolean => isTransient(error) || isKeyRefused(error)

const memoryOf = (jobId: string | null, { roundsFolder }: RoundContext): JobMemory | null =>
  jobId === null ? null : openJobMemory(join(roundsFolder, '../device', 'jobs'), jobId)

/** Keeps the memory of an accepted update. It is gone from the round's folder if an earlier run kept it. */
const keepMemory = async ({ jobId, memory }: FinishedTraining, context: RoundContext): Promise<void> => {
  if (memory !== undefined && (await exists(memory))) await memoryOf(jobId, context)?.keep(memory)
}

/** Deletes the folders of other rounds, which are over. One may have accepted an update whose response was lost. */
const removeOthers = async (roundId: string, context: RoundContext): Promise<void> => {
  const { device, roundsFolder, signal } = context
  for (const name of (await readdir(roundsFolder)).filter((other) => other !== roundId)) {
    const folder = join(roundsFolder, name)
    const finished = await readFinished(folder)
    if (finished?.memory !== undefined && (await hasArrived(device, name, { signal })))
      await keepMemory(finished, context)
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns null if the round has no model. */
const fetchGlobal = async (plan: Plan, folder: string, { device, signal }: RoundContext): Promise<string | null> =>
  plan.model === null ? null : fetchModel(folder, (sink) => device.download(plan, sink, { signal }))

/** Downloads the service's control variate, if the strategy has one. */
const fetchControl = async (plan: Plan, folder: string, { device, signal }: RoundContext): Promise<string | null> => {
  const bytes = await device.control(plan, { signal })
  if (bytes === null) return null
  const path = join(folder, CONTROL)
  await writeFile(path, bytes)
  return path
}

/** Submits a masked update, so that the service learns only the sum. The secrets are deleted with the round's folder. */
const deliverSecurely = async (
  plan: Plan,
  folder: string,
  context: RoundContext,
  train: () => Promise<FinishedTraining>,
): Promise<FinishedTraining> => {
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

const deliver = async (
  plan: Plan,
  { device, trainer, signal }: RoundContext,
  train: () => Promise<FinishedTraining>,
): Promise<FinishedTraining> => {
  const finished = await train()
  const { weights, report, control } = finished
  await device.submit(plan.roundId, await openAsBlob(weights), reportFor(plan, offering(trainer, report)), {
    fileName: basename(weights),
    until: plan.timeoutAt,
    signal,
    ...(control === undefined ? {} : { control: await openAsBlob(control) }),
  })
  return finished
}

/** Trains without the job's memory if it is damaged, because it would fail in every later round, too. */
const trainWith = async (
  memory: JobMemory | null,
  task: Omit<TrainingTask, 'memory'>,
  { trainer, log }: RoundContext,
): Promise<TrainingOutcome> => {
  try {
    return await trainer.train({ ...task, memory: (await memory?.find()) ?? null })
  } catch (error) {
    if (!(error instanceof DamagedMemory) || memory === null) throw error
    log(`Training starts without what the last round kept: ${await memory.setAside()} is damaged: ${error.message}`)
    return trainer.train({ ...task, memory: null })
  }
}

const trainAndSubmit = async (roundId: string, folder: string, context: RoundContext): Promise<FinishedTraining> => {
  const { device, signal, now, log } = context
  const finished = await readFinished(folder)
  const plan = await device.plan(roundId, { signal }).catch(async (error: unknown) => {
    const isOver = error instanceof ApiError && error.status === 409
    if (isOver && finished !== null && (await hasArrived(device, roundId, { signal }))) return null
    throw error
  })
  // The round is over, and the response to this update was lost.
  if (plan === null) return finished!
  if (finished !== null)
    log(`Round ${plan.roundNumber}: submitting the update trained before this agent was interrupted.`)
  const train = async (): Promise<FinishedTraining> => {
    if (finished !== null) return finished
    const globalWeights = await fetchGlobal(plan, folder, context)
    const control = await fetchControl(plan, folder, context)
    const timeoutMs = Math.max(0, plan.timeoutAt - now())
    const task = { plan, globalWeights, control, folder, timeoutMs, signal }
    const outcome = await trainWith(memoryOf(plan.jobId, context), task, context)
    // The service learns no figures of a single device in these rounds, by heartbeats either.
    const globalModel = plan.secure || plan.private ? null : outcome.globalModel
    const trained = { ...outcome, globalModel, jobId: plan.jobId, roundNumber: plan.roundNumber }
    await writeFinished(folder, trained)
    return trained
  }
  const delivered = await (plan.secure ? deliverSecurely(plan, folder, context, train) : deliver(plan, context, train))
  return { ...delivered, jobId: plan.jobId, roundNumber: plan.roundNumber }
}

/** Does the same, also if the round is over because of the update whose response is awaited. */
const trainAndDeliver = async (roundId: string, folder: string, context: RoundContext): Promise<RoundResult> => {
  const { device, signal, now } = context
  const delivered = await trainAndSubmit(roundId, folder, context).catch(async (error: unknown) => {
    const trained = signal.aborted ? await readFinished(folder) : null
    if (trained !== null && (await hasArrived(device, roundId, { until: now() + 5000 }))) return trained
    throw error
  })
  await keepMemory(delivered, context)
  const { roundNumber, report, globalModel } = delivered
  return { roundNumber, report, globalModel }
}

/** Adds to the report that this trainer can evaluate a job's last model, if the report has an evaluation. */
const offering = ({ evaluateFinal }: AgentTrainer, report: TrainingReport): TrainingReport =>
  evaluateFinal === undefined || report.evaluation === undefined
    ? report
    : { ...report, evaluation: { ...report.evaluation, finalModel: true } }

/** Describes the round for the log. */
export const describeRound = ({ roundNumber, report, globalModel }: RoundResult): string => {
  const took = report.trainingTimeSeconds === undefined ? '' : ` in ${report.trainingTimeSeconds.toFixed(1)} s`
  const loss = report.localLoss === undefined ? '' : `, loss ${report.localLoss.toFixed(4)}`
  const accuracy = report.localAccuracy === undefined ? '' : `, accuracy ${percent(report.localAccuracy)}`
  const received = globalModel === null ? '' : ` The received model's accuracy was ${percent(globalModel.accuracy)}.`
  return `${roundNumber === null ? 'A round' : `Round ${roundNumber}`}: submitted an update from ${plural(report.numSamples, 'sample')}${took}${loss}${accuracy}.${received}`
}

/**
 * Takes part in one round: plan, model, training, update. Everything is kept in the round's folder until it is submitted, so
 * that calling this again after a crash or a long outage continues where it stopped. Failures of this device are reported to
 * the service, so that the round does not wait for it.
 * @throws NotNeeded, which is no failure, if the round closed with enough updates of others; any error; after a transient one
 *   (`isTransient`) or a refused key, the round may be worth another try
 */
export const workOnRound = async (roundId: string, context: RoundContext): Promise<RoundResult> => {
  const { device, roundsFolder, signal } = context
  const folder = join(roundsFolder, requireRoundId(roundId))
  try {
    await removeOthers(roundId, context)
    await makeFolder(folder, 0o700)
    const result = await trainAndDeliver(roundId, folder, context)
    await rm(folder, { recursive: true, force: true })
    return result
  } catch (error) {
    if (isPassing(error) && (!signal.aborted || (await readFinished(folder)) !== null)) throw error
    // A disk that fails must still be reported.
    await rm(folder, { recursive: true, force: true }).catch(() => undefined)
    const until = context.now() + 5000
    const unneeded =
      signal.reason instanceof NotNeeded ? signal.reason : await notNeeded(device, roundId, error, { until })
    if (unneeded !== null) throw unneeded
    const roundIsOver = error instanceof ApiError && (error.status === 404 || error.status === 409)
    if (!roundIsOver) {
      const reason = failureReasonOf(error)
      // The error matters more than a failure to report it.
      await device.reportFailure(roundId, reason, { until }).catch(() => false)
    }
    throw error
  }
}
