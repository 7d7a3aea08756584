import { Type } from '@fastify/type-provider-typebox'
import type { TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { badRequest } from '../../domain/errors.ts'
import { compileValidator, parseFields } from './validation.ts'
import { Line, Matching } from './wire.schema.ts'

const messageOf = (schema: TSchema, value: unknown, httpPart = 'body'): string | null => {
  const validate = compileValidator({ schema, httpPart, method: 'POST', url: '/' })
  const outcome = validate(value) as { error?: Error }
  return outcome.error?.message ?? null
}

const field = (schema: TSchema, value: unknown): string | null =>
  messageOf(Type.Object({ field: schema }), { field: value })

describe('an invalid field is reported with its value and what it must be', () => {
  test.each([
    [Type.Integer({ minimum: 60, maximum: 3600 }), 59, 'field must be an integer from 60 to 3600, got 59.'],
    [Type.Integer({ minimum: 60, maximum: 3600 }), 61.5, 'field must be an integer from 60 to 3600, got 61.5.'],
    [Type.Integer({ minimum: 1 }), null, 'field must be an integer of at least 1, got null.'],
    [Type.Integer(), true, 'field must be an integer, got true.'],
    [Type.Number({ exclusiveMinimum: 0 }), 0, 'field must be a finite number above 0, got 0.'],
    [
      Type.Number({ exclusiveMinimum: 0, maximum: 1 }),
      2,
      'field must be a finite number above 0 and at most 1, got 2.',
    ],
    [
      Type.Number({ minimum: 0, maximum: 1 }),
      Number.POSITIVE_INFINITY,
      'field must be a finite number from 0 to 1, got Infinity.',
    ],
    [Type.Number({ multipleOf: 5 }), 7, 'field must be a multiple of 5, got 7.'],
    [Type.Boolean(), 'yes', "field must be true or false, got 'yes'."],
    [Type.String({ minLength: 1, maxLength: 255 }), '', "field must be a string of 1 to 255 characters, got ''."],
    [
      Type.String({ maxLength: 255 }),
      'x'.repeat(300),
      `field must be a string of at most 255 characters, got '${'x'.repeat(60)}…' (300 characters).`,
    ],
    [Type.String(), 5, 'field must be a string, got 5.'],
    [Type.String({ format: 'uuid' }), 'abc', "field must be a UUID, got 'abc'."],
    [
      Type.String({ format: 'date-time' }),
      'today',
      "field must be an ISO 8601 timestamp such as 2026-01-31T12:00:00Z, got 'today'.",
    ],
    [
      Type.String({ format: 'date-time' }),
      '2016-12-31T23:59:60Z',
      "field must be an ISO 8601 timestamp such as 2026-01-31T12:00:00Z, got '2016-12-31T23:59:60Z'.",
    ],
    [
      Type.String({ format: 'date-time' }),
      '2026-01-31T12:00:00Z[UTC]',
      "field must be an ISO 8601 timestamp such as 2026-01-31T12:00:00Z, got '2026-01-31T12:00:00Z[UTC]'.",
    ],
    [Type.String({ pattern: '^v[0-9]+$' }), 'x', "field must be text that matches ^v[0-9]+$, got 'x'."],
    [Matching(/^v[0-9]+$/, 'v and a number'), 'x', "field must be v and a number, got 'x'."],
    [
      Line(3, 'A name'),
      'a\u0007',
      "field must be one line of 1 to 3 characters, without control characters, got 'a\u0007'.",
    ],
    [
      Type.Union([Type.Literal('ios'), Type.Literal('android'), Type.Literal('linux')]),
      'amiga',
      "field must be 'ios', 'android', or 'linux', got 'amiga'.",
    ],
    [Type.Enum(['a', 'b']), 'c', "field must be 'a' or 'b', got 'c'."],
    [Type.Union([Type.Number(), Type.Null()]), 'n/a', "field must be a finite number or null, got 'n/a'."],
    [
      Type.Array(Type.String(), { maxItems: 2 }),
      ['a', 'b', 'c'],
      'field must be an array of at most 2 items, got an array of 3 items.',
    ],
    [Type.Array(Type.String(), { uniqueItems: true }), ['a', 'a'], 'field must not name the same item twice.'],
    [Type.Array(Type.String({ minLength: 1 })), ['a', ''], "field[1] must be a non-empty string, got ''."],
    [Type.Object({ name: Type.String() }), 'x', "field must be an object, got 'x'."],
    [Type.Object({ name: Type.String() }), {}, 'field.name is required: a string.'],
    [Type.Array(Type.Object({ w: Type.Number() })), [{ w: 1 }, {}], 'field[1].w is required: a finite number.'],
  ])('%#: %j with %j', (schema, value, message) => {
    expect(field(schema, value)).toBe(message)
  })
})

test('all missing fields are reported at once', () => {
  const schema = Type.Object({
    org_id: Type.String({ minLength: 1 }),
    name: Type.String({ minLength: 1, maxLength: 128 }),
  })
  expect(messageOf(schema, {})).toBe(
    'org_id is required: a non-empty string; name is required: a string of 1 to 128 characters.',
  )
})

test('at most three errors are reported', () => {
  const schema = Type.Object({ a: Type.Integer(), b: Type.Integer(), c: Type.Integer(), d: Type.Integer() })
  expect(messageOf(schema, {})).toBe('a is required: an integer; b is required: an integer; c is required: an integer.')
})

const Names = Type.Array(Type.String(), { maxItems: 2, uniqueItems: true })

test.each([
  [Names, ['a', 'a', 'a'], 'field must be an array of at most 2 items, got an array of 3 items.'],
  [Type.Object({ inner: Names }), { inner: [1, 2, 3] }, 'field.inner must be an array of at most 2 items'],
  [Type.Array(Names), [[], ['a', 'b', 'c']], 'field[1] must be an array of at most 2 items'],
  [Type.Union([Names, Type.Null()]), ['a', 'a', 'a'], 'field must be an array of at most 2 items or null'],
  [Type.Union([Type.String(), Names]), ['a', 'a', 'a'], 'field must be a string or an array of at most 2 items'],
  [Type.Union([Type.Null(), Type.Array(Type.Integer())]), ['a', 'b', 'c'], 'field must be null or an array'],
  [
    Type.Record(Type.String(), Type.Integer(), { maxProperties: 1 }),
    { a: 'x', b: 'y' },
    'field must have at most 1 field',
  ],
  [Matching(/^v+$/, 'v', { maxLength: 5 }), 'x'.repeat(11), "field must be v, got 'xxxxxxxxxxx'"],
])('only the excess of a value that is too long is reported (%#)', (schema, value, message) => {
  expect(field(schema, value)?.slice(0, message.length)).toBe(message)
  expect(field(schema, value)).not.toContain(';')
})

test('the items of an array that is too long are not examined for the error', () => {
  let examined = 0
  const Item = Type.Refine(Type.String(), () => ++examined < 0)
  field(Type.Array(Item, { maxItems: 2 }), Array(1000).fill('x'))
  expect(examined).toBe(1)
})

test('an unknown field of a closed object is reported along with the known ones', () => {
  const schema = Type.Object({ status: Type.Optional(Type.String()) }, { additionalProperties: false })
  expect(messageOf(schema, { staus: 'active' })).toBe('staus is not a known field (known here: status).')
})

test('names with slashes and tildes are shown as sent', () => {
  const schema = Type.Object({ tags: Type.Record(Type.String(), Type.Integer()) })
  expect(messageOf(schema, { tags: { 'a/b~c': 'x' } })).toBe("tags.a/b~c must be an integer, got 'x'.")
})

test('the value of a field that may contain a secret is not repeated', () => {
  const schema = Type.Object({ code_verifier: Type.String({ minLength: 43 }) })
  expect(messageOf(schema, { code_verifier: 'hunter2' })).toBe(
    'code_verifier must be a string of at least 43 characters, got a string of 7 characters, not shown here.',
  )
  const counted = Type.Object({ max_tokens: Type.Integer() })
  expect(messageOf(counted, { max_tokens: '5' })).toBe("max_tokens must be an integer, got '5'.")
})

test('bodies are not coerced: a string is not a number, nor a number a string', () => {
  expect(field(Type.Integer(), '5')).toBe("field must be an integer, got '5'.")
  expect(field(Type.String(), 5)).toBe('field must be a string, got 5.')
  expect(field(Type.Boolean(), 1)).toBe('field must be true or false, got 1.')
})

const Query = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  is_baseline: Type.Optional(Type.Boolean()),
  rate: Type.Optional(Type.Number()),
  name: Type.Optional(Type.String()),
  ids: Type.Optional(Type.Array(Type.Integer())),
})

const query = (value: Record<string, unknown>): unknown => {
  const outcome = compileValidator({ schema: Query, httpPart: 'querystring', method: 'GET', url: '/' })(value)
  const { error, value: typed } = outcome as { error?: Error; value?: unknown }
  return error?.message ?? typed
}

test("query strings are converted to their schema's types, and defaults are filled in", () => {
  expect(query({})).toEqual({ limit: 20 })
  expect(query({ limit: '7', is_baseline: 'false', rate: '-1.5e3', name: '42', ids: ['1', '2'] })).toEqual({
    limit: 7,
    is_baseline: false,
    rate: -1500,
    name: '42',
    ids: [1, 2],
  })
  expect(query({ ids: '3', unknown: 'x' })).toEqual({ limit: 20, ids: [3], unknown: 'x' })
})

test.each([
  [{ limit: '' }, "limit must be an integer from 1 to 100, got ''."],
  [{ limit: 'abc' }, "limit must be an integer from 1 to 100, got 'abc'."],
  [{ limit: '0' }, 'limit must be an integer from 1 to 100, got 0.'],
  [{ limit: '1.5' }, 'limit must be an integer from 1 to 100, got 1.5.'],
  [{ limit: ' 5' }, "limit must be an integer from 1 to 100, got ' 5'."],
  [{ limit: '0x10' }, "limit must be an integer from 1 to 100, got '0x10'."],
  [{ limit: ['1', '2'] }, 'limit must be an integer from 1 to 100, got an array of 2 items.'],
  [{ is_baseline: '1' }, "is_baseline must be true or false, got '1'."],
  [{ rate: 'NaN' }, "rate must be a finite number, got 'NaN'."],
  [{ rate: 'Infinity' }, "rate must be a finite number, got 'Infinity'."],
  [{ rate: '1e999' }, "rate must be a finite number, got '1e999'."],
])('the query %j is refused, naming the field', (value, message) => {
  expect(query(value)).toBe(message)
})

const Fields = Type.Object({
  num_samples: Type.Integer({ minimum: 1 }),
  local_loss: Type.Optional(Type.Number()),
  format: Type.Optional(Type.Union([Type.Literal('pytorch'), Type.Literal('onnx')])),
})

test('form fields are converted to typed values', () => {
  expect(parseFields(Fields, { num_samples: '120', local_loss: '0.25', format: 'onnx' })).toEqual({
    num_samples: 120,
    local_loss: 0.25,
    format: 'onnx',
  })
})

test.each([
  [{}, 'num_samples is required: an integer of at least 1.'],
  [{ num_samples: '0' }, 'num_samples must be an integer of at least 1, got 0.'],
  [{ num_samples: '9007199254740993' }, "num_samples must be an integer of at least 1, got '9007199254740993'."],
  [{ num_samples: '1', local_loss: 'NaN' }, "local_loss must be a finite number, got 'NaN'."],
  [{ num_samples: '1', format: 'zip' }, "format must be 'pytorch' or 'onnx', got 'zip'."],
])('the form %j is bad_request', (fields, message) => {
  expect(() => parseFields(Fields, fields)).toThrow(badRequest(message))
})
