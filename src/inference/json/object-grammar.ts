import { choice, type GrammarNode, rule, sequence, text } from './grammar.ts'
import { anyValue, bracketed, space } from './json-nodes.ts'
import { below, countAt, isSchema, type Schema, schemaFault } from './schema-fault.ts'

/**
 * An object with named properties, in the order of the schema: required ones always, the others at will, and never those
 * whose schema is false. Each property has two
 * rules, for what follows from it on when nothing was written yet and when a comma is due, so that the grammar stays linear.
 */
export const objectNode = (
  schema: Schema,
  place: string,
  rules: Map<string, GrammarNode>,
  compile: (schema: unknown, place: string) => GrammarNode,
): GrammarNode => {
  const properties = propertiesOf(schema, place)
  const required = requiredOf(schema, place)
  checkPatterns(schema, place, [...properties.keys(), ...required])
  for (const [name, value] of properties) if (value === false && !required.has(name)) properties.delete(name)
  for (const name of required)
    if (!properties.has(name)) {
      if (schema.additionalProperties === false)
        throw schemaFault(below(place, 'required'), `stands '${name}', which 'additionalProperties': false forbids.`)
      properties.set(name, schema.additionalProperties ?? true)
    }
  checkCount(schema, place, required.size, properties.size)
  const prefix = `object-${rules.size}`
  rules.set(prefix, text(''))
  let first: GrammarNode = text('')
  let later: GrammarNode = space
  for (const [index, [name, value]] of [...[...properties].entries()].reverse()) {
    const inner = isSchema(schema.properties) && Object.hasOwn(schema.properties, name)
    const at = inner ? below(below(place, 'properties'), name) : below(place, 'additionalProperties')
    const valueRule = `${prefix}-${index}`
    rules.set(valueRule, value === true ? anyValue : compile(value, at))
    const member = sequence(text(`${JSON.stringify(name)}:`), space, rule(valueRule))
    const after = named(rules, `${prefix}-${index}-then`, later)
    const started = sequence(member, after)
    const followed = sequence(text(','), space, member, after)
    const needed = required.has(name)
    first = needed ? started : choice(named(rules, `${prefix}-${index}-first`, first), started)
    later = needed ? followed : choice(after, followed)
  }
  rules.set(prefix, bracketed('{', first, '}'))
  return rule(prefix)
}

const named = (rules: Map<string, GrammarNode>, name: string, node: GrammarNode): GrammarNode => {
  rules.set(name, node)
  return rule(name)
}

/** Names that a pattern finds would have to do for its schema, too; beside the named ones no others are written. */
const checkPatterns = (schema: Schema, place: string, names: readonly string[]): void => {
  for (const keyword of ['patternProperties', 'propertyNames'])
    if (schema[keyword] !== undefined && (keyword === 'propertyNames' || names.length > 0))
      throw schemaFault(below(place, keyword), `'properties' or 'required' stand beside it: say all with one of them.`)
}

const checkCount = (schema: Schema, place: string, needed: number, possible: number): void => {
  if ((countAt(schema, 'minProperties', place) ?? 0) > needed)
    throw schemaFault(below(place, 'minProperties'), `stands more than the properties that are 'required'.`)
  if ((countAt(schema, 'maxProperties', place) ?? possible) < possible)
    throw schemaFault(below(place, 'maxProperties'), `stands less than the properties that there are.`)
}

const propertiesOf = (schema: Schema, place: string): Map<string, unknown> => {
  if (schema.properties === undefined) return new Map()
  if (!isSchema(schema.properties)) throw schemaFault(below(place, 'properties'), 'stands no object of schemas.')
  return new Map(Object.entries(schema.properties))
}

const requiredOf = (schema: Schema, place: string): ReadonlySet<string> => {
  const required = schema.required ?? []
  if (Array.isArray(required) && required.every((name) => typeof name === 'string')) return new Set(required)
  throw schemaFault(below(place, 'required'), 'stands no list of names.')
}
