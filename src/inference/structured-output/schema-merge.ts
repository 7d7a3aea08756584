import { below, isSchema, type Schema, schemaFault, shown } from './schema-fault.ts'
import { checkKeywords, constraintsOf } from './schema-keywords.ts'
import type { References } from './schema-references.ts'

const LARGER: readonly string[] = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems']
const SMALLER: readonly string[] = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems']
const MAX_PARTS = 200

/**
 * One schema for what must hold at once: 'allOf', a reference and what stands beside them. Bounds become the tighter ones and
 * properties are joined; any other keyword may stand in several of them only with the same value.
 */
export const merged = (schema: Schema, place: string, references: References): unknown => {
  const parts = partsOf(schema, place, references)
  const composed = parts.find(isComposed)
  if (composed !== undefined && parts.length > 1) throw standsBeside(composed, place)
  return parts.length === 0 ? true : parts.reduce((one, other) => both(one, other, place))
}

const isComposed = (schema: Schema): boolean => schema.anyOf !== undefined || schema.oneOf !== undefined

export const standsBeside = (schema: Schema, place: string) => {
  const keyword = schema.anyOf === undefined ? 'oneOf' : 'anyOf'
  return schemaFault(place, `keywords beside '${keyword}' are not supported: write them into each of its alternatives.`)
}

/** The schemas of such a keyword. */
export const listOf = (schema: Schema, keyword: 'allOf' | 'anyOf' | 'oneOf', place: string): readonly unknown[] => {
  const schemas = schema[keyword]
  if (Array.isArray(schemas) && schemas.length > 0) return schemas
  throw schemaFault(below(place, keyword), 'expected a list of schemas.')
}

/** What must hold at once, none of them a reference or an 'allOf' any more. */
const partsOf = (root: Schema, place: string, references: References): Schema[] => {
  const parts: Schema[] = []
  const waiting: unknown[] = [root]
  for (let seen = 0; waiting.length > 0; seen++) {
    if (seen === MAX_PARTS) throw schemaFault(place, `it is made of more than ${MAX_PARTS} others, or needs itself.`)
    const schema = waiting.shift()
    if (schema === true) continue
    if (!isSchema(schema)) throw schemaFault(place, `got ${shown(schema)}; a schema is an object or true.`)
    checkKeywords(schema, place)
    const { allOf, $ref, ...rest } = schema
    if (constraintsOf(rest).length > 0) parts.push(rest)
    if ($ref !== undefined) waiting.push(references.follow($ref, place).schema)
    if (allOf !== undefined) waiting.push(...listOf(schema, 'allOf', place))
  }
  return parts
}

const both = (one: Schema, other: Schema, place: string): Schema => {
  checkFurther(one, other, place)
  checkFurther(other, one, place)
  const result: Record<string, unknown> = { ...one, ...other }
  for (const keyword of constraintsOf(one))
    if (other[keyword] !== undefined) result[keyword] = together(keyword, one[keyword], other[keyword], place)
  return result
}

const together = (keyword: string, mine: unknown, its: unknown, place: string): unknown => {
  const numbers = typeof mine === 'number' && typeof its === 'number'
  if (numbers && LARGER.includes(keyword)) return Math.max(mine, its)
  if (numbers && SMALLER.includes(keyword)) return Math.min(mine, its)
  if (keyword === 'type') return commonTypes([mine].flat(), [its].flat(), place)
  if (keyword === 'required') return [...new Set([mine, its].flat())]
  if (keyword === 'properties' && isSchema(mine) && isSchema(its)) {
    const names = Object.keys(its).filter((name) => Object.hasOwn(mine, name))
    for (const name of names) same(mine[name], its[name], below(below(place, keyword), name))
    return { ...mine, ...its }
  }
  return same(mine, its, below(place, keyword))
}

const same = (mine: unknown, its: unknown, place: string): unknown => {
  if (JSON.stringify(mine) === JSON.stringify(its)) return its
  throw schemaFault(place, 'two schemas that hold at once say different things. Write both as one.')
}

/** What one schema says of the properties or items that it does not name would hold for those that the other one names. */
const checkFurther = (one: Schema, other: Schema, place: string): void => {
  const further = one.additionalProperties ?? true
  const named = isSchema(one.properties) ? one.properties : {}
  const names = isSchema(other.properties) ? Object.keys(other.properties) : []
  const open = names.find((name) => !Object.hasOwn(named, name))
  if (further !== true && open !== undefined)
    throw schemaFault(
      below(place, 'additionalProperties'),
      `it would hold for '${open.slice(0, 80)}' of another schema, too. Write both as one.`,
    )
  if (one.prefixItems === undefined && other.prefixItems !== undefined && (one.items ?? true) !== true)
    throw schemaFault(below(place, 'items'), `it would hold for 'prefixItems' of another schema. Write both as one.`)
}

/** Whole numbers are numbers, so of both they are what is left. */
const commonTypes = (mine: readonly unknown[], its: readonly unknown[], place: string): readonly unknown[] => {
  const allows = (types: readonly unknown[], type: unknown) =>
    types.includes(type) || (type === 'integer' && types.includes('number'))
  const common = [...mine.filter((type) => allows(its, type)), ...its.filter((type) => allows(mine, type))]
  if (common.length > 0) return [...new Set(common)]
  throw schemaFault(below(place, 'type'), `no type is left of ${shown(mine)} and ${shown(its)}.`)
}
