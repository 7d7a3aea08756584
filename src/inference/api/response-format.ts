import { Type } from 'typebox'
import type { RequestedFormat } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'
import { assertOnly, bodyReader, invalid, isObject } from './request-body.ts'

const JsonSchemaFormat = Type.Object({
  type: Type.Literal('json_schema'),
  json_schema: Type.Object({
    name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
    description: Type.Optional(Type.String()),
    schema: Type.Optional(Type.Object({})),
    strict: Type.Optional(Type.Boolean()),
  }),
})

const readJsonSchema = bodyReader(Type.Object({ response_format: JsonSchemaFormat }))

const withoutNull = (value: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))

/**
 * What the field asks for, or the fallback where it is absent.
 * @throws InferenceError invalid_request or unsupported, with the field as `param`
 */
export const readResponseFormat = (
  format: { readonly type: string } | undefined,
  fallback: RequestedFormat,
): RequestedFormat => {
  if (format === undefined) return fallback
  const { type } = format
  if (type === 'text' || type === 'json_object') {
    assertOnly(
      format,
      'response_format',
      ['type'],
      "A schema goes with the type 'json_schema', in its json_schema.schema.",
    )
    return { type }
  }
  if (type === 'json_schema') {
    assertOnly(format, 'response_format', ['type', 'json_schema'], 'The schema goes into json_schema.schema.')
    const members = withoutNull(format)
    const inner = members.json_schema
    assertOnly(inner, 'response_format.json_schema', ['name', 'description', 'schema', 'strict'])
    if (isObject(inner)) members.json_schema = withoutNull(inner)
    const { name, schema, strict } = readJsonSchema({ response_format: members }).response_format.json_schema
    if (!isObject(schema)) return { type: 'json_object' }
    return { type, schema, name, ...(strict !== undefined && { strict }) }
  }
  throw invalid(
    `response_format.type must be one of text, json_object and json_schema, got '${type.slice(0, 100)}'.`,
    'response_format.type',
  )
}

/** The same for an API in which the format stands elsewhere: errors name its place there. */
export const readFormatAt = (place: string, format: { readonly type: string }): RequestedFormat => {
  const renamed = (text: string): string => text.replaceAll(/response_format(\.json_schema)?/g, place)
  try {
    return readResponseFormat(format, { type: 'text' })
  } catch (error) {
    if (!(error instanceof InferenceError) || error.param === null) throw error
    throw new InferenceError(error.code, renamed(error.message), { param: renamed(error.param) })
  }
}
