import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifySchema } from 'fastify'
import type { TObject } from 'typebox'
import { type ErrorCode, STATUS_OF } from '../../domain/errors.ts'
import type { App } from './app.ts'
import type { RouteConfig } from './route-config.ts'
import { OPTIONAL_BODY } from './validation.ts'

const TITLE = 'Tributary'
const DESCRIPTION = 'Device orchestration, model delivery and federated training.'

// The pages come from this server alone, so nothing else may be loaded into them.
const DOCS_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"

const MEANING: Readonly<Record<ErrorCode, string>> = {
  bad_request: 'Invalid or missing request fields',
  unauthorized: 'Missing or invalid API key',
  forbidden: 'The key may not do this',
  not_found: 'The resource does not exist',
  conflict: 'The resource already exists, or its state does not allow this',
  expectation_failed: 'The header Expect asks for something else than 100-continue',
  rate_limited: 'Too many requests; the header Retry-After gives seconds',
  internal_error: 'Unexpected server error',
  insufficient_storage: 'The disk of the service is full; nothing was kept',
}

const errorSchema = {
  $id: 'Error',
  type: 'object',
  required: ['error', 'message', 'status_code'],
  properties: {
    error: { type: 'string', enum: Object.keys(STATUS_OF), description: 'Machine code' },
    message: { type: 'string', description: 'Human-readable text' },
    status_code: { type: 'integer', description: 'HTTP status' },
  },
} as const

const takesInput = (schema: FastifySchema, { form }: RouteConfig): boolean =>
  form !== undefined || schema.body !== undefined || schema.querystring !== undefined || schema.params !== undefined

/** What a route may answer with besides its results, in the order of their status. */
const errorsOf = (schema: FastifySchema, config: RouteConfig): ErrorCode[] => {
  const { access, errors = [], rateLimit } = config
  const codes = new Set<ErrorCode>([...errors, 'internal_error'])
  if (takesInput(schema, config)) codes.add('bad_request')
  if (config.form !== undefined || schema.body !== undefined) codes.add('insufficient_storage')
  if (access !== 'public') codes.add('unauthorized')
  if (access !== 'public' && access !== 'any-key') codes.add('forbidden')
  if (rateLimit !== false) codes.add('rate_limited')
  return [...codes].sort((a, b) => STATUS_OF[a] - STATUS_OF[b])
}

const errorResponses = (codes: readonly ErrorCode[]): Record<string, unknown> =>
  Object.fromEntries(
    codes.map((code) => [
      STATUS_OF[code],
      {
        description: MEANING[code],
        content: { 'application/json': { schema: { $ref: 'Error#' } } },
        ...(code === 'rate_limited' && {
          headers: { 'Retry-After': { type: 'integer', description: 'Seconds until another request fits' } },
        }),
      },
    ]),
  )

/** A multipart body: one file, further ones where the route takes them, and the form's text fields. */
const formBody = (form: TObject, { fileIsOptional, furtherFiles = {} }: RouteConfig): object => {
  const binary = { type: 'string', format: 'binary' }
  const further = Object.entries(furtherFiles).map(([name, description]) => [name, { ...binary, description }])
  return {
    ...form,
    properties: { file: binary, ...Object.fromEntries(further), ...form.properties },
    required: [...(fileIsOptional ? [] : ['file']), ...(form.required ?? [])],
  }
}

/** What has a default is there for the route, but need not be sent. */
const sayingDefaults = (query: TObject): object => ({
  ...query,
  required: (query.required ?? []).filter((name) => !Object.hasOwn(query.properties[name] ?? {}, 'default')),
})

const documented = (schema: FastifySchema = {}, config: unknown = {}): FastifySchema => {
  const route = config as RouteConfig
  return {
    ...schema,
    ...(schema.querystring !== undefined && { querystring: sayingDefaults(schema.querystring as TObject) }),
    ...(route.form
      ? { body: formBody(route.form, route) }
      : schema.body !== undefined && { body: withDocumentedForms(schema.body) }),
    security: route.access === 'public' ? [] : [{ bearer: [] }],
    response: { ...(schema.response as object | undefined), ...errorResponses(errorsOf(schema, route)) },
  }
}

/** The key of a schema that the document shows in place of the one it stands in, which only validates. */
export const DOCUMENTED_AS = 'x-documented-as'

const withDocumentedForms = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(withDocumentedForms)
  if (typeof schema !== 'object' || schema === null) return schema
  if (DOCUMENTED_AS in schema) return schema[DOCUMENTED_AS]
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, withDocumentedForms(value)]))
}

interface RequestBody {
  required?: boolean
  readonly content?: Readonly<Record<string, { readonly schema?: Record<string, unknown> }>>
}

/** The generator calls every body required; those of `optionalBody` are not. */
const relaxOptionalBodies = (paths: object): void => {
  for (const operation of Object.values(paths).flatMap((path: object) => Object.values(path))) {
    const { requestBody } = operation as { requestBody?: RequestBody }
    for (const { schema } of Object.values(requestBody?.content ?? {})) {
      if (requestBody === undefined || schema === undefined || !(OPTIONAL_BODY in schema)) continue
      delete schema[OPTIONAL_BODY]
      requestBody.required = false
    }
  }
}

/** Collects the routes registered after it into an OpenAPI 3.1 document: /openapi.json, and /docs to read and try it. */
export const serveDocumentation = async (app: App, version: string, access: 'public' | 'any-key'): Promise<void> => {
  app.addSchema(errorSchema)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: TITLE, description: DESCRIPTION, version },
      components: {
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An API key: sk_live_…' } },
      },
    },
    refResolver: { buildLocalReference: (json) => String(json.$id) },
    transform: ({ schema, url, route }) => ({ schema: documented(schema, route.config), url }),
    transformObject: (document) => {
      if (!('openapiObject' in document)) return document.swaggerObject
      relaxOptionalBodies(document.openapiObject.paths ?? {})
      return document.openapiObject
    },
  })
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: DOCS_CSP,
    uiConfig: { persistAuthorization: false },
  })

  const config: RouteConfig = { access, rateLimit: false }
  app.get('/openapi.json', { config, schema: { hide: true } }, async () => app.swagger())
}
