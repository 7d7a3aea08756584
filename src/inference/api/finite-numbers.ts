import { below } from '../structured-output/schema-fault.ts'
import { invalid } from './request-body.ts'

/** As a JSON pointer; null where every number is finite. Bodies are nested no deeper than recursion takes. */
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
 * JSON's 1e400 is read as infinite, and would be null to whoever is passed the value.
 * @throws InferenceError invalid_request
 */
export const assertFinite = (value: unknown, field: string): void => {
  const place = infiniteIn(value, '')
  if (place === null) return
  throw invalid(`${field} has a number at '#${place}' that is out of range. Use one within ±1.79e308.`, field)
}
