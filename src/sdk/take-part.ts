import { ApiError } from '../client/client.ts'
import type { CallOptions, Device, EvaluationReport, Submission, TrainingReport } from './device.ts'
import { memorySink } from './download.ts'
import { requireUpdate } from './require-update.ts'
import { isPassing } from './retry.ts'
import { reportFor } from './round-calls.ts'
import { takeSecurePart } from './secure-part.ts'
import type { LocalUpdate } from './trainers/built-in.ts'
import type { EvaluationPlan, Plan } from './wire.ts'

/** Turns the global model (null when the round has none) into an update. */
export type LocalTrainer = (
  globalWeights: Uint8Array<ArrayBuffer> | null,
  plan: Plan,
  signal: AbortSignal | undefined,
  /** SCAFFOLD: the service's control variate; null where there is none, or while it is zero. */
  files: { readonly control: Uint8Array<ArrayBuffer> | null },
) => Promise<LocalUpdate & { readonly delivered?: () => Promise<void> }>

/** How a model does on this device's held-out data. */
export type Evaluate = (
  weights: Uint8Array<ArrayBuffer>,
  plan: Plan | EvaluationPlan,
  signal: AbortSignal | undefined,
) => EvaluationReport | Promise<EvaluationReport>

export interface PartOptions extends CallOptions {
  /**
   * Evaluates the received model before training, unless the trainer's report has an evaluation. With it the device also
   * offers to evaluate the job's last model: `takeEvaluation` then answers a heartbeat's `pendingEvaluationId`.
   */
  readonly evaluate?: Evaluate
}

export interface TakenPart extends LocalUpdate {
  readonly plan: Plan
  readonly submission: Submission
}

/**
 * One device's whole part in a round, in memory: plan, model, training, update. When the device cannot do its part, the service
 * is told why, and the error is thrown; so is a passing one (`isPassing`), after which the round may be tried again.
 */
export const takePart = async (
  device: Device,
  roundId: string,
  trainer: LocalTrainer,
  options: PartOptions = {},
): Promise<TakenPart> => {
  try {
    const plan = await device.plan(roundId, options)
    const within = { ...options, until: Math.min(options.until ?? plan.timeoutAt, plan.timeoutAt) }
    if (plan.secure) return await takePartUnseen(device, plan, trainer, within)
    const control = await device.control(plan, within)
    const model = await device.model(plan, within)
    const evaluation =
      options.evaluate === undefined || model === null || plan.private
        ? undefined
        : await options.evaluate(model, plan, options.signal)
    const update = requireUpdate(await trainer(model, plan, options.signal, { control }))
    const sent = update.control === undefined ? within : { ...within, control: update.control }
    const submission = await device.submit(
      roundId,
      update.weights,
      reportFor(plan, offering(update.report, evaluation)),
      sent,
    )
    await update.delivered?.()
    return { ...update, plan, submission }
  } catch (error) {
    // A service that is away cannot be told either. The error itself matters more than whether it could be told.
    if (!isPassing(error)) await device.reportFailure(roundId, messageOf(error)).catch(() => false)
    throw error
  }
}

/** The same where the service is to learn the sum of the updates only. A device that is interrupted leaves the round. */
const takePartUnseen = async (
  device: Device,
  plan: Plan,
  trainer: LocalTrainer,
  options: CallOptions,
): Promise<TakenPart> => {
  let trained: LocalUpdate | null = null
  const train = async () => {
    const global = await device.model(plan, options)
    trained = requireUpdate(await trainer(global, plan, options.signal, { control: null }))
    return { global: global!, weights: trained.weights, report: trained.report }
  }
  const submission = await takeSecurePart(device, plan.roundId, train, options)
  return { ...trained!, plan, submission }
}

const offering = (report: TrainingReport, found: EvaluationReport | undefined): TrainingReport =>
  found === undefined ? report : { ...report, evaluation: { ...(report.evaluation ?? found), finalModel: true } }

/**
 * One device's evaluation of a job's last model, which a heartbeat's `pendingEvaluationId` asks for; false when nobody waits
 * for it any more. When the device cannot evaluate it, the service is told why, and the error is thrown.
 */
export const takeEvaluation = async (
  device: Device,
  roundId: string,
  evaluate: Evaluate,
  options: CallOptions = {},
): Promise<boolean> => {
  try {
    const plan = await device.evaluationPlan(roundId, options)
    const within = { ...options, until: Math.min(options.until ?? plan.timeoutAt, plan.timeoutAt) }
    const sink = memorySink()
    await device.downloadEvaluated(plan, sink, within)
    const found = await evaluate(sink.bytes(), plan, options.signal)
    return await device.submitEvaluation(roundId, found, within)
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) return false
    if (!isPassing(error))
      await device.submitEvaluation(roundId, { failureReason: messageOf(error) }).catch(() => false)
    throw error
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
