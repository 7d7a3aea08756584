import { badRequest } from '../domain/errors.ts'
import { DEFAULT_RANGE, type SecureSettings } from './settings.ts'

/**
 * Updates as integers modulo 2^32, so that masks cancel exactly and sums do not depend on their order.
 *
 * What is encoded is the difference from the global model, since differences are small and share one range:
 * `q = round(clip(x, range) * weight * 2^bits)`, ties rounded up. `bits` is the largest number for which n devices of the
 * maximum weight at the end of the range still fit into 31 bits and a sign: the sum never wraps. Rounding changes a
 * coordinate of an update by at most `resolution(settings) / 2`.
 *
 * TRAILER words follow the coordinates: the weight, and loss and accuracy as (weight of the devices that report it,
 * weighted value), so that the service learns only the sums of these too.
 */
export const TRAILER = 5
/** Losses and accuracies outside this range are clipped. */
const METRIC_RANGE = 1024

const largest = (settings: SecureSettings): number => Math.floor((2 ** 31 - 1) / settings.devices)
const scaleFor = (settings: SecureSettings, range: number): number => {
  const most = range * settings.maxWeight
  const factor = 2 ** Math.floor(Math.log2(largest(settings) / most))
  // log2 may round up to the next whole number.
  return factor * most > largest(settings) ? factor / 2 : factor
}

/** The step between neighboring values of a coordinate, for a device of weight 1. */
export const resolution = (settings: SecureSettings): number => 1 / scaleFor(settings, settings.range)

/** Steps above this limit, or ranges below it, lose what training changes. */
const COARSE = 2 ** -10

/** Returns a warning about the precision that these settings lose, or null if the loss is insignificant. */
export const coarsenessWarning = (settings: SecureSettings): string | null => {
  const { devices, range, maxWeight } = settings
  const step = resolution(settings)
  const what = `secure_aggregation: with range ${range}, max_weight ${maxWeight}, and ${devices} devices, an update of weight 1`
  if (range < COARSE) {
    return `${what} changes each model weight by at most ${range}, in steps of ${show(step)}: raise range (default: ${DEFAULT_RANGE}).`
  }
  if (step <= COARSE) return null
  const figures = `its loss and accuracy to multiples of ${show(1 / scaleFor(settings, METRIC_RANGE))}`
  return (
    `${what} is rounded to multiples of ${show(step)}, and ${figures}: ` +
    `${maxWeight === 1 ? 'lower range' : 'lower max_weight or range'}.`
  )
}

const show = (step: number): string => String(Number(step.toPrecision(3)))

export interface Contribution {
  /** The update minus the global model, over all summed tensors, in the order of summedTensors. */
  readonly delta: ArrayLike<number>
  readonly numSamples: number
  readonly loss?: number | undefined
  readonly accuracy?: number | undefined
}

export interface Encoded {
  /** delta.length + TRAILER numbers modulo 2^32. */
  readonly words: Uint32Array<ArrayBuffer>
  /** How many coordinates were outside the range. This number stays on the device. */
  readonly clipped: number
}

/** Encodes one device's input to the sum. Throws bad_request naming the first coordinate that is not finite. */
export const encodeContribution = (contribution: Contribution, settings: SecureSettings): Encoded => {
  const { delta, numSamples, loss, accuracy } = contribution
  if (!Number.isInteger(numSamples) || numSamples < 1) {
    throw badRequest(`num_samples is ${numSamples}; an update counts for at least one sample.`)
  }
  const weight = Math.min(numSamples, settings.maxWeight)
  const { range } = settings
  const factor = scaleFor(settings, range)
  const words = new Uint32Array(delta.length + TRAILER)
  let clipped = 0
  for (let i = 0; i < delta.length; i++) {
    const value = delta[i]!
    if (!Number.isFinite(value)) {
      throw badRequest(`Coordinate ${i} of the update is ${value}. Training diverged; lower the learning rate.`)
    }
    const inside = value > range ? range : value < -range ? -range : value
    if (inside !== value) clipped++
    words[i] = Math.round(inside * weight * factor)
  }
  words.set([weight, ...metricWords(loss, weight, settings), ...metricWords(accuracy, weight, settings)], delta.length)
  return { words, clipped }
}

const metricWords = (value: number | undefined, weight: number, settings: SecureSettings): [number, number] => {
  if (value === undefined || !Number.isFinite(value)) return [0, 0]
  const inside = Math.min(METRIC_RANGE, Math.max(-METRIC_RANGE, value))
  return [weight, Math.round(inside * weight * scaleFor(settings, METRIC_RANGE))]
}

const NOT_MASKED = ': an input was not masked as the protocol says.'

export interface SumTotals {
  readonly weight: number
  readonly loss: number | null
  readonly accuracy: number | null
}

/** Decodes the last TRAILER words of a sum. Throws bad_request if no sum of contributions could have these values. */
export const readTotals = (trailer: Uint32Array, settings: SecureSettings): SumTotals => {
  const [weight = 0, lossWeight = 0, loss = 0, accuracyWeight = 0, accuracy = 0] = trailer
  const most = settings.devices * settings.maxWeight
  if (trailer.length !== TRAILER || weight < 1 || weight > most) {
    throw badRequest(
      `The unmasked sum has a total weight of ${weight}, which ${settings.devices} devices cannot have${NOT_MASKED}`,
    )
  }
  for (const [name, of] of [
    ['loss', lossWeight],
    ['accuracy', accuracyWeight],
  ] as const) {
    if (of <= weight) continue
    throw badRequest(
      `The unmasked sum has a weight of ${of} for the ${name}, more than its total weight of ${weight}${NOT_MASKED}`,
    )
  }
  const factor = scaleFor(settings, METRIC_RANGE)
  const mean = (sum: number, of: number) => (of === 0 ? null : (sum | 0) / factor / of)
  return { weight, loss: mean(loss, lossWeight), accuracy: mean(accuracy, accuracyWeight) }
}

/** Decodes coordinates of a sum as weighted mean differences: `means[i]` for each of `words`. */
export const decodeMeans = (
  words: Uint32Array,
  totals: SumTotals,
  settings: SecureSettings,
  means: Float64Array,
): void => {
  const factor = scaleFor(settings, settings.range)
  // Exact: an integer below 2^31 times a power of two. Only the division by the weight rounds.
  for (let i = 0; i < words.length; i++) means[i] = (words[i]! | 0) / factor / totals.weight
}
