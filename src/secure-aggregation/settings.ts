import { badRequest } from '../domain/errors.ts'
import { plural } from '../domain/plural.ts'

/**
 * Settings that all parties of a secure round agree on before it begins.
 * Protocol: Bonawitz et al. 2017, "Practical Secure Aggregation for Privacy-Preserving Machine Learning", section 4
 * (honest-but-curious server, without the signatures of section 6).
 */
export interface SecureSettings {
  /** The maximum number of devices: n. It determines the range that a sum needs. */
  readonly devices: number
  /** How many devices must stay to the end: t, with 2t > n. With fewer, nothing is revealed. */
  readonly threshold: number
  /** Coordinates of an update are clipped to [-range, range] on the device. */
  readonly range: number
  /** A device's weight is min(samples, maxWeight); 1 gives all devices the same weight. */
  readonly maxWeight: number
}

/** A share's position is one non-zero byte, so there are at most 255 shares (Shamir over GF(256)). */
export const MAX_DEVICES = 255
export const DEFAULT_RANGE = 8
const MAX_WEIGHT = 1_000_000

/** Two thirds, rounded up: a server that colludes with fewer than a third of the devices still learns only sums. */
const defaultThreshold = (devices: number): number => Math.max(2, Math.ceil((2 * devices) / 3))

/**
 * Fills in defaults. Throws bad_request naming the field if a setting is out of range. The threshold must exceed half of the
 * devices: otherwise a server could ask one half for one secret of a device and the other half for the other.
 */
export const secureSettings = (requested: {
  readonly devices: number
  readonly threshold?: number | undefined
  readonly range?: number | undefined
  readonly maxWeight?: number | undefined
}): SecureSettings => {
  const { devices, range = DEFAULT_RANGE, maxWeight = 1 } = requested
  if (!Number.isInteger(devices) || devices < 2 || devices > MAX_DEVICES) {
    throw badRequest(
      `secure_aggregation: a round of ${plural(devices, 'device')} cannot be secure. Select between 2 and ${MAX_DEVICES}.`,
    )
  }
  const threshold = requested.threshold ?? defaultThreshold(devices)
  const lowest = Math.floor(devices / 2) + 1
  if (!Number.isInteger(threshold) || threshold < lowest || threshold > devices) {
    throw badRequest(
      `secure_aggregation.threshold is ${threshold}; with ${devices} devices it must be a whole number from ${lowest} ` +
        `(more than half) to ${devices}.`,
    )
  }
  if (!(range > 0 && range <= 2 ** 20)) {
    throw badRequest(`secure_aggregation.range is ${range}; it must be greater than 0 and at most ${2 ** 20}.`)
  }
  if (!Number.isInteger(maxWeight) || maxWeight < 1 || maxWeight > MAX_WEIGHT) {
    throw badRequest(
      `secure_aggregation.max_weight is ${maxWeight}; it must be a whole number from 1 (all devices weigh the same) to ` +
        `${MAX_WEIGHT}.`,
    )
  }
  return { devices, threshold, range, maxWeight }
}
