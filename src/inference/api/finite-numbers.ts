import { below } from '../structured-output/schema-fault.ts'
import { invalid } from './request-body.ts'

/** Returns the JSON pointer of a number that is not finite; null if there is none. Recursion is safe: body depth is limited. */
const infiniteIn = (value: unknown, place: string): string | null => {
  if (typeof value === 'number') return Number.isFinite(value) ? null : place
  if (typeof value !== 'object' || value === null) return null
  for (const [name, inner] of Object.entries(value)) {
    const found = infiniteIn(inner, below(place, name))
    if (found !== null) return found
  }
  return null
}

/**
 * Refuses numbers such as 1e400, which JSON.parse reads as infinite and JSON.stringify would write as null.
 * @throws InferenceError invalid_request
 */
export const assertFinite = (value: unknown, field: string): void => {
  const place = infiniteIn(value, '')
  if (place === null) return
  throw invalid(`${field} has a number at '#${place}' that is out of range. Use one within ±1.79e308.`, field)
}
