import type { FastifySchema, RouteOptions } from 'fastify'
import type { TObject, TSchema } from 'typebox'
import { type ErrorCode, STATUS_OF } from '../../domain/errors.ts'
import { type Components, EXTENSION } from './openapi-components.ts'
import type { RouteConfig } from './route-config.ts'
import { OPTIONAL_BODY } from './validation.ts'
import { Body } from './wire.schema.ts'

const MEANING: Readonly<Record<ErrorCode, string>> = {
  bad_request: 'A field of the request is missing or invalid',
  authorization_pending: 'Nobody has approved or denied the sign-in yet',
  slow_down: 'The request came too early; add 5 s to the interval',
  expired_token: 'The code of the sign-in is unknown, used, or expired',
  access_denied: 'The sign-in was denied',
  unauthorized: 'The API key is missing or invalid',
  forbidden: 'The API key is not allowed to do this',
  not_found: 'The resource does not exist',
  conflict:
    'The resource already exists, its state does not allow this, or something that the request refers to was deleted in the meantime',
  expectation_failed: 'The Expect header asks for something other than 100-continue',
  rate_limited: 'Too many requests; retry after the number of seconds in the Retry-After header',
  internal_error: 'Unexpected server error',
  upstream_failed: 'The upstream server (for inference or sign-in) does not respond, or its response is invalid',
  upstream_busy:
    'The queue of the inference server is full; retry after the number of seconds in the Retry-After header',
  unavailable:
    'The database or the file storage does not respond, or too many passwords are being checked; retry after the number of seconds in the Retry-After header',
  upstream_timeout: 'The upstream server (for inference or sign-in) sent nothing for too long',
  insufficient_storage: "The service's disk is full; nothing was stored",
}

const ErrorBody = Body(
  'Error',
  'What went wrong, and what to do about it',
  {
    error: 'not_found',
    message: "Device 'pixel-8-0043' does not exist, or this key has no access to it.",
    status_code: 404,
  },
  {
    error: { type: 'string', enum: Object.keys(STATUS_OF), description: 'Machine-readable code' },
    message: { type: 'string', description: 'Human-readable message' },
    status_code: { type: 'integer', description: 'The HTTP status' },
  } as unknown as TObject['properties'],
)

const takesInput = (schema: FastifySchema, { form }: RouteConfig): boolean =>
  form !== undefined || schema.body !== undefined || schema.querystring !== undefined || schema.params !== undefined

/** Returns the errors that a route may respond with, ordered by status. */
const errorsOf = ({ schema = {}, method }: RouteOptions, config: RouteConfig): ErrorCode[] => {
  const { access, errors = [], rateLimit } = config
  const codes = new Set<ErrorCode>([...errors, 'internal_error'])
  if (!errors.includes('upstream_busy')) {
    codes.add('unavailable')
    // Any write can also refer to something that another request has just deleted.
    if (method !== 'GET') codes.add('insufficient_storage').add('conflict')
  }
  if (takesInput(schema, config)) codes.add('bad_request')
  if (access !== 'public') codes.add('unauthorized')
  // Even with any key: sessions that must first enroll a second factor or confirm their identity are refused.
  if (access !== 'public' && (access !== 'any-key' || !config.whileRestricted)) codes.add('forbidden')
  if (rateLimit !== false) codes.add('rate_limited')
  return [...codes].sort((a, b) => STATUS_OF[a] - STATUS_OF[b])
}

const RETRY_AFTER = {
  'Retry-After': { schema: { type: 'integer' }, description: 'Seconds until another request is accepted' },
}

/** `not_found` -> `NotFound`. */
const pascal = (code: string): string => code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())

const errorContent = (components: Components): object => ({
  'application/json': { schema: components.schema(ErrorBody) },
})

const errorResponse = (code: ErrorCode, components: Components): unknown =>
  components.response(pascal(code), {
    description: MEANING[code],
    ...(['rate_limited', 'unavailable', 'upstream_busy'].includes(code) && { headers: RETRY_AFTER }),
    content: errorContent(components),
  })

const parametersOf = (place: string, declared: unknown, components: Components, known?: string): unknown[] => {
  const { properties = {}, required = [] } = (declared ?? {}) as Partial<TObject>
  return Object.entries(properties).map(([name, schema]) =>
    components.parameter(
      schema as never,
      {
        name,
        in: place,
        // A field with a default always exists for the route, but clients need not send it.
        required: (required as readonly string[]).includes(name) && !Object.hasOwn(schema, 'default'),
      },
      known?.split(' ').includes(name) === false,
    ),
  )
}

/** A multipart body: one file, further files if the route accepts them, and the form's text fields. */
const formBody = (form: TObject, { fileIsOptional, furtherFiles = {} }: RouteConfig): object => {
  const binary = { type: 'string', format: 'binary' }
  const further = Object.entries(furtherFiles).map(([name, description]) => [name, { ...binary, description }])
  return {
    ...form,
    properties: { file: binary, ...Object.fromEntries(further), ...form.properties },
    required: [...(fileIsOptional ? [] : ['file']), ...(form.required ?? [])],
  }
}

const contentOf = (types: readonly string[] | undefined, schema: unknown): object =>
  Object.fromEntries((types ?? ['application/json']).map((type) => [type, { schema }]))

const requestBodyOf = (schema: FastifySchema, config: RouteConfig, components: Components): object => {
  const body = config.form === undefined ? (schema.body as object | undefined) : formBody(config.form, config)
  if (body === undefined) return {}
  const content = contentOf(schema.consumes, components.schema(body))
  return { requestBody: { required: !(OPTIONAL_BODY in body), content } }
}

/** A response that the route declares itself. Its type is null if it has only headers, or is an error. */
const responseOf = (
  [status, response]: [string, TSchema],
  produces: readonly string[] | undefined,
  components: Components,
): object => {
  const { type, description = 'Success', headers } = response as Readonly<Record<string, unknown>>
  if (Number(status) >= 400) return { description, content: errorContent(components) }
  return {
    description,
    ...(headers !== undefined && { headers }),
    ...(type !== 'null' && status !== '204' && { content: contentOf(produces, components.schema(response)) }),
  }
}

/**
 * Describes one route as an operation of the API document; adds its schemas, parameters and errors to `components`. `known`
 * contains the contract's operations with their query parameters.
 */
export const operationOf = (
  options: RouteOptions,
  components: Components,
  known?: Readonly<Record<string, string>>,
): object => {
  const { schema = {}, config } = options
  const route = config as unknown as RouteConfig
  const { operationId, summary, description, tags } = schema
  const parameters = [
    ...parametersOf('path', schema.params, components),
    ...parametersOf('query', schema.querystring, components, known?.[operationId ?? '']),
    ...parametersOf('header', schema.headers, components),
  ]
  const responses = Object.entries((schema.response ?? {}) as Readonly<Record<string, TSchema>>)
  return {
    ...{ operationId, summary, description, tags },
    ...(known !== undefined && known[operationId ?? ''] === undefined && EXTENSION),
    ...(route.access === 'public' && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...requestBodyOf(schema, route, components),
    responses: {
      ...Object.fromEntries(
        responses.map((response) => [response[0], responseOf(response, schema.produces, components)]),
      ),
      ...Object.fromEntries(errorsOf(options, route).map((code) => [STATUS_OF[code], errorResponse(code, components)])),
    },
  }
}
