import { below, isSchema, type Schema, schemaFault, shown } from './schema-fault.ts'
import { checkKeywords, constraintsOf } from './schema-keywords.ts'
import type { References } from './schema-references.ts'

const COMPOSED: readonly string[] = ['anyOf', 'oneOf', '$ref']
const LARGER: readonly string[] = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const SMALLER: readonly string[] = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
const MOST_PARTS = 200

/** Whether the schema says several things at once: several schemas, or one that stands elsewhere and constraints beside it. */
export const saysMore = (schema: Schema): boolean => {
  const constraints = constraintsOf(schema)
  return schema.allOf !== undefined || (constraints.length > 1 && constraints.some((word) => COMPOSED.includes(word)))
}

/**
 * One schema for all that must hold at once: what stands in 'allOf', behind '$ref' and beside them is put together keyword by
 * keyword, and goes into each alternative of an 'anyOf' or 'oneOf'. Throws for what cannot be put together.
 */
export const merged = (schema: Schema, place: string, references: References): Schema => {
  const parts = partsOf(schema, place, references)
  const composed = parts.find((part) => part.anyOf !== undefined || part.oneOf !== undefined)
  if (composed === undefined || parts.length === 1) return parts.reduce((one, other) => both(one, other, place))
  const keyword = composed.anyOf === undefined ? 'oneOf' : 'anyOf'
  const others = parts.filter((part) => part !== composed)
  return {
    [keyword]: alternativesOf(composed, keyword, place).map((alternative) => ({ allOf: [alternative, ...others] })),
  }
}

/** The schemas of such a keyword. */
export const alternativesOf = (schema: Schema, keyword: 'allOf' | 'anyOf' | 'oneOf', place: string): unknown[] => {
  const schemas = schema[keyword]
  if (Array.isArray(schemas) && schemas.length > 0) return schemas
  throw schemaFault(below(place, keyword), 'stands no list of schemas.')
}

/** What must hold at once, none of them a reference or an 'allOf' any more; alternatives stand by themselves. */
const partsOf = (root: Schema, place: string, references: References): Schema[] => {
  const parts: Schema[] = []
  const waiting: unknown[] = [root]
  for (let seen = 0; waiting.length > 0; seen++) {
    if (seen === MOST_PARTS) throw schemaFault(place, `it is made of more than ${MOST_PARTS} others, or needs itself.`)
    const schema = waiting.shift()
    if (schema === true) continue
    if (!isSchema(schema)) throw schemaFault(place, `stands ${shown(schema)}; a schema is an object or true.`)
    checkKeywords(schema, place)
    const { allOf, $ref, anyOf, oneOf, ...rest } = schema
    if (constraintsOf(rest).length > 0) parts.push(rest)
    if (anyOf !== undefined) parts.push({ anyOf })
    if (oneOf !== undefined) parts.push({ oneOf })
    if ($ref !== undefined) waiting.push(references.follow($ref, place).schema)
    if (allOf !== undefined) waiting.push(...alternativesOf(schema, 'allOf', place))
  }
  return parts.length === 0 ? [{}] : parts
}

const both = (one: Schema, other: Schema, place: string): Schema => {
  checkRest(one, other, place)
  checkRest(other, one, place)
  const result: Record<string, unknown> = { ...one, ...other }
  for (const keyword of Object.keys(one)) {
    const [mine, its] = [one[keyword], other[keyword]]
    if (its === undefined) result[keyword] = mine
    else if (mine !== undefined) result[keyword] = together(keyword, mine, its, place)
  }
  const properties = propertiesOf(one, other, place)
  if (properties !== undefined) result.properties = properties
  return result
}

/** What holds for the rest of one schema holds for all that the other one names apart, by pattern or place. */
const checkRest = (one: Schema, other: Schema, place: string): void => {
  for (const [apart, rest] of [
    ['patternProperties', 'additionalProperties'],
    ['prefixItems', 'items'],
  ] as const)
    if (one[apart] !== undefined && other[apart] === undefined && (other[rest] ?? true) !== true)
      throw schemaFault(
        below(place, rest),
        `another schema has '${apart}', which it would hold for, too. Write both as one.`,
      )
}

const together = (keyword: string, mine: unknown, its: unknown, place: string): unknown => {
  if (LARGER.includes(keyword)) return bound(Math.max, mine, its, place, keyword)
  if (SMALLER.includes(keyword)) return bound(Math.min, mine, its, place, keyword)
  switch (keyword) {
    case 'type':
      return commonTypes([mine].flat(), [its].flat(), place)
    case 'required':
      return [...new Set([mine, its].flat())]
    case 'enum':
      return commonValues([mine].flat(), [its].flat(), place)
    case 'items':
    case 'additionalProperties':
    case 'propertyNames':
      return bothOf(mine, its)
    case 'uniqueItems':
      return mine === true || its
    default:
      if (JSON.stringify(mine) === JSON.stringify(its) || !CONSTRAINING.includes(keyword)) return its
      throw schemaFault(below(place, keyword), `is asked for twice at once, differently. Write both as one.`)
  }
}

/** What two schemas can say differently, and nothing here can say at once; other words only describe. */
const CONSTRAINING: readonly string[] = ['const', 'prefixItems', 'pattern', 'patternProperties', 'format', 'multipleOf']

const bothOf = (mine: unknown, its: unknown): unknown => {
  if (mine === false || its === false) return false
  if (mine === true) return its
  return its === true ? mine : { allOf: [mine, its] }
}

const bound = (pick: (...values: number[]) => number, mine: unknown, its: unknown, place: string, keyword: string) => {
  if (typeof mine === 'number' && typeof its === 'number') return pick(mine, its)
  throw schemaFault(below(place, keyword), 'stands something other than a number.')
}

/** Whole numbers are numbers, so of both they are what is left. */
const commonTypes = (mine: readonly unknown[], its: readonly unknown[], place: string): readonly unknown[] => {
  const allows = (types: readonly unknown[], type: unknown) =>
    types.includes(type) || (type === 'integer' && types.includes('number'))
  const common = [...mine.filter((type) => allows(its, type)), ...its.filter((type) => allows(mine, type))]
  if (common.length > 0) return [...new Set(common)]
  throw schemaFault(below(place, 'type'), `no type is left of ${mine.join(', ')} and ${its.join(', ')}.`)
}

const commonValues = (mine: readonly unknown[], its: readonly unknown[], place: string): readonly unknown[] => {
  const known = new Set(its.map((value) => JSON.stringify(value)))
  const common = mine.filter((value) => known.has(JSON.stringify(value)))
  if (common.length > 0) return common
  throw schemaFault(below(place, 'enum'), 'no value is left of two lists.')
}

/** A property of both is under both schemas; one that only one of them names is under what the other says of further ones. */
const propertiesOf = (one: Schema, other: Schema, place: string): Schema | undefined => {
  if (one.properties === undefined && other.properties === undefined) return undefined
  const [mine, its] = [namedIn(one, place), namedIn(other, place)]
  const names = new Set([...mine.keys(), ...its.keys()])
  const under = (schemas: ReadonlyMap<string, unknown>, name: string, { additionalProperties }: Schema) =>
    schemas.has(name) ? schemas.get(name) : (additionalProperties ?? true)
  return Object.fromEntries([...names].map((name) => [name, bothOf(under(mine, name, one), under(its, name, other))]))
}

const namedIn = ({ properties }: Schema, place: string): ReadonlyMap<string, unknown> => {
  if (properties === undefined) return new Map()
  if (isSchema(properties)) return new Map(Object.entries(properties))
  throw schemaFault(below(place, 'properties'), 'stands no object of schemas.')
}
