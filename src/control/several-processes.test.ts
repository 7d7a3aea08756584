import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { emptyFolder, freshPostgresUrl, hasPostgres } from '../../test/databases.ts'
import { readConfig } from '../config.ts'
import { createControlPlane, type Service } from './app.ts'
import { openStream } from './operations/events/events.fixture.ts'

/** The time limit for a condition to become true. */
const UNTIL_MS = 60_000

const call = async (url: string, method: string, path: string, key?: string, body?: object) => {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as never }
}

const becomes = async <Value>(look: () => Promise<Value>, wanted: Value): Promise<void> => {
  let seen = await look()
  for (const until = Date.now() + UNTIL_MS; seen !== wanted && Date.now() < until; seen = await look()) await wait(20)
  expect(seen).toBe(wanted)
}

// Their clocks stand still, so that cached values do not expire by themselves.
describe.skipIf(!hasPostgres())('two processes on one PostgreSQL server', () => {
  let services: Service[] = []
  let urls: string[] = []
  let admin = ''

  beforeAll(async () => {
    const config = {
      ...readConfig({ SERVICE_LOG_LEVEL: 'error', SERVICE_RATE_LIMIT_PER_MINUTE: '100000' }),
      databaseUrl: await freshPostgresUrl(),
      dataDir: await emptyFolder(),
    }
    const now = () => new Date(Date.UTC(2026, 0, 1))
    services = [
      await createControlPlane(config, { now }),
      await createControlPlane({ ...config, drainSeconds: 600 }, { now }),
    ]
    urls = await Promise.all(services.map(({ app }) => app.listen({ host: '127.0.0.1', port: 0 })))
    admin = await register('operator')
  })

  afterAll(async () => {
    for (const service of services) {
      void service.close()
      // A second call ends the drain time.
      await service.close()
    }
  })

  const register = async (name: string): Promise<string> => {
    const { status, body } = await call(urls[0]!, 'POST', '/api/v1/devices/register', undefined, { device_id: name })
    expect(status).toBe(201)
    return (body as { api_key: string }).api_key
  }

  const newKey = async (): Promise<{ id: string; key: string }> => {
    const { status, body } = await call(urls[0]!, 'POST', '/api/v1/keys', admin, {
      name: 'k',
      scopes: ['devices:read'],
    })
    expect(status).toBe(201)
    const made = body as { id: string; api_key: string }
    return { id: made.id, key: made.api_key }
  }

  it('a key that one process revokes is rejected by the other, which had cached it', async () => {
    const kept = await newKey()
    const { id, key } = await newKey()
    const ask = async (token = key) => (await call(urls[1]!, 'GET', '/api/v1/keys/self', token)).status
    expect(await ask()).toBe(200)
    expect((await call(urls[0]!, 'DELETE', `/api/v1/keys/${id}`, admin)).status).toBeLessThan(300)
    await becomes(ask, 401)
    expect(await ask(kept.key)).toBe(200)
  })

  it('an event stream at one process ends when the other revokes its key', async () => {
    const { id, key } = await newKey()
    const stream = await openStream(urls[1]!, { key, query: '?topics=device' })
    expect((await stream.next())?.event).toBe('ready')
    expect((await call(urls[0]!, 'DELETE', `/api/v1/keys/${id}`, admin)).status).toBeLessThan(300)
    expect(await stream.next()).toBeNull()
  })

  it('a round that one process starts wakes a device that waits at the other', async () => {
    const own = await register('waiting')
    const report = { status: 'active', metrics: { battery: 0.5 } }
    const beat = call(urls[1]!, 'PUT', '/api/v1/devices/waiting/heartbeat?wait_seconds=55', own, report)
    const isHeard = async () =>
      ((await call(urls[0]!, 'GET', '/api/v1/devices/waiting', own)).body as { metrics: object | null }).metrics !==
      null
    await becomes(isHeard, true)
    const round = { target_devices: 2, min_devices: 1 }
    const started = await call(urls[0]!, 'POST', '/api/v1/training/rounds/start', admin, round)
    expect(started.status).toBe(201)
    expect((await beat).body).toMatchObject({ pending_round_id: (started.body as { id: string }).id })
  })

  it('a process that is about to stop is not ready, but answers until the drain time is over', async () => {
    const ready = async () => (await call(urls[1]!, 'GET', '/ready')).status
    expect(await ready()).toBe(200)
    void services[1]!.close()
    expect(await call(urls[1]!, 'GET', '/ready')).toMatchObject({ status: 503, body: { status: 'stopping' } })
    expect((await call(urls[1]!, 'GET', '/api/v1/keys/self', admin)).status).toBe(200)
    expect((await call(urls[0]!, 'GET', '/ready')).status).toBe(200)
  })

  it('a dynamic group has the devices that one process registered while the other changed its filter', async () => {
    const filter = (op: 'lt' | 'gte') => [{ field: 'capabilities.n', op, value: 20 }]
    const group = { org_id: 'lab', name: 'dynamic', filter: filter('lt') }
    const { id } = (await call(urls[0]!, 'POST', '/api/v1/device-groups', admin, group)).body as { id: string }
    const devices = Array.from({ length: 40 }, (_, n) => ({ device_id: `n${n}`, org_id: 'lab', capabilities: { n } }))
    await Promise.all([
      ...devices.map((device, n) => call(urls[n % 2]!, 'POST', '/api/v1/devices/register', undefined, device)),
      (async () => {
        for (const op of ['gte', 'lt', 'gte', 'lt', 'gte'] as const) {
          await call(urls[1]!, 'PUT', `/api/v1/device-groups/${id}`, admin, { filter: filter(op) })
        }
      })(),
    ])
    const found = await call(urls[0]!, 'GET', `/api/v1/device-groups/${id}/devices`, admin)
    const { devices: members, total } = found.body as { devices: { device_identifier: string }[]; total: number }
    expect(members.map(({ device_identifier }) => device_identifier).sort()).toEqual(
      devices.slice(20).map(({ device_id }) => device_id),
    )
    expect(total).toBe(20)
  })
})
