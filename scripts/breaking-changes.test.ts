import { describe, expect, test } from 'vitest'
import { breakingChanges, unannounced } from './breaking-changes.ts'

const documentOf = (request: object, response: object, path = '/rounds') => ({
  paths: {
    [path]: {
      post: {
        requestBody: { content: { 'application/json': { schema: request } } },
        responses: { 201: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Round' } } } } },
      },
    },
  },
  components: { schemas: { Round: response } },
})
const object = (properties: object, required: readonly string[] = []) => ({ type: 'object', properties, required })
const REQUEST = object({ max: { type: 'number', maximum: 10 }, kind: { type: 'string', enum: ['a', 'b'] } })
const RESPONSE = object(
  {
    id: { type: 'string' },
    loss: { type: 'number' },
    status: { enum: ['x', 'y'] },
    list: { type: 'array', items: REQUEST },
  },
  ['id', 'status'],
)
const RELEASED = documentOf(REQUEST, RESPONSE)

const request = (properties: object, required: readonly string[] = []) =>
  documentOf(object({ ...REQUEST.properties, ...properties }, required), RESPONSE)
const response = (properties: object, required: readonly string[] = RESPONSE.required) =>
  documentOf(REQUEST, object({ ...RESPONSE.properties, ...properties }, required))

describe('a change that breaks callers is found', () => {
  test.each([
    ['a path that is gone', documentOf(REQUEST, RESPONSE, '/other'), 'POST /rounds: is gone'],
    ['a response field that is gone', response({ loss: undefined }), 'POST /rounds: loss is gone'],
    ['a retyped response field', response({ loss: { type: 'string' } }), 'POST /rounds: loss has another type'],
    [
      'a response field that may be null now',
      response({ id: { anyOf: [{ type: 'string' }, { type: 'null' }] } }),
      'POST /rounds: id has another type',
    ],
    ['a response field that may be absent now', response({}, ['id']), 'POST /rounds: status may be absent'],
    [
      'a word that a response never has again',
      response({ status: { enum: ['x'] } }),
      "POST /rounds: status is never 'y'",
    ],
    [
      'a field of an item',
      response({ list: { type: 'array', items: object({ max: { type: 'number' } }) } }),
      'POST /rounds: list[].kind is gone',
    ],
    ['a new required request field', request({ name: { type: 'string' } }, ['name']), 'POST /rounds: name is required'],
    [
      'a tighter bound of a request',
      request({ max: { type: 'number', maximum: 9 } }),
      'POST /rounds: max has tighter bounds',
    ],
    [
      'a word that a request may not say any more',
      request({ kind: { type: 'string', enum: ['a'] } }),
      "POST /rounds: kind is never 'b'",
    ],
    [
      'a request field that takes integers alone',
      request({ max: { type: 'integer', maximum: 10 } }),
      'POST /rounds: max has another type',
    ],
  ])('%s', (_title, document, change) => {
    expect(breakingChanges(RELEASED, JSON.parse(JSON.stringify(document)))).toEqual([change])
  })
})

test('changes that callers do not notice are not breaking', () => {
  const wider = request({ max: { type: 'number', maximum: 11 }, extra: { type: 'string' } })
  const more = response({ extra: { type: 'string' }, loss: { type: 'integer' } }, ['id', 'status', 'loss', 'extra'])
  expect([RELEASED, wider, more].map((document) => breakingChanges(RELEASED, document))).toEqual([[], [], []])
})

test('a change is announced if the changelog names its method, path, and field', () => {
  const changes = ['POST /rounds: max has tighter bounds', "POST /rounds: kind is never 'b'"]
  expect(unannounced(changes, 'Smaller numbers only: `POST /rounds: max`.')).toEqual([
    "POST /rounds: kind is never 'b'",
  ])
})
