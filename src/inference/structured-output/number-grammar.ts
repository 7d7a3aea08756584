import type { GrammarNode } from './grammar.ts'
import { anyInteger, anyNumber } from './json-nodes.ts'
import { type Bounds, numbersWithin, wholeNumbers } from './number-range.ts'
import { below, type Schema, schemaFault, shown } from './schema-fault.ts'

/** A factor makes as many rules for each digit. */
const MAX_REMAINDERS = 250

/** A number between whole bounds, or a whole number, which may be a multiple of another. */
export const numberNode = (
  schema: Schema,
  place: string,
  isInteger: boolean,
  rules: Map<string, GrammarNode>,
): GrammarNode => {
  const { multipleOf } = schema
  const factor = factorOf(multipleOf, below(place, 'multipleOf'))
  const whole = isInteger || multipleOf !== undefined
  const bounds = boundsOf(schema, place, whole)
  const { min, max } = bounds
  if (min === Number.NEGATIVE_INFINITY && max === Number.POSITIVE_INFINITY && multipleOf === undefined)
    return isInteger ? anyInteger : anyNumber
  const node = min > max ? null : whole ? wholeNumbers(min, max, factor, rules) : numbersWithin(bounds)
  if (node !== null) return node
  if (multipleOf === undefined || min > max) throw schemaFault(place, 'no number lies between its bounds.')
  throw schemaFault(below(place, 'multipleOf'), `got ${factor}, and no multiple lies between the bounds.`)
}

const factorOf = (factor: unknown, place: string): number => {
  if (factor === undefined) return 1
  if (!Number.isSafeInteger(factor) || (factor as number) < 1)
    throw schemaFault(place, `got ${shown(factor)}; supported are whole numbers from 1.`)
  if (Number(String(factor).replace(/0+$/, '')) > MAX_REMAINDERS)
    throw schemaFault(place, `got ${factor}, for which the grammar would be too large.`)
  return factor as number
}

/** Whole numbers have no open bounds: the next one is the closed one. */
const boundsOf = (schema: Schema, place: string, whole: boolean): Bounds => {
  const lower = lowest(schema, place, whole, ['minimum', 'exclusiveMinimum'], 1)
  const upper = lowest(schema, place, whole, ['maximum', 'exclusiveMaximum'], -1)
  return { min: lower.at, minOpen: lower.open, max: -upper.at, maxOpen: upper.open }
}

/** The tighter one of both keywords, as a lower bound: with sign -1 of the number line turned around. */
const lowest = (
  schema: Schema,
  place: string,
  whole: boolean,
  [closed, exclusive]: readonly [string, string],
  sign: 1 | -1,
) => {
  const at = (keyword: string): number => {
    const value = schema[keyword]
    if (value === undefined) return Number.NEGATIVE_INFINITY
    if (typeof value !== 'number') throw schemaFault(below(place, keyword), `got ${shown(value)}, not a number.`)
    if (!Number.isSafeInteger(whole ? Math.trunc(value) : value))
      throw schemaFault(below(place, keyword), `got ${value}; supported are whole numbers within 2^53.`)
    return sign * value
  }
  const [from, above] = [at(closed), at(exclusive)]
  if (whole) return { at: Math.max(Math.ceil(from), Math.floor(above) + 1), open: false }
  return { at: Math.max(from, above), open: above >= from && above > Number.NEGATIVE_INFINITY }
}
