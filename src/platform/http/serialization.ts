import fastJson from 'fast-json-stringify'
import type { FastifySerializerCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import type { SchemaParts } from './schema-parts.ts'

type Serializer = (data: unknown) => string

const serializers = new WeakMap<TSchema, Serializer>()

/**
 * Serializes responses with the fields in their schema. Each schema is compiled once per process, on first use: compiling all
 * of them at once took most of the start time. NaN and infinities become null, so that one number never makes a whole list
 * unreadable.
 */
export const compileSerializer: FastifySerializerCompiler<TSchema> = ({ schema }) => {
  return (data) => {
    let serialize = serializers.get(schema)
    if (serialize === undefined) {
      serialize = fastJson(withNullable(schema) as fastJson.AnySchema) as Serializer
      serializers.set(schema, serialize)
    }
    try {
      return serialize(data)
    } catch (error) {
      // Only failed data is searched for such numbers; other faults remain errors.
      if (!hasNonFinite(data)) throw error
      return JSON.stringify(named(schema, data))
    }
  }
}

/**
 * Returns the schema with `nullable` in place of unions of a type and null. fast-json-stringify compiles a validator for each
 * branch of a union, which takes ten times as long as the rest, and validates each value that it serializes.
 */
const withNullable = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(withNullable)
  if (!isObject(schema)) return schema
  const { anyOf, ...others } = schema as SchemaParts
  const [type, ...more] = anyOf?.filter((branch) => branch.type !== 'null') ?? []
  if (type !== undefined && more.length === 0) return { ...others, ...(withNullable(type) as object), nullable: true }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, withNullable(value)]))
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const hasNonFinite = (value: unknown): boolean =>
  typeof value === 'number' ? !Number.isFinite(value) : isObject(value) && Object.values(value).some(hasNonFinite)

/** Returns the parts of the data that its schema names; `JSON.stringify` writes null for NaN and infinities. */
const named = (shape: SchemaParts, value: unknown): unknown => {
  if (!isObject(value)) return value
  const one = shape.anyOf?.find(({ type }) => type !== 'null') ?? shape
  if (Array.isArray(value)) return value.map((item) => named(one.items ?? {}, item))
  const { properties, patternProperties } = one
  // Records and free objects name no fields, so all of theirs are sent.
  const [others] = Object.values(patternProperties ?? {})
  const fields = Object.entries(value).filter(([key]) => properties === undefined || Object.hasOwn(properties, key))
  return Object.fromEntries(fields.map(([key, item]) => [key, named(properties?.[key] ?? others ?? {}, item)]))
}
