import type { FastifySchemaCompiler } from 'fastify'
import { type Static, type TSchema, Unsafe } from 'typebox'
import { Compile } from 'typebox/compile'
import Format from 'typebox/format'
import { Value } from 'typebox/value'
import { badRequest } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { findOversizedValue } from './bounds.ts'
import type { SchemaParts } from './schema-parts.ts'
import { formatValidationErrors, type Part } from './validation-errors.ts'

// RFC 3339 allows leap seconds, and RFC 9557 a zone name after the time; neither a Date nor the database can represent them.
const isDateTime = Format.IsDateTime
Format.Set('date-time', (text) => isDateTime(text) && !Number.isNaN(Date.parse(text)))

/** Marks the schema of a body that may be absent; omitted from the API document. */
export const OPTIONAL_BODY = 'x-optional-body'

/** A request that does not match its route's schema; sent as bad_request with this message. */
export class InvalidRequest extends Error {
  override readonly name = 'InvalidRequest'
  // Set by Fastify.
  statusCode = 400
  validationContext: string | undefined
}

type Outcome = { readonly value: unknown } | { readonly error: InvalidRequest }
type Validator = (data: unknown) => Outcome

/** The schema of an optional body; without a body, the handler gets undefined. */
export const optionalBody = <S extends TSchema>(schema: S) =>
  Unsafe<Static<S> | undefined>({ ...schema, [OPTIONAL_BODY]: true })

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i

const toNumber = (text: string): number | string => {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(value) ? value : text
}

/** Integers beyond 2^53 would be rounded silently, so they stay text and the validator rejects them. */
const toInteger = (text: string): number | string => {
  const value = toNumber(text)
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER ? text : value
}

const toBoolean = (text: string): boolean | string => (text === 'true' ? true : text === 'false' ? false : text)

const coerceAs = (type: string | undefined, text: string): unknown => {
  if (type === 'integer') return toInteger(text)
  if (type === 'number') return toNumber(text)
  if (type === 'boolean') return toBoolean(text)
  return text
}

const coerceText = (schema: SchemaParts, text: string): unknown => {
  const options = schema.const !== undefined ? [schema.const] : schema.enum
  if (options !== undefined) return options.find((option) => String(option) === text) ?? text
  const attempts =
    schema.anyOf?.map((branch) => coerceText(branch, text)) ?? [schema.type].flat().map((type) => coerceAs(type, text))
  return attempts.find((value) => value !== text) ?? text
}

const coerceValue = (schema: SchemaParts, value: unknown): unknown => {
  if (schema.type === 'array') {
    const { items = {} } = schema
    return [value].flat().map((item) => (typeof item === 'string' ? coerceText(items, item) : item))
  }
  return typeof value === 'string' ? coerceText(schema, value) : value
}

/**
 * Converts the text of query, path and form fields to the numbers and booleans in their schema. Text that is not such a value
 * ('', 'NaN', '1e999') stays as it is, so that the validator reports it.
 */
const coerceFields = (schema: object, fields: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const { properties = {} } = schema as SchemaParts
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const property = ownEntry(properties, name)
      return [name, property === undefined ? value : coerceValue(property, value)]
    }),
  )
}

const hasDefaults = (schema: unknown): boolean =>
  typeof schema === 'object' &&
  schema !== null &&
  (Object.hasOwn(schema, 'default') || Object.values(schema).some(hasDefaults))

const validatorOf = (part: Part, schema: TSchema): Validator => {
  const compiled = Compile(schema)
  const coerces = part === 'querystring' || part === 'params' || part === 'form'
  const defaults = hasDefaults(schema)
  const optional = part === 'body' && Object.hasOwn(schema, OPTIONAL_BODY)

  return (data) => {
    if (optional && (data === null || data === undefined)) return { value: undefined }
    let value = coerces ? coerceFields(schema, data as Record<string, unknown>) : data
    if (defaults) value = Value.Default(schema, value)
    if (compiled.Check(value)) return { value }
    const long = findOversizedValue(schema, value)
    const errors = long === null ? compiled.Errors(value) : [long]
    return { error: new InvalidRequest(formatValidationErrors(part, schema, value, errors)) }
  }
}

/**
 * Bodies are not converted: '5' is not 5. Paths and queries contain only text, which is converted to the schema's types.
 * Defaults are filled in everywhere.
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const part = (httpPart ?? 'body') as Part
  return (data) => validate(part, schema, data)
}

const validators = new WeakMap<TSchema, Map<Part, Validator>>()

/** Each schema is compiled once per process, on first use. */
const validate: (part: Part, schema: TSchema, data: unknown) => Outcome = (part, schema, data) => {
  let ofParts = validators.get(schema)
  if (ofParts === undefined) validators.set(schema, (ofParts = new Map()))
  let validator = ofParts.get(part)
  if (validator === undefined) ofParts.set(part, (validator = validatorOf(part, schema)))
  return validator(data)
}

/** Converts the text fields of a multipart form to the typed values of `schema`. Throws bad_request naming invalid ones. */
export const parseFields = <S extends TSchema>(schema: S, fields: Readonly<Record<string, string>>): Static<S> => {
  const outcome = validate('form', schema, fields)
  if ('error' in outcome) throw badRequest(outcome.error.message)
  return outcome.value as Static<S>
}
