import { expect, it } from 'vitest'
import { changeMetadata, type Metadata, readMetadata } from './version-metadata.ts'

it('reads text, numbers, and booleans by key; composes keys and drops null', () => {
  const metadata = {
    accuracy: 0.91,
    'large 1': 1e308,
    tiny: 5e-324,
    tuned: false,
    empty: '',
    lines: 'a\nb\t"c"',
    '📈': '👩‍🚀'.repeat(50),
    [`${'k'.repeat(63)}é`]: '😀'.repeat(500),
    constructor: 'own',
  }
  expect(readMetadata(JSON.parse(JSON.stringify(metadata)))).toEqual(metadata)
  expect(Object.keys(readMetadata({ 'e\u0301pochs': 3, none: null }))).toEqual(['\u00e9pochs'])
})

const NO_KEY = 'is not a key: 1 to 64 characters on one line'

const REFUSED: readonly (readonly [value: unknown, message: string])[] = [
  [[], 'metadata must be an object such as'],
  [{ '': 1 }, `metadata: "" ${NO_KEY}`],
  [{ ' a': 1 }, `metadata: " a" ${NO_KEY}`],
  [{ 'a\u001bb': 1 }, `metadata: "a\\u001bb" ${NO_KEY}`],
  [{ 'a\u202eb': 1 }, NO_KEY],
  [{ 'a\ud800': 1 }, NO_KEY],
  [{ ['😀'.repeat(65)]: 1 }, `metadata: "${'😀'.repeat(40)}" ${NO_KEY}`],
  [JSON.parse('{"__proto__": 1}'), `metadata: "__proto__" ${NO_KEY}`],
  [{ é: 1, 'e\u0301': 2 }, "metadata names 'é' twice, in different Unicode forms."],
  [JSON.parse('{"loss": 1e999}'), 'metadata.loss must be a finite number.'],
  [{ a: Number.NaN }, 'metadata.a must be a finite number.'],
  [{ a: { b: 1 } }, 'metadata.a must be a string, a finite number, or true or false, got an object.'],
  [{ a: [1] }, 'metadata.a must be a string, a finite number, or true or false, got an array.'],
  [{ a: 'x'.repeat(501) }, 'metadata.a must be at most 500 characters, got 501.'],
  [{ a: 'x\u0000' }, 'metadata.a must be text without U+0000 and unpaired surrogates.'],
  [{ a: '\udfff' }, 'metadata.a must be text without U+0000 and unpaired surrogates.'],
]

it('names the key and the fault of what it refuses', () => {
  for (const [value, message] of REFUSED) expect(() => readMetadata(value), message).toThrow(message)
})

it('merges changes, deletes with null, and limits the result', () => {
  const many = (count: number, value: Metadata[string] = 1): Metadata =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, value]))
  expect(changeMetadata({ a: 1, b: 2 }, { b: null, c: true, d: null })).toEqual({ a: 1, c: true })
  expect(Object.keys(changeMetadata(many(64), { k0: null, last: 1 }))).toHaveLength(64)
  expect(() => changeMetadata(many(64), { last: 1 })).toThrow(
    'metadata would have 65 entries; at most 64 are accepted.',
  )
  expect(() => readMetadata(many(129))).toThrow('metadata names 129 keys; at most 128 are accepted in one request.')
  expect(() => readMetadata(many(20, 'x'.repeat(500)))).toThrow(
    'metadata would have 10171 characters of JSON; at most 8192 are accepted.',
  )
})
