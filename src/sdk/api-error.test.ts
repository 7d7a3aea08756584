import { expect, test } from 'vitest'
import { parseRetryAfter, Refusal } from './api-error.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')

test.each([
  [null, null],
  ['7', 7000],
  ['0.5', 500],
  [' 3 ', 3000],
  ['Thu, 01 Jan 2026 00:00:09 GMT', 9000],
  ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
  ['soon', null],
])('Retry-After %j means %j ms', (header, expected) => {
  expect(parseRetryAfter(header, NOW)).toBe(expected)
})

test("the service's error body becomes the error, with the time from Retry-After", () => {
  const response = new Response('', { status: 429, headers: { 'retry-after': '2' } })
  const error = new Refusal(response, { error: 'rate_limited', message: 'Too many.', status_code: 429 }, NOW)
  expect({ ...error, message: error.message }).toEqual({
    name: 'ApiError',
    status: 429,
    code: 'rate_limited',
    message: 'Too many.',
    retryAfterSeconds: 2,
    retryAfterMs: 2000,
  })
})
