import { connect, createServer, type Socket } from 'node:net'
import { sql } from 'kysely'
import { expect, it, onTestFinished, vi } from 'vitest'
import { emptyFolder, freshPostgresUrl, hasPostgres } from '../../../../test/databases.ts'
import { startWorld } from '../../../../test/world.ts'
import { openDatabase } from '../../../platform/db/open.ts'
import { isOutage } from '../../../platform/db/transactions.ts'
import { createEventTail } from './event-tail.service.ts'
import { openStream } from './events.fixture.ts'
import { createStreamAccess } from './stream-access.service.ts'

const GROUPS = '/api/v1/device-groups'

it('a revocation checks all streams of a process in a few statements', async () => {
  const world = await startWorld()
  const admin = await world.register('admin')
  const keys = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(async (name) => (await world.register(name)).key))
  const query = '?topics=group'
  const streams = await Promise.all(
    keys.flatMap((key) => [1, 2, 3, 4, 5, 6, 7, 8].map(() => openStream(world.baseUrl, { key, query }))),
  )
  const happen = async (name: string) => {
    await world.request('POST', GROUPS, { key: admin.key, body: { org_id: 'o', name } })
    return Promise.all(streams.map(async (stream) => (await stream.next())?.event))
  }
  expect(new Set(await Promise.all(streams.map(async (stream) => (await stream.next())?.event)))).toEqual(
    new Set(['ready']),
  )
  await happen('before')
  const body = { name: 'victim', scopes: ['devices:read'] }
  const { id } = (await world.request('POST', '/api/v1/keys', { key: admin.key, body })).body as { id: string }
  const before = world.database!.load.statements
  await world.request('DELETE', `/api/v1/keys/${id}`, { key: admin.key })
  expect(new Set(await happen('after'))).toEqual(new Set(['group.changed']))
  expect(world.database!.load.statements - before).toBeLessThan(streams.length)
})

/** Forwards connections to the database server, until it is stopped, or hangs. */
const startRelay = async (url: URL) => {
  const sockets = new Set<Socket>()
  let isUp = true
  const server = createServer((socket) => {
    if (!isUp) {
      socket.destroy()
      return
    }
    const upstream = connect(Number(url.port), url.hostname)
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(from)
      from.on('error', () => undefined).on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const relayed = new URL(url)
  relayed.hostname = '127.0.0.1'
  relayed.port = String((server.address() as { port: number }).port)
  const stop = (): void => {
    isUp = false
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(() => {
    stop()
    server.close()
  })
  const hang = (): void => {
    for (const socket of sockets) socket.unpipe().pause()
  }
  return { url: relayed.href, stop, hang, start: () => void (isUp = true) }
}

const FILTER = { orgId: 'acme', federationIds: [], topics: ['group'] }

/** A stream that was checked once, with the database behind a relay. */
const startChecked = async () => {
  const relay = await startRelay(new URL(await freshPostgresUrl()))
  const database = await openDatabase({ url: relay.url, dataDir: await emptyFolder() })
  onTestFinished(() => database.close())
  const tail = createEventTail({ database, log: { error: () => undefined } })
  let checks = 0
  const isStillIn = async () => {
    checks++
    const { rows } = await sql`select`.execute(database.sql)
    return rows.length === 1
  }
  const caller = { keyId: 'k', orgId: 'acme', deviceId: null, grants: [], homeOrgId: null }
  const access = createStreamAccess({ database }, { tail, isStillIn })(caller, ['group'], new AbortController().signal)
  expect(await access.filter()).toEqual(FILTER)
  database.hints.send('keys')
  return { relay, tail, access, checks: () => checks }
}

it.skipIf(!hasPostgres())('a check waits for the end of an outage of the database', async () => {
  const { relay, tail, access, checks } = await startChecked()
  relay.stop()
  const before = checks()
  const settled = access.filter().catch(String)
  await Promise.race([settled, expect.poll(checks).toBeGreaterThan(before + 1)])
  relay.start()
  expect(await settled).toEqual(FILTER)
  await tail.close()
})

it.skipIf(!hasPostgres())('a stream ends as in an outage if the database hangs for 30 s', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { relay, tail, access } = await startChecked()
  relay.hang()
  // Until the next check is due.
  await vi.advanceTimersByTimeAsync(5_001)
  const ended = access.filter().catch(isOutage)
  await vi.advanceTimersByTimeAsync(31_000)
  expect(await ended).toBe(true)
  vi.useRealTimers()
  relay.stop()
  await tail.close()
})
