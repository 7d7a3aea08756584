import { badRequest } from '../../../domain/errors.ts'
import { seededRandom } from './random.ts'

/** A mean over samples that has a gradient. */
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
  /** Weight decay lambda, in the gradient as lambda * w, of every parameter (as torch.optim.SGD has it). */
  readonly l2: number
  /** FedProx's mu (Li et al. 2020): pulls towards where training started. 0 is FedAvg. */
  readonly proximal: number
  /** Decides the order of the samples. */
  readonly seed: number
  readonly signal?: AbortSignal | undefined
}

/** How long arithmetic may hold the thread before timers, the network and the page get a turn. */
const TURN_MILLISECONDS = 20

/** Resolves in a later turn of the event loop (a promise alone would not let timers run). */
const yieldTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

/**
 * Minibatch stochastic gradient descent in place: w -= lr * (g + l2 * w + mu * (w - w_start)), where w_start is the value
 * of `parameters` at the call. Samples are reshuffled every epoch; the last batch may be smaller. Gives up the thread
 * every few milliseconds. Throws bad_request when the loss is no longer finite, and the signal's reason when aborted.
 */
export const minimise = async (objective: Objective, parameters: Float64Array, options: SgdOptions): Promise<void> => {
  const { learningRate, batchSize, epochs, l2, proximal, signal } = options
  const start = parameters.slice()
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
        const slope = gradient[index]! + l2 * value + proximal * (value - start[index]!)
        parameters[index] = value - learningRate * slope
      }
      if (performance.now() >= turnEnds) {
        await yieldTurn()
        signal?.throwIfAborted()
        turnEnds = performance.now() + TURN_MILLISECONDS
      }
    }
  }
}
