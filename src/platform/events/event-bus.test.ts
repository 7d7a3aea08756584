import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createEventBus } from './event-bus.ts'

it('waits for handlers whose caller has gone, such as a request that was cut off while the service closes', async () => {
  const events = createEventBus<never, { readonly changed: { readonly id: string } }>(console)
  const seen: string[] = []
  events.afterCommit('changed', async ({ id }) => {
    await sleep(5)
    seen.push(id)
    if (id === 'first') void events.announce('changed', { id: 'second' })
  })
  void events.announce('changed', { id: 'first' })
  await events.settled()
  expect(seen).toEqual(['first', 'second'])
})
