import { expect, it } from 'vitest'
import { fieldAt, pointerTo, stepsOf } from './json-pointer.ts'

it('JSON pointers escape ~ and / in steps', () => {
  const pointer = pointerTo(pointerTo('', 'a/b~1'), 0)
  expect(pointer).toBe('/a~1b~01/0')
  expect(stepsOf(pointer)).toEqual(['a/b~1', '0'])
  expect([stepsOf(''), stepsOf('/')]).toEqual([[], ['']])
})

it('messages show fields, with numbers as indexes unless they come first, and long names cut', () => {
  expect(fieldAt('/messages/0/content')).toBe('messages[0].content')
  expect(fieldAt('/0/a~1b/12')).toBe('0.a/b[12]')
  expect([fieldAt(''), fieldAt(`/${'x'.repeat(200)}`)]).toEqual(['', 'x'.repeat(100)])
})
