import { expect, it } from 'vitest'
import { offsetAfter } from './service-clock.ts'

const DATE = 'Thu, 01 Jan 2026 00:00:00 GMT'
const AT = Date.UTC(2026, 0, 1)
const DAY = 86_400_000

it.each([
  ['a response within the same second keeps it', 0, AT + 950, AT + 990, 0],
  ['a slow response, as after standby, keeps it', 0, AT - DAY, AT + DAY, 0],
  ['a browser three days ahead', 0, AT + 3 * DAY, AT + 3 * DAY + 100, 450 - 3 * DAY],
  ['a browser four minutes behind', 0, AT - 240_000, AT - 239_900, 240_450],
  ['a known offset is kept by the next response', 240_450, AT - 240_300, AT - 240_200, 240_450],
  ['a clock that was corrected', 240_450, AT + 500, AT + 600, -50],
])('%s', (_, offset, sentAt, receivedAt, expected) => {
  expect(offsetAfter(offset, { date: DATE, sentAt, receivedAt })).toBe(expected)
})

it.each([null, 'soon'])('a response with the date %s keeps the offset', (date) => {
  expect(offsetAfter(7, { date, sentAt: 0, receivedAt: 0 })).toBe(7)
})
