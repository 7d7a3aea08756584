import { pointerTo } from '../../domain/json-pointer.ts'
import { type Schema, schemaFault, shown } from './schema-fault.ts'

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'] as const
export type SchemaType = (typeof TYPES)[number]

/** Returns the types of a schema. Without 'type', the keywords imply them; null if they do not. */
export const typesOf = (schema: Schema, place: string): readonly SchemaType[] | null => {
  const { type } = schema
  if (type === undefined) return impliedType(schema)
  const types = Array.isArray(type) ? type : [type]
  if (types.length > 0 && types.every((name): name is SchemaType => TYPES.includes(name))) return [...new Set(types)]
  throw schemaFault(pointerTo(place, 'type'), `got ${shown(type)}; the known types are ${TYPES.join(', ')}.`)
}

const impliedType = (schema: Schema): readonly SchemaType[] | null => {
  const has = (...keywords: readonly string[]) => keywords.some((keyword) => schema[keyword] !== undefined)
  if (has('properties', 'required', 'additionalProperties')) return ['object']
  if (has('items', 'prefixItems', 'minItems', 'maxItems')) return ['array']
  if (has('minLength', 'maxLength', 'pattern', 'format')) return ['string']
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) return ['number']
  return null
}

/** Returns the narrowest type. */
export const typeOf = (value: unknown): SchemaType => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'string' || typeof value === 'boolean' ? (typeof value as SchemaType) : 'object'
}
