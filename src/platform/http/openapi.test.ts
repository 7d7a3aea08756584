import { Type } from '@fastify/type-provider-typebox'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DOWNLOADED } from './download.ts'
import { createComponents } from './openapi-components.ts'
import type { RouteConfig } from './route-config.ts'
import { buildTestServer, type TestServer } from './test-server.fixture.ts'
import { optionalBody } from './validation.ts'
import { Body, DOCUMENTED_AS, Nullable, OneOf, Parameter } from './wire.schema.ts'

interface Operation {
  readonly security?: unknown
  readonly requestBody?: { readonly required?: boolean; readonly content: Record<string, { readonly schema: unknown }> }
  readonly parameters?: unknown
  readonly responses: Record<string, { readonly content?: unknown; readonly description: string }>
}

interface Document {
  readonly openapi: string
  readonly info: unknown
  readonly paths: Record<string, Record<string, Operation>>
  readonly security: unknown
  readonly components: Record<string, Record<string, unknown>>
}

let server: TestServer
let document: Document

const ThingId = Parameter('ThingId', Type.String({ description: 'The thing' }))
const Color = OneOf(['red', 'green'], { title: 'Color' })
const Thing = Body('Thing', 'A thing', { name: 'x' }, { name: Type.String(), color: Type.Optional(Nullable(Color)) })

beforeAll(async () => {
  server = await buildTestServer((app) => {
    app.get(
      '/open',
      { config: { access: 'public' } satisfies RouteConfig, schema: { response: { 200: Thing } } },
      async () => ({
        name: 'x',
      }),
    )
    const guarded: RouteConfig = { access: 'models:write', errors: ['conflict', 'not_found'] }
    app.post(
      '/things/:id',
      {
        config: guarded,
        schema: { params: Type.Object({ id: ThingId }), body: Thing, response: { 201: Thing } },
      },
      async (_request, reply) => reply.code(201).send({ name: 'x' }),
    )
    const beat: RouteConfig = { access: 'any-key' }
    app.put('/beat', { config: beat, schema: { body: optionalBody(Thing), response: { 200: Thing } } }, async () => ({
      name: 'x',
    }))
    app.get(
      '/file',
      { config: beat, schema: { response: DOWNLOADED, produces: ['application/octet-stream'] } },
      async () => '',
    )
    const upload: RouteConfig = {
      access: 'models:write',
      form: Type.Object({ num_samples: Type.Integer() }),
      furtherFiles: { control: 'Laid out as the model' },
    }
    const Options = Type.Unsafe<object>({
      type: 'object',
      [DOCUMENTED_AS]: { anyOf: [{ type: 'object', maxProperties: 2 }] },
    })
    app.post('/jobs', { config: guarded, schema: { body: Type.Object({ options: Options }) } }, async () => ({}))
    app.post('/upload', { config: upload, schema: { consumes: ['multipart/form-data'] } }, async () => ({}))
    app.get('/hidden', { config: { access: 'public' } satisfies RouteConfig, schema: { hide: true } }, async () => ({}))
  })
  document = (await server.app.inject('/openapi.json')).json()
})

afterAll(() => server.app.close())

test('the document is OpenAPI 3.1 with the bearer scheme and one error body', () => {
  expect(document.openapi).toBe('3.1.0')
  expect(document.info).toMatchObject({ title: 'Tributary', version: '1.0.0' })
  expect(document.components.securitySchemes).toMatchObject({
    bearer: { type: 'http', scheme: 'bearer' },
  })
  expect(document.components.schemas!.Error).toMatchObject({ required: ['error', 'message', 'status_code'] })
})

test("it contains the routes that are not hidden, and none of the documentation's own", () => {
  expect(Object.keys(document.paths)).toEqual(['/open', '/things/{id}', '/beat', '/file', '/jobs', '/upload'])
})

test("security and error responses are derived from a route's declarations", () => {
  const summary = (path: string, method: string) => {
    const { security, responses } = document.paths[path]![method]!
    return { security, statuses: Object.keys(responses) }
  }
  expect(document.security).toEqual([{ bearer: [] }])
  expect(summary('/open', 'get')).toEqual({ security: [], statuses: ['200', '429', '500', '503'] })
  expect(summary('/beat', 'put')).toEqual({
    security: undefined,
    statuses: ['200', '400', '401', '403', '409', '429', '500', '503', '507'],
  })
  expect(summary('/things/{id}', 'post')).toEqual({
    security: undefined,
    statuses: ['201', '400', '401', '403', '404', '409', '429', '500', '503', '507'],
  })
  expect(document.paths['/open']!.get!.responses['500']).toEqual({ $ref: '#/components/responses/InternalError' })
  expect(document.components.responses!.InternalError).toEqual({
    description: 'Unexpected server error',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  })
})

test('a named body, part or parameter becomes a component that operations refer to', () => {
  const { parameters, requestBody, responses } = document.paths['/things/{id}']!.post!
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } }
  expect({ parameters, requestBody, created: responses['201'] }).toEqual({
    parameters: [{ $ref: '#/components/parameters/ThingId' }],
    requestBody: { required: true, content },
    created: { description: 'A thing', content },
  })
  expect(document.components.parameters).toEqual({
    ThingId: { name: 'id', in: 'path', required: true, description: 'The thing', schema: { type: 'string' } },
  })
  expect(document.components.schemas).toMatchObject({
    Color: { type: 'string', enum: ['red', 'green'] },
    Thing: {
      type: 'object',
      description: 'A thing',
      examples: [{ name: 'x' }],
      required: ['name'],
      properties: {
        name: { type: 'string' },
        color: { anyOf: [{ $ref: '#/components/schemas/Color' }, { type: 'null' }] },
      },
    },
  })
})

test("a download's 416 is an error, unlike its responses without a body", () => {
  const { responses } = document.paths['/file']!.get!
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
  expect([responses['304']?.content, responses['416']?.content]).toEqual([undefined, content])
})

test('two different components with one name are refused', () => {
  const components = createComponents()
  components.schema(Thing)
  components.schema(Thing)
  expect(() => components.schema(Body('Thing', 'Another thing', {}, {}))).toThrow(
    'The API document would have two different schemas with the name Thing.',
  )
})

test('an upload is a form with its file and its fields', () => {
  expect(document.paths['/upload']!.post!.requestBody?.content['multipart/form-data']?.schema).toMatchObject({
    type: 'object',
    required: ['file', 'num_samples'],
    properties: {
      file: { type: 'string', format: 'binary' },
      control: { type: 'string', format: 'binary', description: 'Laid out as the model' },
      num_samples: { type: 'integer' },
    },
  })
})

test('a field with additional checks has a separate schema for the documentation', () => {
  const { content } = document.paths['/jobs']!.post!.requestBody!
  expect(content['application/json']?.schema).toMatchObject({
    properties: { options: { anyOf: [{ type: 'object', maxProperties: 2 }] } },
  })
})

test('an optional body is not required', () => {
  expect(document.paths['/things/{id}']!.post!.requestBody?.required).toBe(true)
  expect(document.paths['/beat']!.put!.requestBody?.required).toBe(false)
  expect(JSON.stringify(document)).not.toContain('x-optional-body')
})
