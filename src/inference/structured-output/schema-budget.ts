import { isObject } from '../../domain/is-object.ts'
import { InferenceError } from '../errors.ts'
import type { Schema } from './schema-fault.ts'

/** The limits of OpenAI's structured outputs. */
const MAX_PROPERTIES = 5000
export const MAX_DEPTH = 10
const MAX_CONSTANTS = 1000
export const MAX_CHARACTERS = 120_000

/** Keywords with schemas on the next level: one, a list, or a map by name. */
const INNER: readonly string[] = ['items', 'additionalProperties', 'prefixItems', 'properties']
/** Keywords with schemas on the same level, or with definitions. */
const SAME_LEVEL: readonly string[] = ['anyOf', 'oneOf', 'allOf', '$defs', 'definitions']
const KEYWORDS: readonly string[] = [...INNER, ...SAME_LEVEL]
const NAMED: readonly string[] = ['properties', '$defs', 'definitions']

/**
 * Refuses a schema that exceeds OpenAI's limits, by walking the original JSON before any other work.
 * @returns all schemas that were counted
 * @throws InferenceError unsupported that names the limit and the count
 */
export const checkBudget = (root: Schema): ReadonlySet<unknown> => {
  const counted = new Set<unknown>()
  const count = { properties: 0, depth: 0, constants: 0, characters: 0 }
  const waiting: { readonly schema: unknown; readonly depth: number }[] = [{ schema: root, depth: 0 }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { schema, depth } = next
    if (!isObject(schema)) continue
    counted.add(schema)
    count.depth = Math.max(count.depth, depth)
    if (isObject(schema.properties)) count.properties += Object.keys(schema.properties).length
    const constants: unknown[] = Array.isArray(schema.enum) ? schema.enum : 'const' in schema ? [schema.const] : []
    count.constants += constants.length
    if (count.constants <= MAX_CONSTANTS)
      for (const value of constants) count.characters += (JSON.stringify(value) ?? '').length
    for (const keyword of KEYWORDS) {
      const value = schema[keyword]
      if (typeof value !== 'object') continue
      const named = NAMED.includes(keyword) && isObject(value)
      if (named) for (const name of Object.keys(value)) count.characters += name.length
      const schemas = named || Array.isArray(value) ? Object.values(value) : [value]
      const inner = INNER.includes(keyword) ? depth + 1 : depth
      for (const each of schemas) waiting.push({ schema: each, depth: inner })
    }
  }
  refuseBeyond(count.properties, MAX_PROPERTIES, 'properties')
  refuseBeyond(count.depth, MAX_DEPTH, 'levels of nesting')
  refuseBeyond(count.constants, MAX_CONSTANTS, "values of 'enum' and 'const' in total")
  refuseBeyond(count.characters, MAX_CHARACTERS, 'characters of names and values in total')
  return counted
}

const refuseBeyond = (count: number, limit: number, what: string): void => {
  if (count <= limit) return
  throw new InferenceError(
    'unsupported',
    `The JSON schema is too large: it has ${count} ${what}, and at most ${limit} are supported. Make it smaller.`,
    { param: 'response_format' },
  )
}
