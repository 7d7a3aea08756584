import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder, freshPostgresUrl, hasPostgres } from '../../test/databases.ts'
import { formOf } from '../../test/world.ts'
import { AggregationWorkers } from '../aggregation/aggregation-workers.ts'
import { readConfig } from '../config.ts'
import { createControlPlane } from './app.ts'
import { startReceiver } from './operations/integrations/receiver.fixture.ts'

// A process that is paused for longer than its lease resumes where it was, unaware of the pause.

/** Starts processes on one PostgreSQL server and one folder; `query` ends their leases. */
const startShared = async () => {
  const databaseUrl = await freshPostgresUrl()
  const settings = { SERVICE_LOG_LEVEL: 'fatal', SERVICE_RATE_LIMIT_PER_MINUTE: '100000', SERVICE_CONVERSIONS: 'off' }
  const config = { ...readConfig(settings), databaseUrl, dataDir: await emptyFolder() }
  const database = new pg.Client(databaseUrl)
  await database.connect()
  onTestFinished(() => database.end())
  return {
    query: async (statement: string) => (await database.query(statement)).rows,
    start: async (workers?: AggregationWorkers) => {
      const service = await createControlPlane(config, { ...(workers && { workers }) })
      onTestFinished(() => service.close())
      const url = await service.app.listen({ host: '127.0.0.1', port: 0 })
      const ask = async (method: string, path: string, key?: string, body?: object | FormData) => {
        const isForm = body instanceof FormData
        const headers = {
          ...(key && { authorization: `Bearer ${key}` }),
          ...(body && !isForm && { 'content-type': 'application/json' }),
        }
        const sent = isForm ? body : JSON.stringify(body)
        const response = await fetch(`${url}/api/v1${path}`, { method, headers, ...(body && { body: sent }) })
        const answer = (await response.json()) as Record<string, string>
        if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}: ${answer.message}`)
        return answer
      }
      return { service, ask }
    },
  }
}

it.skipIf(!hasPostgres())(
  'a process that resumes after its lease expired does not end a round that another process has completed',
  async () => {
    const { query, start } = await startShared()
    let wake = (): void => undefined
    const asleep = new Promise<void>((resolve) => {
      wake = resolve
    })
    let isHeld = false
    class Stopped extends AggregationWorkers {
      override async aggregate(...job: Parameters<AggregationWorkers['aggregate']>) {
        isHeld = true
        await asleep
        return super.aggregate(...job)
      }
    }
    const { ask, service } = await start(new Stopped())
    const keys: string[] = []
    for (const name of ['a', 'b'])
      keys.push((await ask('POST', '/devices/register', undefined, { device_id: name })).api_key!)
    const round = await ask('POST', '/training/rounds/start', keys[0], { target_devices: 2, min_devices: 2 })
    for (const [n, key] of keys.entries()) {
      const update = formOf(new Uint8Array(new Float32Array([n, 1]).buffer), { num_samples: 1 })
      await ask('POST', `/training/rounds/${round.id}/updates`, key, update)
    }
    await expect.poll(() => isHeld).toBe(true)
    const other = await start()
    await query('update rounds set lease_until = now()')
    const look = () => other.ask('GET', `/training/rounds/${round.id}/status`, keys[0])
    await expect.poll(async () => (await look()).status).toBe('completed')
    const done = await look()
    wake()
    await service.close()
    expect(await look()).toEqual(done)
    expect(await other.ask('GET', '/models', keys[0])).toMatchObject({ total: 1 })
  },
)

it.skipIf(!hasPostgres())(
  'a process that resumes after its lease expired does not undo a delivery by another process',
  async () => {
    const { query, start } = await startShared()
    const first = await start()
    const receiver = await startReceiver()
    const held: (() => void)[] = []
    receiver.respond = (_request, response) => void held.push(() => response.writeHead(500).end())
    const key = (await first.ask('POST', '/devices/register', undefined, { device_id: 'operator' })).api_key!
    await first.ask('POST', '/integrations', key, { kind: 'logs', type: 'webhook', endpoint: receiver.url })
    const create = (name: string) => first.ask('POST', '/device-groups', key, { org_id: 'o', name })
    await create('a')
    await expect.poll(() => held.length).toBe(1)
    receiver.respond = (_request, response) => void response.writeHead(204).end()
    await start()
    await query('update integrations set lease_until = now()')
    await expect
      .poll(async () => (await query('select from integrations where delivered_at is not null')).length)
      .toBe(1)
    held[0]!()
    const { id } = await create('b')
    await expect.poll(() => receiver.texts().some((text) => text.includes(id!))).toBe(true)
    await first.service.close()
    expect(await query('select failures, last_error from integrations')).toEqual([{ failures: 0, last_error: null }])
  },
)

it.skipIf(!hasPostgres())('a round waits while the disk is full, however often its aggregation fails', async () => {
  const { query, start } = await startShared()
  let tries = 0
  class Full extends AggregationWorkers {
    override async aggregate(...job: Parameters<AggregationWorkers['aggregate']>) {
      if (++tries <= 7) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
      return super.aggregate(...job)
    }
  }
  const { ask, service } = await start(new Full())
  const key = (await ask('POST', '/devices/register', undefined, { device_id: 'a' })).api_key!
  const round = await ask('POST', '/training/rounds/start', key, { target_devices: 1, min_devices: 1 })
  const update = formOf(new Uint8Array(new Float32Array([1, 1]).buffer), { num_samples: 1 })
  await ask('POST', `/training/rounds/${round.id}/updates`, key, update)
  const look = async () => {
    // Ends the pause after a failure.
    await query('update rounds set lease_until = null where lease_owner is null')
    await service.runDueTasks().catch(() => undefined)
    return (await ask('GET', `/training/rounds/${round.id}/status`, key)).status
  }
  // Each look runs all due tasks.
  await expect.poll(look, { interval: 250 }).toBe('completed')
})
