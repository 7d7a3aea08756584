import { constantNode } from './constant-grammar.ts'
import { choice, type GrammarNode, sequence, text } from './grammar.ts'
import { anyObject, anyString, anyValue, bracketed, list, space } from './json-nodes.ts'
import type { StringPatterns } from './pattern/string-patterns.ts'
import { below, countAt, isSchema, type Schema, schemaFault, shown } from './schema-fault.ts'
import { patternNode, stringNode } from './string-grammar.ts'

type Compile = (schema: unknown, place: string) => GrammarNode

/** An object without named properties: all its values are under one schema, and all its names, too. */
export const mapNode = (schema: Schema, place: string, compile: Compile, patterns: StringPatterns): GrammarNode => {
  const min = countAt(schema, 'minProperties', place) ?? 0
  const max = countAt(schema, 'maxProperties', place) ?? null
  // A model may write a name twice, which then counts once.
  if (min > 1) throw schemaFault(below(place, 'minProperties'), `stands more than 1: name the properties instead.`)
  if (max !== null && max < min) throw schemaFault(below(place, 'maxProperties'), `stands less than 'minProperties'.`)
  const byPattern = onePattern(schema, place, patterns)
  const values = byPattern?.values ?? schema.additionalProperties ?? true
  const namesAt = below(place, 'propertyNames')
  if (values === false || schema.propertyNames === false || max === 0) return empty(min, place)
  if (byPattern !== null && schema.propertyNames !== undefined)
    throw schemaFault(namesAt, `'patternProperties' stands beside it: leave one out.`)
  const names = byPattern?.names ?? nameNode(schema.propertyNames ?? true, namesAt, patterns)
  if (values === true && names === anyString && min === 0 && max === null) return anyObject
  const valuesAt = byPattern?.place ?? below(place, 'additionalProperties')
  const member = sequence(names, text(':'), space, values === true ? anyValue : compile(values, valuesAt))
  const members = sequence(list(member, 1, max), space)
  return bracketed('{', min === 0 ? choice(text(''), members) : members, '}')
}

const empty = (min: number, place: string): GrammarNode => {
  if (min > 0) throw schemaFault(below(place, 'minProperties'), 'stands more than the object may hold.')
  return text('{}')
}

const onePattern = (schema: Schema, place: string, patterns: StringPatterns) => {
  if (schema.patternProperties === undefined) return null
  const at = below(place, 'patternProperties')
  if (!isSchema(schema.patternProperties)) throw schemaFault(at, 'stands no object of schemas.')
  const [first, ...others] = Object.entries(schema.patternProperties)
  if (first === undefined) return null
  // A name that two patterns are found in would have to do for both.
  if (others.length > 0) throw schemaFault(at, 'stand several patterns; only one is supported.')
  const [pattern, values] = first
  const valuesAt = below(at, pattern)
  return { values, names: patternNode(pattern, { min: 0, max: null }, valuesAt, patterns), place: valuesAt }
}

const nameNode = (schema: unknown, place: string, patterns: StringPatterns): GrammarNode => {
  if (schema === true) return anyString
  if (!isSchema(schema)) throw schemaFault(place, `stands ${shown(schema)}; a schema is an object or true.`)
  const kept = schema.enum === undefined ? NAME_KEYWORDS : LISTED_NAME_KEYWORDS
  const other = Object.keys(schema).find((keyword) => !kept.includes(keyword))
  if (other !== undefined) throw schemaFault(below(place, other), `stands a keyword that names cannot be held to.`)
  if (schema.type !== undefined && schema.type !== 'string')
    throw schemaFault(below(place, 'type'), `stands ${shown(schema.type)}; names are strings.`)
  return schema.enum === undefined
    ? stringNode(schema, place, patterns)
    : constantNode({ type: 'string', enum: schema.enum }, place)
}

const NAME_KEYWORDS: readonly string[] = ['type', 'pattern', 'minLength', 'maxLength', 'format']
const LISTED_NAME_KEYWORDS: readonly string[] = ['type', 'enum']
