import { expect, it } from 'vitest'
import { freshPostgresUrl, hasPostgres } from '../../../test/databases.ts'
import { createServerHints } from './hints.ts'

it.skipIf(!hasPostgres())('hints reach other processes with all their ids, and local listeners once', async () => {
  const url = await freshPostgresUrl()
  const [a, b] = [createServerHints(url), createServerHints(url)]
  const own: string[] = []
  a.listen('keys', (ids) => own.push(...ids))
  const received: string[] = []
  let others = 0
  const heard = new Promise<void>((resolve) => {
    b.listen('plans', () => others++)
    b.listen('keys', (ids) => {
      received.push(...ids)
      if (received.includes('last')) resolve()
    })
  })
  // The other process's listening connection is opened meanwhile; hints sent before that are lost.
  const listening = new Promise<void>((resolve) => void b.listen('rounds', () => resolve()))
  const knock = setInterval(() => a.send('rounds'), 20)
  await listening
  clearInterval(knock)
  const ids = Array.from({ length: 250 }, (_, n) => `${n}`.padStart(64, '0'))
  a.send('keys', ids)
  a.send('keys', ids.slice(0, 10))
  a.send('keys', ['last'])
  await heard
  expect(new Set(received)).toEqual(new Set([...ids, 'last']))
  expect(own).toEqual([...ids, ...ids.slice(0, 10), 'last'])
  expect(others).toBe(0)
  await Promise.all([a.close(), b.close()])
})
