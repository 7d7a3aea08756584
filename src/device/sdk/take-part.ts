import type { Device, Patience, Submission } from './device.ts'
import type { LocalUpdate } from './trainers/built-in.ts'
import type { Plan } from './wire.ts'

/** Turns the global model (null when the round has none) into an update. */
export type LocalTrainer = (
  globalWeights: Uint8Array<ArrayBuffer> | null,
  plan: Plan,
  signal: AbortSignal | undefined,
) => Promise<LocalUpdate>

export interface TakenPart extends LocalUpdate {
  readonly plan: Plan
  readonly submission: Submission
}

/**
 * One device's whole part in a round, in memory: plan, model, training, update. When anything fails on the way, the service is
 * told why this device will not deliver, and the error is thrown.
 */
export const takePart = async (
  device: Device,
  roundId: string,
  trainer: LocalTrainer,
  patience: Patience = {},
): Promise<TakenPart> => {
  try {
    const plan = await device.plan(roundId, patience)
    const within = { ...patience, until: Math.min(patience.until ?? plan.timeoutAt, plan.timeoutAt) }
    const update = await trainer(await device.model(plan, within), plan, patience.signal)
    const submission = await device.submit(roundId, update.weights, update.report, within)
    return { ...update, plan, submission }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    // The error itself matters more than whether it could be told.
    await device.reportFailure(roundId, reason, { until: Date.now() + 5000 }).catch(() => false)
    throw error
  }
}
