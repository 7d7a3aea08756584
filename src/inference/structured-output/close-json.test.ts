import { expect, it } from 'vitest'
import { randomFrom } from '../../../test/random.ts'
import { jsonObject } from './compile-schema.ts'
import { JSON_RULES } from './json-nodes.ts'
import { randomText } from './random-text.fixture.ts'

const closeJson = (beginning: string): string => {
  const closing = jsonObject.follow()
  closing.take(beginning)
  return closing.ending()
}

it.each([
  ['', '{}'],
  ['{', '}'],
  ['{"', '":null}'],
  ['{"a', '":null}'],
  ['{"a\\', '"":null}'],
  ['{"a"', ':null}'],
  ['{"a":', 'null}'],
  ['{"a": ', 'null}'],
  ['{"a":n', 'ull}'],
  ['{"a":tr', 'ue}'],
  ['{"a":-', '0}'],
  ['{"a":1', '}'],
  ['{"a":1.', '0}'],
  ['{"a":1e', '0}'],
  ['{"a":1e+', '0}'],
  ['{"a":"', '"}'],
  ['{"a":"\\', '""}'],
  ['{"a":"\\u', '0000"}'],
  ['{"a":"\\ue0', '00"}'],
  ['{"a":[', ']}'],
  ['{"a":[1,', 'null]}'],
  ['{"a":[{"b":[', ']}]}'],
  ['{"a":1,', '"":null}'],
  ['{"a":{}}', ''],
  ['{\n  "a": 1\n}', ''],
])('completes %j with %j', (beginning, ending) => {
  expect(closeJson(beginning)).toBe(ending)
})

it('completes every prefix of 300 random objects to an object', () => {
  const random = randomFrom(7)
  const grammar = { root: { kind: 'rule', name: 'object' } as const, rules: JSON_RULES }
  let beginnings = 0
  for (let n = 0; n < 300; n++) {
    const whole = randomText(grammar, random, 12)
    JSON.parse(whole)
    const characters = [...whole]
    for (let length = 0; length <= characters.length; length += 1 + random(3)) {
      const beginning = characters.slice(0, length).join('')
      expect(JSON.parse(beginning + closeJson(beginning)), beginning).toBeTypeOf('object')
      beginnings++
    }
  }
  expect(beginnings).toBeGreaterThan(3000)
})

it('refuses text that does not start an object', () => {
  for (const text of ['x', '[', '{]', '{"a" 1', '{"a":01', '{"a":tru3', '{"a":"\n', '{} {'])
    expect(() => closeJson(text), text).toThrow('not written under its grammar')
})
