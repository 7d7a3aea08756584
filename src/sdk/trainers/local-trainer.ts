import type { Evaluate, LocalTrainer } from '../take-part.ts'
import { reportOf, trainLocally } from './built-in.ts'
import { rowCount, type Split } from './dataset.ts'
import { evaluate } from './train.ts'
import { decodeModel } from './weights-codec.ts'

/** A device's state between the rounds of a job: control variates, a personal model. If lost, it starts over. */
export interface TrainerMemory {
  read(key: string): Promise<Uint8Array | null>
  write(key: string, bytes: Uint8Array): Promise<void>
}

/** Keeps state for the lifetime of the page or process. */
export const inMemory = (): TrainerMemory => {
  const kept = new Map<string, Uint8Array>()
  return {
    read: async (key) => kept.get(key) ?? null,
    write: async (key, bytes) => void kept.set(key, bytes),
  }
}

/** Evaluates built-in models on the held-out rows, or on all rows if none are held out; for `takePart` and `takeEvaluation`. */
export const localEvaluator =
  (data: Split): Evaluate =>
  (weights) =>
    reportOf(evaluate(decodeModel(weights).tensors, rowCount(data.heldOut) > 0 ? data.heldOut : data.train))

/** A trainer for `takePart` that trains the built-in models on these rows, following the round's strategy. */
export const localTrainer = (
  data: Split,
  options: { readonly deviceId: string; readonly memory?: TrainerMemory },
): LocalTrainer => {
  const memory = options.memory ?? inMemory()
  return async (globalWeights, plan, signal, { control }) => {
    const { deviceId } = options
    const files = { control, memory: plan.jobId === null ? null : await memory.read(plan.jobId) }
    const update = await trainLocally(globalWeights, data, plan, { deviceId, signal }, files)
    const { memory: kept } = update
    if (kept === undefined || plan.jobId === null) return update
    const { jobId } = plan
    return { ...update, delivered: () => memory.write(jobId, kept) }
  }
}
