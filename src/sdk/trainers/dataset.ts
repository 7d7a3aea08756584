import { badRequest } from '../../domain/errors.ts'
import { seededRandom } from './random.ts'

/** Labeled rows: `features` is row-major [count, featureCount]; `labels[i]` is the class index of row i. */
export interface Dataset {
  readonly featureCount: number
  readonly features: Float64Array
  readonly labels: Uint32Array
}

export interface Split {
  readonly train: Dataset
  readonly heldOut: Dataset
}

export const rowCount = (data: Dataset): number => data.labels.length

/** Copies the rows at these positions, in this order. */
export const pickRows = (data: Dataset, rows: Uint32Array): Dataset => {
  const width = data.featureCount
  const features = new Float64Array(rows.length * width)
  const labels = new Uint32Array(rows.length)
  rows.forEach((row, position) => {
    features.set(data.features.subarray(row * width, (row + 1) * width), position * width)
    labels[position] = data.labels[row]!
  })
  return { featureCount: width, features, labels }
}

/**
 * Holds out floor(count * fraction) rows chosen by the seed, at least one if the fraction is above 0 and there are at least two
 * rows; the rest is for training. The same seed holds out the same rows, so no run ever trains on them. Throws bad_request if
 * the fraction is outside [0, 1).
 */
export const splitDataset = (data: Dataset, fraction: number, seed: number): Split => {
  if (!(fraction >= 0 && fraction < 1)) {
    throw badRequest(`The held-out fraction must be at least 0 and below 1, got ${fraction}.`)
  }
  const count = rowCount(data)
  const order = Uint32Array.from({ length: count }, (_, row) => row)
  seededRandom(seed).shuffle(order)
  const requested = fraction > 0 && count >= 2 ? Math.max(1, Math.floor(count * fraction)) : 0
  return { train: pickRows(data, order.slice(requested)), heldOut: pickRows(data, order.slice(0, requested)) }
}
