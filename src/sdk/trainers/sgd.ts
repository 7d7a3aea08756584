import { badRequest } from '../../domain/errors.ts'
import { seededRandom } from './random.ts'

/** A mean over samples, with its gradient. */
export interface Objective {
  readonly sampleCount: number
  /** Overwrites `gradient` with the mean gradient over these samples and returns their mean loss. */
  gradient(parameters: Float64Array, samples: Uint32Array, gradient: Float64Array): number
}

export interface SgdOptions {
  readonly learningRate: number
  readonly batchSize: number
  /** Passes over the samples. */
  readonly epochs: number
  /** Weight decay lambda, added to the gradient as lambda * w for every parameter (like torch.optim.SGD). */
  readonly l2: number
  /** FedProx's mu (Li et al. 2020), or Ditto's lambda: pulls toward `anchor`. 0 is FedAvg. */
  readonly proximal: number
  /** Default: the parameters at the start. */
  readonly anchor?: Float64Array | undefined
  /** Added to every gradient: SCAFFOLD's c - c_i. */
  readonly correction?: Float64Array | undefined
  /** Partial work: training stops after this time, but not before its first step. */
  readonly maxSeconds?: number | undefined
  /** Determines the order of the samples. */
  readonly seed: number
  readonly signal?: AbortSignal | undefined
}

/** How long arithmetic may block the thread before timers, the network and the page get a turn. */
const TURN_MILLISECONDS = 20

/** Resolves in a later turn of the event loop (a resolved promise would not let timers run). */
const yieldTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

/**
 * Minibatch stochastic gradient descent in place: w -= lr * (g + correction + l2 * w + mu * (w - anchor)), where the anchor
 * defaults to the value of `parameters` at the call. Samples are reshuffled every epoch; the last batch may be smaller. Yields
 * the thread every few milliseconds. Returns the number of steps. Throws bad_request if the loss is no longer finite, and the
 * signal's reason when aborted.
 */
export const minimize = async (
  objective: Objective,
  parameters: Float64Array,
  options: SgdOptions,
): Promise<number> => {
  const { learningRate, batchSize, epochs, l2, proximal, signal, correction } = options
  const anchor = options.anchor ?? parameters.slice()
  const outOfTime = performance.now() + (options.maxSeconds ?? Number.POSITIVE_INFINITY) * 1000
  let steps = 0
  const gradient = new Float64Array(parameters.length)
  const order = Uint32Array.from({ length: objective.sampleCount }, (_, row) => row)
  const random = seededRandom(options.seed)
  let turnEnds = performance.now() + TURN_MILLISECONDS
  for (let epoch = 1; epoch <= epochs; epoch++) {
    random.shuffle(order)
    for (let at = 0; at < order.length; at += batchSize) {
      const loss = objective.gradient(parameters, order.subarray(at, at + batchSize), gradient)
      if (!Number.isFinite(loss)) {
        throw badRequest(
          `Training diverged: the loss is ${loss} in epoch ${epoch}. Lower learning_rate (it is ${learningRate}), ` +
            'or scale the features to similar ranges.',
        )
      }
      for (let index = 0; index < parameters.length; index++) {
        const value = parameters[index]!
        const slope = gradient[index]! + l2 * value + proximal * (value - anchor[index]!)
        parameters[index] = value - learningRate * (correction === undefined ? slope : slope + correction[index]!)
      }
      steps++
      if (performance.now() >= outOfTime) return steps
      if (performance.now() >= turnEnds) {
        await yieldTurn()
        signal?.throwIfAborted()
        turnEnds = performance.now() + TURN_MILLISECONDS
      }
    }
  }
  return steps
}
