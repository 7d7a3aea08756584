import type { FastifySchemaCompiler } from 'fastify'
import { type Static, type TSchema, Unsafe } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import { badRequest } from '../../domain/errors.ts'
import { coerceFields } from './coercion.ts'
import { formatValidationErrors, type Part } from './validation-errors.ts'

/** Marks the schema of a body that may be absent; omitted from the API document. */
export const OPTIONAL_BODY = 'x-optional-body'

/** A request that does not match its route's schema; answered with bad_request and this message. */
export class InvalidRequest extends Error {
  override readonly name = 'InvalidRequest'
  // Fastify writes these two.
  statusCode = 400
  validationContext: string | undefined
}

type Outcome = { readonly value: unknown } | { readonly error: InvalidRequest }
type Validator = (data: unknown) => Outcome

/** The schema of an optional body; without a body, the handler gets undefined. */
export const optionalBody = <S extends TSchema>(schema: S) =>
  Unsafe<Static<S> | undefined>({ ...schema, [OPTIONAL_BODY]: true })

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
    return { error: new InvalidRequest(formatValidationErrors(part, schema, value, compiled.Errors(value))) }
  }
}

/**
 * Bodies are taken as they are: '5' is not 5. Paths and queries carry only text, so theirs is turned into what the
 * schema asks for. Defaults are filled in everywhere.
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

/** The text fields of a multipart form as the typed values of `schema`; bad_request names what does not fit. */
export const parseFields = <S extends TSchema>(schema: S, fields: Readonly<Record<string, string>>): Static<S> => {
  const outcome = validate('form', schema, fields)
  if ('error' in outcome) throw badRequest(outcome.error.message)
  return outcome.value as Static<S>
}
