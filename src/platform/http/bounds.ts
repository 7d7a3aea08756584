import type { TLocalizedValidationError } from 'typebox/error'
import { pointerTo } from '../../domain/json-pointer.ts'
import type { SchemaParts } from './schema-parts.ts'

const exceededBound = (schema: SchemaParts, value: unknown): 'maxLength' | 'maxItems' | 'maxProperties' | null => {
  // A character has at most two UTF-16 code units.
  if (typeof value === 'string') return value.length > 2 * (schema.maxLength ?? value.length) ? 'maxLength' : null
  if (Array.isArray(value)) return value.length > (schema.maxItems ?? value.length) ? 'maxItems' : null
  if (typeof value !== 'object' || value === null || schema.maxProperties === undefined) return null
  return Object.keys(value).length > schema.maxProperties ? 'maxProperties' : null
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value)

/**
 * Returns the first value that is longer than its schema allows, as an error of the validator; null if there is none. Collecting
 * all errors evaluates every keyword and every item of a long array, and `uniqueItems` takes quadratic time.
 */
export const findOversizedValue = (
  schema: SchemaParts,
  value: unknown,
  schemaPath = '#',
  instancePath = '',
): TLocalizedValidationError | null => {
  const place = { schemaPath, instancePath, message: '' }
  const keyword = exceededBound(schema, value)
  if (keyword !== null) return { ...place, keyword, params: { limit: schema[keyword]! } }

  const { anyOf = [], items, properties = {} } = schema
  const isRefused = (branch: SchemaParts): boolean =>
    findOversizedValue(branch, value) !== null || (branch.type !== undefined && branch.type !== typeOf(value))
  if (anyOf.some((branch) => findOversizedValue(branch, value) !== null) && anyOf.every(isRefused))
    return { ...place, keyword: 'anyOf', params: {} }

  if (typeof value !== 'object' || value === null) return null
  if (Array.isArray(value)) {
    if (items === undefined) return null
    for (const [index, item] of value.entries()) {
      const found = findOversizedValue(items, item, `${schemaPath}/items`, `${instancePath}/${index}`)
      if (found !== null) return found
    }
    return null
  }
  for (const [name, property] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name)) continue
    const inner = (value as Readonly<Record<string, unknown>>)[name]
    const found = findOversizedValue(
      property,
      inner,
      pointerTo(`${schemaPath}/properties`, name),
      pointerTo(instancePath, name),
    )
    if (found !== null) return found
  }
  return null
}
