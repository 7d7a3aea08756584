import { Compile } from 'typebox/schema'
import { expect, it } from 'vitest'
import { randomFrom } from '../../../test/random.ts'
import { InferenceError } from '../errors.ts'
import { compileSchema, schemaResponse } from './compile-schema.ts'
import { randomText } from './random-text.fixture.ts'
import { schemaGrammar } from './schema-grammar.ts'

type Schema = Record<string, unknown>

/** Completes a prefix like the engine does. */
const closerFor = (schema: Schema) => {
  const response = schemaResponse(compileSchema(schema, ''))
  return (beginning: string): string => {
    const closing = response.follow()
    expect(closing.take(beginning)).toBe(true)
    return closing.ending()
  }
}

const PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2, maxLength: 5, description: 'as in the passport' },
    age: { type: 'integer', minimum: 18, maximum: 120 },
    nick: { type: ['string', 'null'] },
    tags: { type: 'array', items: { enum: ['a', 'b"c', 3, null] }, minItems: 1, maxItems: 3 },
    address: { $ref: '#/$defs/address' },
  },
  required: ['name', 'tags'],
  additionalProperties: false,
  $defs: {
    address: {
      type: 'object',
      properties: { street: { type: 'string' }, next: { anyOf: [{ $ref: '#/$defs/address' }, { type: 'null' }] } },
      required: ['street', 'next'],
      additionalProperties: false,
    },
  },
}

const ZOD_DAY = String.raw`(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))`
/** As in z.toJSONSchema(). */
const ZOD_STRINGS = {
  email: {
    type: 'string',
    format: 'email',
    pattern:
      "^(?:[A-Za-z0-9_'+\\-]+\\.)*[A-Za-z0-9_'+\\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
  },
  id: {
    type: 'string',
    format: 'uuid',
    pattern:
      '^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|0{8}-0{4}-0{4}-0{4}-0{12})$',
  },
  date: { type: 'string', format: 'date', pattern: `^${ZOD_DAY}$` },
  at: {
    type: 'string',
    format: 'date-time',
    pattern: String.raw`^${ZOD_DAY}T(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z))$`,
  },
  host: {
    type: 'string',
    format: 'ipv6',
    pattern: '^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|:((:[0-9a-fA-F]{1,4}){1,7}|:))$',
  },
}

const SCHEMAS: readonly (readonly [string, Record<string, unknown>])[] = [
  ['named properties, some of them required', PERSON],
  ['only optional properties', { type: 'object', properties: { a: { type: 'number' }, b: {}, c: { const: 1 } } }],
  ['a map', { type: 'object', additionalProperties: { type: 'boolean' } }],
  ['a required property without a schema', { required: ['a'], properties: { b: true } }],
  ['any object', { type: 'object' }],
  ['no object but {}', { type: 'object', properties: {}, additionalProperties: false }],
  ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false }],
  [
    'a tuple of an older draft',
    {
      type: 'array',
      items: [{ type: 'string' }, { type: 'integer' }],
      additionalItems: false,
      minItems: 2,
      maxItems: 2,
    },
  ],
  ['an array of any length', { items: { type: 'integer' } }],
  ['an array of three to four', { type: 'array', minItems: 3, maxItems: 4 }],
  ['an empty array', { type: 'array', maxItems: 0 }],
  ['whole numbers from -1234 to 56', { type: 'integer', minimum: -1234, maximum: 56 }],
  ['whole numbers between open bounds', { type: 'integer', exclusiveMinimum: 98, exclusiveMaximum: 1002 }],
  ['whole numbers with bounds between them', { type: 'integer', minimum: 0.5, maximum: 7.5 }],
  ['whole numbers below -5', { type: 'integer', maximum: -5 }],
  ['whole numbers from 2^50', { type: 'integer', minimum: 2 ** 50 }],
  ['numbers from 0 to 1', { type: 'number', minimum: 0, maximum: 1 }],
  ['numbers between 0 and 1', { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }],
  ['numbers from -3 to below 12', { type: 'number', minimum: -3, exclusiveMaximum: 12 }],
  ['numbers below 0', { type: 'number', exclusiveMaximum: 0 }],
  ['numbers above 7', { type: 'number', exclusiveMinimum: 7 }],
  ['numbers between -2 and -1', { type: 'number', exclusiveMinimum: -2, exclusiveMaximum: -1 }],
  ['numbers to 0', { minimum: -10, maximum: 0 }],
  ['one number', { type: 'number', minimum: 4, maximum: 4 }],
  ['constants of all types', { enum: ['x', 1, null, true, { a: [1] }, [2]] }],
  ['constants of one type', { type: 'integer', enum: ['x', 1, 2] }],
  ['dates', { type: 'string', format: 'date' }],
  ['times', { type: 'string', format: 'time' }],
  ['instants', { type: 'string', format: 'date-time' }],
  ['UUIDs', { type: 'string', format: 'uuid' }],
  ['IPv4 addresses', { type: 'string', format: 'ipv4' }],
  ['mail addresses', { type: 'string', format: 'email' }],
  ['days of a length', { type: 'string', format: 'date', minLength: 10 }],
  ['addresses of the web of a length', { type: 'string', format: 'uri', minLength: 1, maxLength: 2083 }],
  ['mail addresses of a length', { type: 'string', format: 'email', minLength: 20, maxLength: 30 }],
  ['durations', { type: 'string', format: 'duration' }],
  ['IPv6 addresses', { type: 'string', format: 'ipv6' }],
  ['host names', { type: 'string', format: 'hostname' }],
  ['addresses of the web', { type: 'string', format: 'uri' }],
  ['a constant that its list has too', { properties: { a: { const: 'x', enum: ['y', 'x'], type: 'string' } } }],
  ['whole numbers among numbers', { type: 'number', enum: [1, 1.5, '1'] }],
  ['a property that must not be there', { properties: { a: false, b: { type: 'integer' } } }],
  ['named properties and nothing unevaluated', { properties: { a: { const: 1 } }, unevaluatedProperties: false }],
  [
    'alternatives told apart by a constant',
    {
      oneOf: [
        {
          type: 'object',
          properties: { kind: { const: 'circle' }, r: { type: 'number', minimum: 0 } },
          required: ['kind', 'r'],
          additionalProperties: false,
        },
        {
          type: 'object',
          properties: { kind: { const: 'square' }, side: { $ref: '#/definitions/side' } },
          required: ['kind', 'side'],
          additionalProperties: false,
        },
      ],
      definitions: { side: { allOf: [{ type: 'integer', minimum: 1 }] } },
    },
  ],
  ['alternatives of different types', { oneOf: [{ type: 'string' }, { type: 'integer' }, { const: null }] }],
  [
    'names that need escaping',
    { properties: { 'a"b\\c\n': { const: '\u2028"' }, é: {} }, required: ['a"b\\c\n', 'é'] },
  ],
  ['itself inside itself', { type: 'array', items: { $ref: '#' } }],
  ['telephone numbers by a pattern', { type: 'string', pattern: '^(\\+\\d{1,3} )?\\(?\\d{3}\\)?[- ]\\d{4}$' }],
  ['a pattern found anywhere', { type: 'string', pattern: 'x[^y"]z|^q' }],
  ['a pattern between edges and commas', { type: 'string', pattern: '(^|,)x(,|$)' }],
  ['a pattern and a length', { type: 'string', pattern: '^[a-z]+(-[a-z]+)*$', minLength: 7, maxLength: 9 }],
  ['a prefix, with a format that is only an annotation', { type: 'string', pattern: '^a.*', format: 'starts_with' }],
  [
    'formats with the patterns that zod writes beside them',
    { properties: ZOD_STRINGS, required: Object.keys(ZOD_STRINGS) },
  ],
  ['quotes, backslashes and controls by a pattern', { type: 'string', pattern: '^["\\\\\\s]{3}$' }],
  ['letters of all scripts', { type: 'string', pattern: '^\\p{Lu}\\p{L}*$' }],
  ['multiples of three', { type: 'integer', multipleOf: 3 }],
  ['multiples of 25 within bounds', { type: 'integer', multipleOf: 25, minimum: -130, exclusiveMaximum: 1000 }],
  ['thousands among numbers', { type: 'number', multipleOf: 1000, minimum: 0 }],
  ['multiples of 60 above 10^9', { multipleOf: 60, minimum: 1_000_000_007 }],
  [
    'two schemas at once',
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'number', minimum: 2 } }, required: ['a'], minProperties: 0 },
        {
          properties: { a: { type: 'number', minimum: 2 }, b: { const: 1 } },
          required: ['b'],
          additionalProperties: false,
        },
      ],
    },
  ],
  [
    'a reference and what narrows it',
    { $ref: '#/$defs/name', maxLength: 4, $defs: { name: { type: 'string', pattern: '^[A-Z]', minLength: 2 } } },
  ],
  [
    'a tree made of two schemas',
    {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          allOf: [
            { $ref: '#/$defs/base' },
            {
              properties: { children: { type: 'array', items: { $ref: '#/$defs/node' }, maxItems: 2 } },
              required: ['children'],
            },
          ],
        },
        base: { type: 'object', properties: { name: { type: 'string', maxLength: 3 } }, required: ['name'] },
      },
    },
  ],
]

it.each(SCHEMAS)('writes only valid JSON for %s, and completes each prefix of it to valid JSON', (_, schema) => {
  const validator = Compile(schema)
  const grammar = schemaGrammar(schema)
  const end = closerFor(schema)
  const random = randomFrom(11)
  for (let n = 0; n < 12; n++) {
    const whole = randomText(grammar, random)
    expect(validator.Check(JSON.parse(whole)), whole).toBe(true)
    const characters = [...whole]
    for (let length = 0; length <= characters.length; length += 1 + random(Math.ceil(characters.length / 20))) {
      const beginning = characters.slice(0, length).join('')
      const ended = beginning + end(beginning)
      expect(validator.Check(JSON.parse(ended)), ended).toBe(true)
    }
  }
})

it('never writes a number so close to an open bound that it is read as the bound', () => {
  const { root, rules } = schemaGrammar({ type: 'number', exclusiveMinimum: 998, exclusiveMaximum: 1000 })
  const end = closerFor({ type: 'number', exclusiveMinimum: 998, exclusiveMaximum: 1000 })
  expect(() => end('999.999999999999999')).toThrow('not written under its grammar')
  expect(Number(`999.999999${end('999.999999')}`)).toBe(999.999999)
  const random = randomFrom(3)
  const numbers = Array.from({ length: 200 }, () => Number(randomText({ root, rules }, random)))
  expect(numbers.filter((value) => value <= 998 || value >= 1000)).toEqual([])
})

it.each(['date', 'date-time'])('writes no %s of the year 0, which most libraries refuse', (format) => {
  const take = (text: string) => () =>
    schemaResponse(compileSchema({ type: 'string', format }, ''))
      .follow()
      .take(text)
  expect(take('"0000')).toThrow('This was not written under its grammar')
  for (const year of ['0001', '0010', '0100', '1000', '2024', '9999']) expect(take(`"${year}-12-28`)()).toBe(true)
})

it('knows the shortest valid answer', () => {
  expect(closerFor(PERSON)('')).toBe('{"name":"--","tags":[3]}')
  expect(closerFor(PERSON)('{"name":"Ada","age":1')).toBe('8,"tags":[3]}')
  expect(closerFor(PERSON)('{"name":"Ada","tags":["b')).toBe('\\"c"]}')
})

it.each([
  ['/properties/a/pattern', { properties: { a: { type: 'string', pattern: '(' } } }],
  ['/pattern', { type: 'string', pattern: '^(\\w+)-\\1$' }],
  ['/pattern', { type: 'string', pattern: '\\bx' }],
  ['/pattern', { type: 'string', pattern: 'a(^|b)c' }],
  ['/pattern', { type: 'string', pattern: '^(?=.*\\d)[!-~]{8,12}$' }],
  ['/pattern', { type: 'string', pattern: '^a$', minLength: 2 }],
  ['/pattern', { type: 'string', pattern: '.*a.{12}' }],
  ['/pattern', { type: 'string', pattern: '((a{1,30}){1,30}){1,30}' }],
  ['/pattern', { type: 'string', pattern: 3 }],
  ['/pattern', { type: 'string', pattern: 'a', format: 'date' }],
  ['/pattern', { type: 'string', pattern: 3, format: 'date' }],
  ['/format', { type: 'string', format: 'starts_with' }],
  ['/not', { not: { type: 'string' } }],
  ['/patternProperties', { type: 'object', patternProperties: { '^x': {} } }],
  ['/propertyNames', { type: 'object', propertyNames: { pattern: 'a' } }],
  ['/items/uniqueItems', { items: { type: 'array', uniqueItems: true } }],
  ['/minProperties', { type: 'object', minProperties: 1 }],
  ['/maxProperties', { properties: { a: {}, b: {} }, maxProperties: 1 }],
  ['/dependentRequired', { dependentRequired: { a: ['b'] } }],
  ['/additionalProperties', { allOf: [{ properties: { a: {} } }, { additionalProperties: false }] }],
  ['/items', { allOf: [{ items: { type: 'integer' } }, { prefixItems: [{ type: 'number' }] }] }],
  ['/properties/a', { allOf: [{ properties: { a: { minimum: 1 } } }, { properties: { a: { maximum: 2 } } }] }],
  ['/properties/x', { properties: { x: { type: 'object', anyOf: [{ required: ['a'] }] } } }],
  ['', { allOf: [{ anyOf: [{ minimum: 1 }] }, { type: 'integer' }] }],
  ['/multipleOf', { type: 'integer', multipleOf: 0.5 }],
  ['/multipleOf', { type: 'integer', multipleOf: 7, minimum: 1, maximum: 6 }],
  ['/multipleOf', { type: 'integer', multipleOf: 9973 }],
  ['/type', { type: 'float' }],
  ['/type', { type: [] }],
  ['/enum', { enum: [] }],
  ['', { type: 'string', enum: [1] }],
  ['/oneOf', { oneOf: [{ type: 'number' }, { type: 'integer' }] }],
  ['/oneOf', { oneOf: [{ enum: [1, 2] }, { enum: [2, 3] }] }],
  ['/oneOf', { oneOf: [{ enum: [1, 'a'] }, { type: 'string' }] }],
  ['/oneOf', { oneOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }], $defs: { a: { type: 'string' } } }],
  ['/oneOf', { oneOf: [{ anyOf: [{ const: 1 }, { const: 2 }] }, { anyOf: [{ const: 2 }, { const: 3 }] }] }],
  ['/oneOf', { oneOf: [{}, { type: 'string' }] }],
  ['/oneOf', { oneOf: [{ $ref: '#' }, { type: 'string' }] }],
  ['/oneOf', { oneOf: [{ type: 'array' }, { type: 'array', items: { type: 'string' } }] }],
  ['/oneOf', { oneOf: [{ const: { a: 1, b: 2 } }, { const: { b: 2, a: 1 } }] }],
  ['/anyOf/1/items/oneOf', { anyOf: [{ type: 'string' }, { items: { oneOf: [{}, { type: 'string' }] } }] }],
  [
    '/oneOf',
    {
      oneOf: [
        { type: 'object', properties: { a: {} } },
        { type: 'object', properties: { b: {} } },
      ],
    },
  ],
  [
    '/oneOf',
    { oneOf: [{ properties: { kind: { const: 'a' } }, required: ['kind'] }, { properties: { kind: { const: 'b' } } }] },
  ],
  ['/anyOf', { anyOf: [] }],
  ['/anyOf/1', { anyOf: [{}, 3] }],
  ['/allOf', { allOf: [] }],
  ['/type', { allOf: [{ type: 'string' }, { type: 'integer' }] }],
  ['/pattern', { allOf: [{ pattern: 'a' }, { pattern: 'b' }] }],
  ['/not', { allOf: [{ type: 'string' }, { not: {} }] }],
  ['', { allOf: [{ $ref: '#' }, {}] }],
  ['/minimum', { allOf: [{ minimum: '1' }, { minimum: 2 }] }],
  ['/$ref', { $ref: 'https://example.com/schema' }],
  ['/$ref', { $ref: '#/$defs/none' }],
  ['/$ref', { $ref: '#/x-schemas/a', 'x-schemas': { a: { enum: [1] } } }],
  ['/$ref', { $ref: '#/$defs/%zz' }],
  ['', { $ref: '#' }],
  ['', { anyOf: [{ $ref: '#' }] }],
  ['/unevaluatedProperties', { type: 'object', unevaluatedProperties: false }],
  ['/type', { type: 'string', $ref: '#/$defs/count', $defs: { count: { type: 'integer' } } }],
  ['/const', { const: 1, enum: [2, 3] }],
  ['', { enum: ['a', 'bbb'], minLength: 2 }],
  ['/properties/a', { properties: { a: false }, required: ['a'] }],
  ['', { properties: { self: { $ref: '#' } }, required: ['self'] }],
  ['/properties/a', { properties: { a: { properties: { self: { $ref: '#/properties/a' } }, required: ['self'] } } }],
  ['/required', { properties: { a: {} }, required: ['b'], additionalProperties: false }],
  ['/required', { required: 'a' }],
  ['/properties', { properties: [] }],
  ['/properties/a~1b', { properties: { 'a/b': 'string' } }],
  ['/maxLength', { type: 'string', minLength: 3, maxLength: 2 }],
  ['/minLength', { type: 'string', minLength: -1 }],
  ['/minLength', { type: 'string', minLength: 5000 }],
  ['/maxItems', { type: 'array', minItems: 3, maxItems: 2 }],
  ['/minItems', { type: 'array', items: false, minItems: 1 }],
  ['', { type: 'integer', minimum: 3, maximum: 2 }],
  ['', { type: 'integer', exclusiveMinimum: 3, exclusiveMaximum: 4 }],
  ['/minimum', { type: 'number', minimum: 0.1 }],
  ['/minimum', { type: 'number', minimum: 1e-9 }],
  ['/maximum', { type: 'number', maximum: 1e300 }],
  ['', { type: 'number', exclusiveMinimum: 2 ** 53 - 2, exclusiveMaximum: 2 ** 53 - 1 }],
  ['/exclusiveMinimum', { type: 'integer', minimum: 1, exclusiveMinimum: true }],
  ['/format', { type: 'string', format: 'regex' }],
  ['/format', { type: 'string', format: 'toString' }],
])('names #%s as unsupported', (place, schema) => {
  const refused = () => compileSchema(schema, '')
  expect(refused).toThrow(InferenceError)
  expect(refused).toThrow(`The JSON schema cannot be used: at '#${place}' `)
  try {
    refused()
  } catch (error) {
    expect(error).toMatchObject({ code: 'unsupported', param: 'response_format' })
  }
})

it('limits repetitions for long strings and arrays to what llama.cpp accepts', () => {
  const { gbnf } = compileSchema(
    { properties: { a: { type: 'string', maxLength: 100_000 }, b: { type: 'array', maxItems: 100_000 } } },
    '',
  )
  const counts = [...gbnf.matchAll(/\{\d+,(\d+)\}/g)].map(([, count]) => Number(count))
  expect(Math.max(...counts)).toBe(2000)
})

it('ends an answer before its ending would exceed 64 KiB, however deep the schema is', () => {
  const words = { type: 'array', minItems: 30, items: { type: 'string', minLength: 20 } }
  const node = { type: 'object', properties: { n: { $ref: '#/$defs/n' }, words }, required: ['words'] }
  const schema = { $ref: '#/$defs/n', $defs: { n: node } }
  const closing = schemaResponse(compileSchema(schema, '')).follow()
  let written = ''
  while (closing.take('{"n":')) written += '{"n":'
  const ending = closing.ending()
  expect(written.length).toBeGreaterThan(300)
  expect(ending.length).toBeGreaterThan(64 * 1024 - 1000)
  expect(ending.length).toBeLessThanOrEqual(64 * 1024)
  expect(Compile(schema).Check(JSON.parse(written + ending))).toBe(true)
})
