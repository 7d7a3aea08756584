import { Compile } from 'typebox/schema'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engines/engine.ts'
import { endless, openStarter, serveForTest, type TestInference } from './test-inference.fixture.ts'

let engine: Engine
let server: TestInference

beforeAll(async () => {
  engine = await openStarter()
  server = await serveForTest(engine)
})

afterAll(async () => {
  await server.close()
  await engine.close()
})

type Schema = Readonly<Record<string, unknown>>

const ask = async (schema: unknown, fields: object = {}) => {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'starter',
      messages: [{ role: 'user', content: 'Give me JSON.' }],
      temperature: 1,
      max_tokens: 24,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
      ...fields,
    }),
  })
  const text = await response.text()
  return { status: response.status, size: text.length, body: JSON.parse(text) }
}

const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const named = (count: number, make: (i: number) => unknown): Schema =>
  Object.fromEntries(many(count, (i) => [`p${i}`, make(i)]))

/** Definitions that each refer to the next one; the last is a string. */
const chain = (length: number, make: (next: Schema, i: number) => Schema): Schema => {
  const link = (i: number) => (i === length - 1 ? { type: 'string' } : make({ $ref: `#/$defs/d${i + 1}` }, i))
  return { $ref: '#/$defs/d0', $defs: Object.fromEntries(many(length, (i) => [`d${i}`, link(i)])) }
}
const array = (minItems: number, items: Schema): Schema => ({ type: 'array', minItems, items })
const object = (properties: Schema, required: readonly string[] = Object.keys(properties)): Schema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const nested = (levels: number, schema: Schema): Schema =>
  levels === 0 ? schema : array(0, nested(levels - 1, schema))

const OPEN = 'more than 100 alternatives are open at once'
const SMALLEST = 'at most 65536 are supported'

const REFUSED: readonly (readonly [what: string, schema: Schema, message: string])[] = [
  [
    'nested long arrays',
    array(1900, array(1900, { type: 'string', minLength: 50 })),
    `191333801 characters; ${SMALLEST}`,
  ],
  ['arrays four deep', array(100, array(100, array(100, array(100, {})))), SMALLEST],
  ['5000 constants', { oneOf: many(5000, (i) => ({ const: `c${i}` })) }, "5000 values of 'enum' and 'const' in total"],
  ['30000 values', { enum: many(30_000, (i) => `value ${i}`) }, '30000 values of'],
  ['long values', { enum: many(1000, (i) => `${'x'.repeat(120)}${i}`) }, 'characters of names and values in total'],
  ['a long name', { $defs: { ['x'.repeat(120_001)]: {} } }, '120001 characters of names'],
  ['5001 properties', { properties: named(5001, () => ({})) }, '5001 properties, and at most 5000'],
  ['eleven levels', nested(11, {}), '11 levels of nesting, and at most 10'],
  ['a doubling reference', chain(40, (next) => object({ a: next, b: next })), SMALLEST],
  ['a doubling oneOf', chain(40, (next) => ({ oneOf: [next, next] })), 'two alternatives may hold at once'],
  ['a doubling allOf', chain(40, (next) => ({ allOf: [next, next] })), 'combines more than 200 schemas'],
  ['doubling objects', chain(40, (next) => ({ anyOf: [object({ a: next }), object({ a: next })] })), OPEN],
  ['doubling arrays', chain(40, (next) => ({ anyOf: [nested(1, next), array(1, next)] })), OPEN],
  ['101 objects alike', { anyOf: many(101, (i) => object({ a: { minimum: i } })) }, OPEN],
  ['many optional properties', { properties: named(101, () => ({})) }, 'more than 100 optional properties in a row'],
  ['an automaton too large', { type: 'string', pattern: '.*a.{12}' }, 'needs too large an automaton'],
  [
    'an automaton too slow to build',
    { type: 'string', pattern: '^((a|b){1,40}){1,40}$' },
    'needs too large an automaton',
  ],
  ['classes without end', { type: 'string', pattern: many(300, (i) => `[\\p{L}${i}]`).join('') }, 'JSON schema'],
  ['many long strings', { properties: named(20, (i) => ({ type: 'string', maxLength: 1900 + i })) }, 'repetitions'],
  ['many multiples', { properties: named(99, (i) => ({ type: 'integer', multipleOf: 101 + i })) }, 'JSON schema'],
  ['what it needs itself for', { anyOf: [{ $ref: '#' }] }, 'requires itself endlessly'],
]

test.each(REFUSED)('a schema with %s is refused with the reason', async (_, schema, message) => {
  const { status, size, body } = await ask(schema)
  expect(body).toEqual({
    error: {
      message: expect.stringContaining(message),
      type: 'invalid_request_error',
      param: 'response_format',
      code: 'unsupported',
    },
  })
  expect(status).toBe(400)
  expect(size).toBeLessThan(1000)
})

const SERVED: readonly (readonly [what: string, schema: Schema])[] = [
  ['1000 constants', { oneOf: many(1000, (i) => ({ const: `c${i}` })) }],
  ['letters of all scripts', { type: 'string', pattern: '^[\\p{L}\\p{N}]{1,500}$' }],
  ['a doubling anyOf', chain(40, (next) => ({ anyOf: [next, next] }))],
  ['doubling optional properties', chain(40, (next) => object({ a: next, b: next }, []))],
  ['500 references', chain(500, (next) => next)],
  ['10 levels', nested(10, { type: 'string' })],
  [
    'itself inside itself',
    {
      $ref: '#/$defs/n',
      $defs: { n: object({ s: { type: 'string', minLength: 20 }, n: { $ref: '#/$defs/n' } }, ['s']) },
    },
  ],
]

test.each(SERVED)('a schema with %s is followed, in a reply of bounded size', async (_, schema) => {
  const { status, size, body } = await ask(schema, { max_tokens: 48 })
  expect(status, JSON.stringify(body).slice(0, 300)).toBe(200)
  expect(size).toBeLessThan(70_000)
  expect(Compile(schema).Check(JSON.parse(body.choices[0].message.content))).toBe(true)
})

test('a stop sequence cuts a reply where it occurs, and nothing that the model did not write is added', async () => {
  const schema = object({ age: { type: 'integer', minimum: 18 }, plan: { enum: ['cancel', 'keep'] } })
  const contentOf = async (fields: object) => {
    const { body } = await ask(schema, { temperature: 0, max_tokens: 60, ...fields })
    return [body.choices[0].message.content, body.choices[0].finish_reason]
  }
  const [whole] = await contentOf({})
  expect(JSON.parse(whole)).toHaveProperty('plan')
  for (const stop of [',', '"plan"', '}']) {
    expect(await contentOf({ stop })).toEqual([whole.slice(0, whole.indexOf(stop)), 'stop'])
  }
  expect(await contentOf({ stop: 'not in it' })).toEqual([whole, 'stop'])
})

test('a schema with 5000 required properties is compiled, and refused if max_tokens is too small for them', async () => {
  const { body, status } = await ask(object(named(5000, () => ({ type: 'integer' }))))
  expect([status, body.error.param]).toEqual([400, 'max_tokens'])
  expect(body.error.message).toMatch(
    /^The shortest reply that fits the JSON schema takes \d+ tokens, but the limit is 24\. /,
  )
})

test('a schema is compiled once for all requests, and a refusal is remembered', async () => {
  const counted = async () => [
    await server.metric('inference_schemas_compiled_total '),
    await server.metric('inference_schemas_cached_total '),
  ]
  const [compiled, cached] = (await counted()) as [number, number]
  const schema = object({ a: { type: 'integer' }, b: { type: 'boolean' } })
  const refused = { type: 'string', pattern: '(' }
  const responses = await Promise.all([
    ...many(4, () => ask(schema, { max_tokens: 40, n: 2 })),
    ...many(3, () => ask(refused)),
  ])
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 400, 400, 400])
  expect(await counted()).toEqual([compiled + 2, cached + 5])
})

test('an unsupported schema is refused even while all slots are taken', async () => {
  const abort = new AbortController()
  const running = many(4, () =>
    server.client.chat.completions.create(endless, { signal: abort.signal }).catch((error: unknown) => error),
  )
  await server.until('inference_places_busy', 4)
  const { status, body } = await ask(object({ age: { type: 'number', multipleOf: 0.5 } }))
  expect(status).toBe(400)
  expect(body.error.message).toContain("The JSON schema cannot be used: at '#/properties/age/multipleOf' ")
  abort.abort()
  await Promise.all(running)
})
