import { badRequest } from '../domain/errors.ts'

const SHAPE = 'A trainer returns { weights, report: { numSamples, localLoss?, localAccuracy? } }'

const isBytes = (value: unknown): boolean => value instanceof Uint8Array || value instanceof Blob

const isAmount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1

const faultOf = (update: unknown): string | null => {
  if (typeof update !== 'object' || update === null)
    return `this one returned ${update === null ? null : typeof update}`
  const { weights, report } = update as { weights?: unknown; report?: unknown }
  if (weights === undefined) return 'weights is missing'
  if (!isBytes(weights)) return 'weights is not a Uint8Array with the bytes of a weight file'
  if (typeof report !== 'object' || report === null) return 'report is missing'
  const { numSamples } = report as { numSamples?: unknown }
  if (numSamples === undefined) return 'report.numSamples is missing'
  return isAmount(numSamples) ? null : `report.numSamples is ${String(numSamples)}, not a whole number of at least 1`
}

/**
 * Checks the result of a custom trainer, which may not have been type-checked.
 * @throws bad_request naming what is missing
 */
export const requireUpdate = <Update>(update: Update): Update => {
  const fault = faultOf(update)
  if (fault !== null) throw badRequest(`${SHAPE}; ${fault}.`)
  return update
}
