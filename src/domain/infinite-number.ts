import { pointerTo } from './json-pointer.ts'

/**
 * Returns the JSON pointer of the first number that is not finite; null if there is none. JSON.parse reads 1e400 as infinite, and
 * JSON.stringify writes that as null. Recursive: the depth of `value` must be limited.
 */
export const infiniteIn = (value: unknown, place = ''): string | null => {
  if (typeof value === 'number') return Number.isFinite(value) ? null : place
  if (typeof value !== 'object' || value === null) return null
  for (const [name, inner] of Object.entries(value)) {
    const found = infiniteIn(inner, pointerTo(place, name))
    if (found !== null) return found
  }
  return null
}
