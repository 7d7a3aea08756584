import { ApiError } from '../client/client.ts'
import { errorMessage } from '../domain/error-message.ts'
import type { CallOptions, Device, EvaluationReport, Submission, TrainingReport } from './device.ts'
import { memorySink } from './download.ts'
import { notNeeded } from './not-needed.ts'
import { requireUpdate } from './require-update.ts'
import { isTransient } from './retry.ts'
import { reportFor } from './round-calls.ts'
import { takeSecurePart } from './secure-part.ts'
import type { LocalUpdate } from './trainers/built-in.ts'
import type { EvaluationPlan, Plan } from './wire.ts'

/** Trains an update from the global model (null if the round has none). */
export type LocalTrainer = (
  globalWeights: Uint8Array<ArrayBuffer> | null,
  plan: Plan,
  signal: AbortSignal | undefined,
  /** SCAFFOLD: the service's control variate; null if there is none, or while it is zero. */
  files: { readonly control: Uint8Array<ArrayBuffer> | null },
) => Promise<LocalUpdate & { readonly delivered?: () => Promise<void> }>

/** An aborted part waits no longer than this for its report to arrive. */
const ABORTED_REPORT_MS = 5000

/** Limits the report about a failure: whoever aborts is not kept waiting by a service that does not respond. */
const reporting = ({ signal }: CallOptions): CallOptions =>
  signal?.aborted ? { signal: AbortSignal.timeout(ABORTED_REPORT_MS) } : {}

/** Evaluates a model on this device's held-out data. */
export type Evaluate = (
  weights: Uint8Array<ArrayBuffer>,
  plan: Plan | EvaluationPlan,
  signal: AbortSignal | undefined,
) => EvaluationReport | Promise<EvaluationReport>

export interface PartOptions extends CallOptions {
  /**
   * Evaluates the received model before training, unless the trainer's report has an evaluation. With it, the device also
   * offers to evaluate the job's last model, which `takeEvaluation` does for a heartbeat's `pendingEvaluationId`.
   */
  readonly evaluate?: Evaluate
}

export interface TakenPart extends LocalUpdate {
  readonly plan: Plan
  readonly submission: Submission
}

/**
 * Takes a device's whole part in a round, in memory: plan, model, training, update. If the device cannot do its part, reports
 * the reason and throws the error, at most 5 s later if `signal` has aborted it. Transient errors (`isTransient`) are only
 * thrown, and the round may be tried again. Throws NotNeeded, which is no failure, if the round closed with enough updates of
 * other devices.
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
    if (plan.secure) return await takePartSecurely(device, plan, trainer, within)
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
    const unneeded = await notNeeded(device, roundId, error, options)
    if (unneeded !== null) throw unneeded
    // An unreachable service cannot receive a report. The error matters more than whether it was reported.
    if (!isTransient(error)) {
      await device.reportFailure(roundId, errorMessage(error), reporting(options)).catch(() => false)
    }
    throw error
  }
}

/**
 * Does the same in a secure round. A device that is interrupted leaves the round: only `takeSecurePart` resumes one, because a
 * resumed part has no update to return.
 */
const takePartSecurely = async (
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
  const { signal, until } = options
  const submission = await takeSecurePart(device, plan.roundId, train, { signal, until })
  return { ...trained!, plan, submission }
}

const offering = (report: TrainingReport, found: EvaluationReport | undefined): TrainingReport =>
  found === undefined ? report : { ...report, evaluation: { ...(report.evaluation ?? found), finalModel: true } }

/**
 * Evaluates a job's last model, as requested by a heartbeat's `pendingEvaluationId`; false if it is no longer needed. If the
 * device cannot evaluate it, reports the reason to the service, and throws the error.
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
    if (!isTransient(error))
      await device
        .submitEvaluation(roundId, { failureReason: errorMessage(error) }, reporting(options))
        .catch(() => false)
    throw error
  }
}
