import { constantsOf } from './constant-grammar.ts'
import { below, isSchema, type Schema, schemaFault, shown } from './schema-fault.ts'
import { checkKeywords, constraintsOf } from './schema-keywords.ts'
import { listOf, merged, standsBeside } from './schema-merge.ts'
import type { References } from './schema-references.ts'
import { type SchemaType, typeOf, typesOf } from './schema-types.ts'

/** One thing that a value may be: of one type, or one of several constants, without references or alternatives. */
export interface Alternative {
  readonly schema: Schema
  readonly place: string
  /** null: a value of any kind. */
  readonly type: SchemaType | 'constant' | null
}

/** Constants, too: as many as there may be, and some more. */
const MAX_ALTERNATIVES = 1200
const MAX_STEPS = 5000

/** The alternatives of one schema, and every 'oneOf' that was met on the way to them. */
export interface Alternatives {
  /**
   * What a value at that place may be, each once, however the schema's references and alternatives lead there. Empty where they
   * lead only back to themselves.
   */
  readonly at: (schema: unknown, place: string) => readonly Alternative[]
  readonly exclusive: ReadonlyMap<string, Schema>
}

export const createAlternatives = (references: References): Alternatives => {
  const exclusive = new Map<string, Schema>()
  /** Where to look further; what the schema itself says goes to `found`. */
  const step = (schema: unknown, place: string, found: Alternative[]) => {
    if (schema !== true && !isSchema(schema))
      throw schemaFault(place, `got ${shown(schema)}; a schema is an object or true.`)
    const plain = schema === true ? {} : schema
    checkKeywords(plain, place)
    const constraints = constraintsOf(plain)
    if (plain.allOf !== undefined || (plain.$ref !== undefined && constraints.length > 1))
      return [{ schema: merged(plain, place, references), place: below(place, 'allOf') }]
    if (plain.$ref !== undefined) return [references.follow(plain.$ref, place)]
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      if (plain[keyword] === undefined) continue
      if (constraints.length > 1) throw standsBeside(plain, place)
      if (keyword === 'oneOf') exclusive.set(place, plain)
      const at = below(place, keyword)
      return listOf(plain, keyword, place).map((part, i) => ({ schema: part, place: below(at, i) }))
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
 * Refuses a 'oneOf' of which two alternatives may hold at once, as far as a cheap rule can tell: apart are different types,
 * different constants, and objects with different constants in a property that all of them require.
 */
export const checkApart = (schema: Schema, place: string, { at }: Alternatives): void => {
  const oneOf = below(place, 'oneOf')
  const byKind = new Map<string, Branch[]>()
  const branches = listOf(schema, 'oneOf', place).map((part, i) => at(part, below(oneOf, i)))
  for (const [branch, alternatives] of branches.entries())
    for (const alternative of alternatives)
      for (const kind of kindsOf(alternative)) {
        const group = byKind.get(kind)
        if (group === undefined) byKind.set(kind, [{ branch, alternative }])
        else group.push({ branch, alternative })
      }
  const apart = byKind.has('any') ? branches.length === 1 : [...byKind.values()].every(areApart)
  if (apart && branches.every(({ length }) => length > 0)) return
  throw schemaFault(
    oneOf,
    `two alternatives may hold at once, which 'oneOf' forbids: tell them apart by 'type' or by a 'const' in a property that all of them require, or say 'anyOf'.`,
  )
}

interface Branch {
  readonly branch: number
  readonly alternative: Alternative
}

const kindsOf = ({ schema, place, type }: Alternative): ReadonlySet<string> => {
  const types = type === 'constant' ? constantsOf(schema, place).map((value) => typeOf(JSON.parse(value))) : [type]
  return new Set(types.map((one) => (one === 'integer' ? 'number' : (one ?? 'any'))))
}

const areApart = (group: readonly Branch[]): boolean => {
  if (new Set(group.map(({ branch }) => branch)).size === 1) return true
  const constants = group.map(({ alternative }) => requiredConstants(alternative.schema))
  return [...constants[0]!.keys()].some((key) => {
    const owners = new Map<string, number>()
    return group.every(({ branch }, i) =>
      constants[i]!.get(key)?.every((value) => {
        const owner = owners.get(value) ?? branch
        owners.set(value, owner)
        return owner === branch
      }),
    )
  })
}

/** The constants that a value must be, under '', or must have in a property, under its name behind a slash. */
const requiredConstants = (schema: Schema): ReadonlyMap<string, readonly string[]> => {
  const found = new Map<string, readonly string[]>()
  const add = (key: string, one: unknown): void => {
    if (!isSchema(one)) return
    const values = one.const !== undefined ? [one.const] : Array.isArray(one.enum) ? one.enum : []
    // Equal objects may be written in different ways.
    const plain = values.length > 0 && values.every((value) => value === null || typeof value !== 'object')
    if (plain)
      found.set(
        key,
        values.map((value) => JSON.stringify(value)),
      )
  }
  add('', schema)
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  if (isSchema(schema.properties))
    for (const [name, inner] of Object.entries(schema.properties)) if (required.has(name)) add(`/${name}`, inner)
  return found
}

/**
 * Alternatives whose texts begin alike, together: all arrays, and all objects unless each has a first property that is required
 * and differs from the others' by its name or its constants.
 */
export const alike = (alternatives: readonly Alternative[]): readonly (readonly Alternative[])[] => {
  const arrays = alternatives.filter(({ type }) => type === 'array')
  const objects = alternatives.filter(({ type }) => type === 'object')
  const openings = new Map<string, Set<string>>()
  const differs = ({ schema }: Alternative): boolean => {
    const [first] = Object.keys(isSchema(schema.properties) ? schema.properties : {})
    if (first === undefined || !Array.isArray(schema.required) || !schema.required.includes(first)) return false
    const values = requiredConstants(schema).get(`/${first}`) ?? []
    const others = openings.get(first)
    openings.set(first, new Set([...values, ...(others ?? [])]))
    if (others === undefined) return true
    return values.length > 0 && others.size > 0 && values.every((value) => !others.has(value))
  }
  return [arrays, ...(objects.every(differs) ? objects.map((one) => [one]) : [objects])]
}
