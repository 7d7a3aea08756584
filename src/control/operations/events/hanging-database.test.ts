import { expect, it, onTestFinished, vi } from 'vitest'
import { openTestDatabase } from '../../../../test/databases.ts'
import { isOutage } from '../../../platform/db/transactions.ts'
import { createEventTail } from './event-tail.service.ts'
import { createStreamAccess } from './stream-access.service.ts'

it('a stream whose caller a hanging database does not check for 30 s ends as in an outage', async () => {
  const database = await openTestDatabase()
  const tail = createEventTail({ database, log: console })
  onTestFinished(() => tail.close())
  const parts = { tail, isStillIn: () => new Promise<never>(() => {}) }
  const caller = { keyId: 'k', orgId: null, deviceId: null, grants: [] }
  const access = createStreamAccess({ database }, parts)(caller, [], new AbortController().signal)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const ended = access.filter().catch(isOutage)
  await vi.advanceTimersByTimeAsync(30_000)
  expect(await ended).toBe(true)
})
