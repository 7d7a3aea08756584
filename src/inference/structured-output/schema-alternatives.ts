import { isObject } from '../../domain/is-object.ts'
import { pointerTo } from '../../domain/json-pointer.ts'
import { constantsOf } from './constant-grammar.ts'
import { type Schema, schemaFault, shown } from './schema-fault.ts'
import { checkKeywords, constraintsOf } from './schema-keywords.ts'
import { listOf, merged, standsBeside } from './schema-merge.ts'
import type { Follow } from './schema-references.ts'
import { type SchemaType, typeOf, typesOf } from './schema-types.ts'

/** One possibility for a value: a type, or one of several constants, without references or alternatives. */
export interface Alternative {
  readonly schema: Schema
  readonly place: string
  /** null for a value of any type. */
  readonly type: SchemaType | 'constant' | null
}

/** Slightly more than the maximum number of constants, which count, too. */
const MAX_ALTERNATIVES = 1200
const MAX_STEPS = 5000

/** The alternatives of one schema, and every 'oneOf' found on the way to them. */
export interface Alternatives {
  /**
   * Lists the alternatives for a value at that place, each once, resolving references and alternatives. Empty if they only lead
   * back to themselves.
   */
  readonly at: (schema: unknown, place: string) => readonly Alternative[]
  readonly exclusive: ReadonlyMap<string, Schema>
}

export const createAlternatives = (follow: Follow): Alternatives => {
  const exclusive = new Map<string, Schema>()
  /** Returns where to look next; adds the schema's own alternatives to `found`. */
  const step = (schema: unknown, place: string, found: Alternative[]) => {
    if (schema !== true && !isObject(schema))
      throw schemaFault(place, `got ${shown(schema)}; a schema is an object or true.`)
    const plain = schema === true ? {} : schema
    checkKeywords(plain, place)
    const constraints = constraintsOf(plain)
    if (plain.allOf !== undefined || (plain.$ref !== undefined && constraints.length > 1))
      return [{ schema: merged(plain, place, follow), place: pointerTo(place, 'allOf') }]
    if (plain.$ref !== undefined) return [follow(plain.$ref, place)]
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      if (plain[keyword] === undefined) continue
      if (constraints.length > 1) throw standsBeside(plain, place)
      if (keyword === 'oneOf') exclusive.set(place, plain)
      const at = pointerTo(place, keyword)
      return listOf(plain, keyword, place).map((part, i) => ({ schema: part, place: pointerTo(at, i) }))
    }
    if (plain.enum !== undefined || plain.const !== undefined) found.push({ schema: plain, place, type: 'constant' })
    else for (const type of typesOf(plain, place) ?? [null]) found.push({ schema: plain, place, type })
    return []
  }
  const at: Alternatives['at'] = (schema, place) => {
    const found: Alternative[] = []
    const seen = new Set<string>()
    const waiting = [{ schema, place }]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (seen.has(next.place)) continue
      seen.add(next.place)
      if (seen.size > MAX_STEPS || found.length > MAX_ALTERNATIVES)
        throw schemaFault(place, `it leads to more than ${MAX_ALTERNATIVES} alternatives. Make it simpler.`)
      waiting.push(...[...step(next.schema, next.place, found)].reverse())
    }
    return found
  }
  return { at, exclusive }
}

/**
 * Refuses a 'oneOf' with two alternatives that may match at the same time, according to a simple rule. Distinct are different
 * types, different constants, and objects with different constants in a property that both require.
 */
export const checkApart = (schema: Schema, place: string, { at }: Alternatives): void => {
  const oneOf = pointerTo(place, 'oneOf')
  const branches = listOf(schema, 'oneOf', place).map((part, i) => at(part, pointerTo(oneOf, i)).map(traitsOf))
  const apart = branches.every((branch, i) =>
    branch.every((one) => branches.slice(i + 1).every((others) => others.every((other) => areApart(one, other)))),
  )
  if (apart && branches.every(({ length }) => length > 0)) return
  throw schemaFault(
    oneOf,
    `two alternatives may hold at once, which 'oneOf' forbids: tell them apart by 'type' or by a 'const' in a property that both require, or use 'anyOf'.`,
  )
}

interface Traits {
  readonly kinds: readonly string[]
  /** The constants that a value must equal, under '', or that a required property must equal, under a slash and its name. */
  readonly constants: ReadonlyMap<string, readonly string[]>
}

const traitsOf = ({ schema, place, type }: Alternative): Traits => {
  const types = type === 'constant' ? constantsOf(schema, place).map((value) => typeOf(JSON.parse(value))) : [type]
  const kinds = [...new Set(types.map((one) => (one === 'integer' ? 'number' : (one ?? 'any'))))]
  const properties = requiredProperties(schema).map(([name, inner]) => [`/${name}`, constantsIn(inner)] as const)
  return { kinds, constants: new Map([['', constantsIn(schema)], ...properties]) }
}

const areApart = (one: Traits, other: Traits): boolean =>
  [...one.constants].some(([key, values]) => areDisjoint(values, other.constants.get(key) ?? [])) ||
  !(one.kinds.some((kind) => kind === 'any' || other.kinds.includes(kind)) || other.kinds.includes('any'))

const areDisjoint = (some: readonly string[], others: readonly string[]): boolean =>
  some.length > 0 && others.length > 0 && !some.some((value) => others.includes(value))

const requiredProperties = ({ properties, required }: Schema): readonly (readonly [string, unknown])[] =>
  Array.isArray(required) && isObject(properties)
    ? Object.entries(properties).filter(([name]) => required.includes(name))
    : []

/** Returns a schema's constants as JSON; none if it allows other values, or an object, which has many forms in JSON. */
const constantsIn = (schema: unknown): readonly string[] => {
  if (!isObject(schema)) return []
  const values: readonly unknown[] =
    schema.const !== undefined ? [schema.const] : Array.isArray(schema.enum) ? schema.enum : []
  return values.some((value) => value !== null && typeof value === 'object')
    ? []
    : values.map((value) => JSON.stringify(value))
}

/**
 * Groups alternatives whose texts start the same way: all arrays, and all objects unless each has a required first property
 * that differs from the others' by its name or its constants.
 */
export const alike = (alternatives: readonly Alternative[]): readonly (readonly Alternative[])[] => {
  const arrays = alternatives.filter(({ type }) => type === 'array')
  const objects = alternatives.filter(({ type }) => type === 'object')
  const openings = objects.map(({ schema }) => {
    const [first] = Object.entries(isObject(schema.properties) ? schema.properties : {})
    const [required] = requiredProperties(schema)
    return first !== undefined && required?.[0] === first[0] ? first : null
  })
  const differ = openings.every(
    (one, i) =>
      one !== null &&
      openings
        .slice(i + 1)
        .every(
          (other) => other !== null && (one[0] !== other[0] || areDisjoint(constantsIn(one[1]), constantsIn(other[1]))),
        ),
  )
  return [arrays, ...(differ ? objects.map((one) => [one]) : [objects])]
}
