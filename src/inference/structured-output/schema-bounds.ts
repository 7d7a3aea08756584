import type { Bounds } from './number-range.ts'
import { below, type Schema, schemaFault } from './schema-fault.ts'

/** The bounds of a schema for numbers; null without any. Throws for bounds that cannot be kept, or that leave nothing. */
export const boundsOf = (schema: Schema, place: string, whole: boolean): Bounds | null => {
  const min = lowest(schema, place, whole)
  const max = highest(schema, place, whole)
  if (min === null && max === null) return null
  const bounds = {
    min: min?.at ?? null,
    minOpen: min?.open ?? false,
    max: max?.at ?? null,
    maxOpen: max?.open ?? false,
  }
  if (min !== null && max !== null && (min.at > max.at || (min.at === max.at && (min.open || max.open))))
    throw schemaFault(place, 'no number lies between its bounds.')
  return bounds
}

interface Bound {
  readonly at: number
  readonly open: boolean
}

const lowest = (schema: Schema, place: string, whole: boolean): Bound | null => {
  const bounds = [bound(schema, 'minimum', false, place, whole), bound(schema, 'exclusiveMinimum', true, place, whole)]
  return tighter(
    bounds.map((one) => closed(one, whole, 1)),
    (one, other) => one > other,
  )
}

const highest = (schema: Schema, place: string, whole: boolean): Bound | null => {
  const bounds = [bound(schema, 'maximum', false, place, whole), bound(schema, 'exclusiveMaximum', true, place, whole)]
  return tighter(
    bounds.map((one) => closed(one, whole, -1)),
    (one, other) => one < other,
  )
}

const bound = (schema: Schema, keyword: string, open: boolean, place: string, whole: boolean): Bound | null => {
  const at = schema[keyword]
  if (at === undefined) return null
  if (typeof at !== 'number') throw schemaFault(below(place, keyword), `got ${JSON.stringify(at)}, not a number.`)
  const rounded = whole ? (keyword.endsWith('inimum') ? Math.ceil(at) : Math.floor(at)) : at
  if (!Number.isSafeInteger(rounded))
    throw schemaFault(below(place, keyword), `got ${at}; supported are whole numbers within 2^53.`)
  return { at: rounded + 0, open: open && rounded === at }
}

/** Whole numbers have no open bounds: the next one is the closed one. */
const closed = (one: Bound | null, whole: boolean, step: number): Bound | null =>
  one?.open && whole ? { at: one.at + step, open: false } : one

const tighter = (bounds: readonly (Bound | null)[], isTighter: (one: number, other: number) => boolean): Bound | null =>
  bounds.reduce((best, one) => {
    if (one === null || best === null) return best ?? one
    return isTighter(one.at, best.at) || (one.at === best.at && one.open) ? one : best
  }, null)
