import { isObject } from '../../domain/is-object.ts'
import { pointerTo } from '../../domain/json-pointer.ts'
import { MAX_REPETITIONS } from './gbnf.ts'
import { choice, type GrammarNode, sequence, text } from './grammar.ts'
import { anyArray, anyObject, anyString, anyValue, bracketed, list, space } from './json-nodes.ts'
import { countAt, type Schema, schemaFault } from './schema-fault.ts'

/** What objects and arrays need from the schema compiler. */
export interface Inner {
  /** Compiles the schema at that place. */
  readonly value: (schema: unknown, place: string) => GrammarNode
  /** Moves a node that is used in several places to a named rule. */
  readonly named: (node: GrammarNode) => GrammarNode
}

/** Each is a separate reading until a name is written, and every reading is checked against the whole vocabulary. */
const MAX_OPTIONAL = 100

/**
 * Matches an object with named properties in the order of the schema: required ones always, others optionally, and never those
 * with the schema false. Without names it is a map.
 */
export const objectNode = (schema: Schema, place: string, inner: Inner): GrammarNode => {
  const properties = propertiesOf(schema, place)
  const required = requiredOf(schema, place)
  if (schema.properties === undefined && required.size === 0) return mapNode(schema, place, inner)
  for (const [name, value] of properties) if (value === false && !required.has(name)) properties.delete(name)
  for (const name of required) {
    if (properties.has(name)) continue
    if (schema.additionalProperties === false)
      throw schemaFault(
        pointerTo(place, 'required'),
        `requires '${name}', which 'additionalProperties': false forbids.`,
      )
    properties.set(name, schema.additionalProperties ?? true)
  }
  const members = [...properties].map(([name, value]) => {
    const isNamed = isObject(schema.properties) && Object.hasOwn(schema.properties, name)
    const at = isNamed ? pointerTo(pointerTo(place, 'properties'), name) : pointerTo(place, 'additionalProperties')
    return {
      required: required.has(name),
      parts: [text(`${JSON.stringify(name)}:`), space, inner.value(value, at)],
    }
  })
  checkOptional(members, place)
  return bracketed('{', membersNode(members, inner), '}')
}

interface Member {
  readonly required: boolean
  readonly parts: readonly GrammarNode[]
}

/**
 * Builds members from last to first: `backwards` is what may follow a member, last part first. Parts used in two places get a
 * name, so that the grammar stays linear.
 */
const membersNode = (members: readonly Member[], { named }: Inner): GrammarNode => {
  let backwards: GrammarNode[] = []
  let mayEnd = true
  for (const member of [...members].reverse()) {
    const others = member.required || backwards.length === 0 ? null : named(forwards(backwards))
    if (others !== null) backwards = [others]
    if (backwards.length === 0) backwards = [space]
    else if (mayEnd) backwards = [choice(space, sequence(text(','), space, forwards(backwards)))]
    else backwards.push(space, text(','))
    backwards.push(...[...member.parts].reverse())
    mayEnd &&= !member.required
    if (others !== null) backwards = [choice(forwards(backwards), others)]
  }
  return mayEnd && members.length > 0 ? choice(text(''), forwards(backwards)) : forwards(backwards)
}

const forwards = (backwards: readonly GrammarNode[]): GrammarNode =>
  backwards.length === 1 ? backwards[0]! : sequence(...[...backwards].reverse())

const checkOptional = (members: readonly Member[], place: string): void => {
  let run = 0
  for (const { required } of members) {
    run = required ? 0 : run + 1
    if (run > MAX_OPTIONAL)
      throw schemaFault(
        pointerTo(place, 'properties'),
        `more than ${MAX_OPTIONAL} optional properties in a row. List them in 'required'; a value may be null.`,
      )
  }
}

/** Matches a map, with one schema for all values. */
const mapNode = (schema: Schema, place: string, { value }: Inner): GrammarNode => {
  const values = schema.additionalProperties ?? true
  if (values === true) return anyObject
  if (values === false) return text('{}')
  const member = sequence(anyString, text(':'), space, value(values, pointerTo(place, 'additionalProperties')))
  return bracketed('{', choice(text(''), sequence(list(member, 1, null), space)), '}')
}

const propertiesOf = (schema: Schema, place: string): Map<string, unknown> => {
  if (schema.properties === undefined) return new Map()
  if (!isObject(schema.properties)) throw schemaFault(pointerTo(place, 'properties'), 'expected an object of schemas.')
  return new Map(Object.entries(schema.properties))
}

const requiredOf = (schema: Schema, place: string): ReadonlySet<string> => {
  const required = schema.required ?? []
  if (Array.isArray(required) && required.every((name) => typeof name === 'string')) return new Set(required)
  throw schemaFault(pointerTo(place, 'required'), 'expected a list of names.')
}

/** Matches an array: a list of items, or the fixed items of a tuple. */
export const arrayNode = (schema: Schema, place: string, inner: Inner): GrammarNode => {
  const min = countAt(schema, 'minItems', place) ?? 0
  const requested = countAt(schema, 'maxItems', place) ?? null
  if (requested !== null && requested < min)
    throw schemaFault(pointerTo(place, 'maxItems'), `must be at least 'minItems'.`)
  if (min > MAX_REPETITIONS) throw schemaFault(pointerTo(place, 'minItems'), `must be at most ${MAX_REPETITIONS}.`)
  const max = requested === null ? null : Math.min(requested, MAX_REPETITIONS)
  if (schema.prefixItems !== undefined || Array.isArray(schema.items))
    return tupleNode(schema, place, { min, max: requested }, inner)
  if (schema.items === undefined && min === 0 && max === null) return anyArray
  if (schema.items === false || max === 0) return emptyArray(min, place)
  const item = schema.items === undefined ? anyValue : inner.value(schema.items, pointerTo(place, 'items'))
  return bracketed('[', arrayItems(list(item, Math.max(1, min), max), min === 0), ']')
}

const tupleNode = (
  schema: Schema,
  place: string,
  { min, max }: { readonly min: number; readonly max: number | null },
  { value }: Inner,
): GrammarNode => {
  // `items` in drafts before 2020-12, in which many libraries write their schemas.
  const keyword = schema.prefixItems === undefined ? 'items' : 'prefixItems'
  const first = schema[keyword]
  if (!Array.isArray(first) || first.length === 0)
    throw schemaFault(pointerTo(place, keyword), 'expected a list of schemas.')
  if (min > first.length || (max !== null && max < first.length))
    throw schemaFault(place, `'minItems' must be at most the number of '${keyword}', and 'maxItems' at least that.`)
  const items = first.map((item, i) => value(item, pointerTo(pointerTo(place, keyword), i)))
  const rest = items.slice(1).flatMap((item) => [text(','), space, item])
  return bracketed('[', arrayItems(sequence(items[0]!, ...rest), false), ']')
}

const arrayItems = (items: GrammarNode, mayBeEmpty: boolean): GrammarNode => {
  const some = sequence(items, space)
  return mayBeEmpty ? choice(text(''), some) : some
}

const emptyArray = (min: number, place: string): GrammarNode => {
  if (min > 0) throw schemaFault(pointerTo(place, 'minItems'), 'is more than the array may contain.')
  return text('[]')
}
