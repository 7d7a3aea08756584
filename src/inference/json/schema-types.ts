import { below, isSchema, type Schema, schemaFault, shown } from './schema-fault.ts'

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'] as const
export type SchemaType = (typeof TYPES)[number]

/** Without 'type', the keywords tell; null where they do not either. */
export const typesOf = (schema: Schema, place: string): readonly SchemaType[] | null => {
  const { type } = schema
  if (type === undefined) return impliedType(schema)
  const types = Array.isArray(type) ? type : [type]
  if (types.length > 0 && types.every((name): name is SchemaType => TYPES.includes(name))) return [...new Set(types)]
  throw schemaFault(below(place, 'type'), `stands ${shown(type)}; known are ${TYPES.join(', ')}.`)
}

const impliedType = (schema: Schema): readonly SchemaType[] | null => {
  const has = (...keywords: readonly string[]) => keywords.some((keyword) => schema[keyword] !== undefined)
  if (has('properties', 'required', 'additionalProperties')) return ['object']
  if (has('items', 'prefixItems', 'minItems', 'maxItems')) return ['array']
  if (has('minLength', 'maxLength', 'format')) return ['string']
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum')) return ['number']
  return null
}

/**
 * The types that a value under the schema may have, through references and alternatives; null where that cannot be told.
 * `resolved` follows references; `depth` ends circles of them.
 */
export const possibleTypes = (
  schema: unknown,
  place: string,
  resolved: (schema: unknown) => unknown,
  depth = 8,
): ReadonlySet<SchemaType> | null => {
  if (schema === undefined || depth === 0) return null
  const at = resolved(schema)
  if (!isSchema(at)) return null
  const values = at.const === undefined ? at.enum : [at.const]
  if (Array.isArray(values)) return new Set(values.map(typeOf))
  const parts = at.anyOf ?? at.oneOf ?? at.allOf
  if (!Array.isArray(parts)) {
    const types = typesOf(at, place)
    return types === null ? null : new Set(types)
  }
  const types = new Set<SchemaType>()
  for (const part of parts) {
    const its = possibleTypes(part, place, resolved, depth - 1)
    if (its === null) return null
    for (const type of its) types.add(type)
  }
  return types
}

/** The narrowest. */
export const typeOf = (value: unknown): SchemaType => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'string' || typeof value === 'boolean' ? (typeof value as SchemaType) : 'object'
}
