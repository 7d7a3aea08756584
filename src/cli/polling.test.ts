import { afterEach, expect, it, vi } from 'vitest'
import { UnreachableError } from './connection.ts'
import { withRetries } from './polling.ts'
import { createSession } from './session.ts'

afterEach(() => vi.restoreAllMocks())

it('polls that each take half a minute are repeated for 90 s', async () => {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  let stderr = ''
  const session = createSession({
    env: {},
    cwd: process.cwd(),
    stdout: { write: () => undefined },
    stderr: { write: (text) => void (stderr += text) },
  })
  let polls = 0
  const poll = async () => {
    polls++
    now += 30_000
    throw new UnreachableError('Too many requests. Try again in 19 s.')
  }
  await expect(withRetries(session, poll, 'It continues.')).rejects.toMatchObject({
    message: 'Too many requests. Try again in 19 s.',
    advice: 'It continues.',
  })
  expect([polls, stderr]).toEqual([3, 'Too many requests. Trying again.\n'])
})
