import { createHmac } from 'node:crypto'
import { createSocket } from 'node:dgram'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { expect, it, onTestFinished, vi } from 'vitest'
import { emptyFolder, freshPostgresUrl, hasPostgres } from '../../../../test/databases.ts'
import { runService, until } from '../../../../test/e2e/service-process.ts'
import { startWorld, type World } from '../../../../test/world.ts'
import { createSecrets } from '../../../platform/secrets.ts'
import { logMessages } from './log-messages.ts'
import { metricMessages } from './metric-messages.ts'
import { startReceiver } from './receiver.fixture.ts'
import { send } from './send.ts'

const databases = (['embedded', 'postgres'] as const).filter((kind) => kind === 'embedded' || hasPostgres())
const AT = '/api/v1/integrations'

interface Integration {
  readonly id: string
  readonly status: string
  readonly pending: number
  readonly failures: number
  readonly dead_letters: number
  readonly last_error: string | null
  readonly secret: string
  readonly config: object
}

const start = async (database: 'embedded' | 'postgres' = 'embedded') => {
  const world = await startWorld({ database })
  const { key } = await world.register('d')
  const ask = async <Answer>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<Answer> => {
    const response = await world.request(method, path, { key, ...(body === undefined ? {} : { body }) })
    if (response.status >= 300) throw new Error(JSON.stringify(response.body))
    return response.body as Answer
  }
  const create = (body: object) => ask<Integration>('POST', AT, body)
  const show = (id: string) => ask<Integration>('GET', `${AT}/${id}`)
  /** Causes an event by creating a group. */
  const happen = (name: string) => ask('POST', '/api/v1/device-groups', { org_id: 'o', name })
  return { world, key, ask, create, show, happen }
}

it('a delivery that a shutdown interrupts is not a failure of the receiver, and is made by the next process', async () => {
  const world = await startWorld({ durable: true, database: hasPostgres() ? 'postgres' : 'embedded' })
  const { key } = await world.register('d')
  const call = async (method: string, path: string, body?: object) =>
    (await world.request(method, path, { key, ...(body && { body }) })).body as Integration
  const receiver = await startReceiver()
  receiver.respond = () => undefined
  const { id } = await call('POST', AT, { kind: 'logs', type: 'webhook', endpoint: receiver.url })
  await call('POST', '/api/v1/device-groups', { org_id: 'o', name: 'a' })
  const interrupted = world.advance(60)
  await expect.poll(() => receiver.received.length).toBe(1)
  await world.restart()
  await interrupted
  expect(await call('GET', `${AT}/${id}`)).toMatchObject({ status: 'active', failures: 0, last_error: null })
  receiver.respond = (_request, response) => void response.writeHead(204).end()
  await deliverUntil(world, async () => (await call('GET', `${AT}/${id}`)).pending === 0)
})

/** Runs the deliveries until the condition holds, minute by minute on the service's clock. */
const deliverUntil = async (world: World, isDone: () => boolean | Promise<boolean>): Promise<void> => {
  for (let minute = 0; minute < 60; minute++) {
    await world.advance(60)
    if (await isDone()) return
  }
  throw new Error('It was not delivered within an hour.')
}

interface Delivered {
  readonly id: string
  readonly type: string
}

it.each(databases)('events go to a webhook once it responds again, in order, each signed (%s)', async (database) => {
  const { world, create, show, happen } = await start(database)
  const receiver = await startReceiver()
  const { id, secret } = await create({ kind: 'logs', type: 'webhook', endpoint: receiver.url })
  expect(secret).toMatch(/^whsec_/)
  const faults = [500, 429, 503]
  receiver.respond = (_request, response) => void response.writeHead(faults.shift() ?? 204).end('not now')
  for (const name of ['a', 'b', 'c']) await happen(name)
  await deliverUntil(world, async () => (await show(id)).pending === 0)

  // Events that happened after the first attempt follow the batch that is repeated.
  const delivered = receiver.received.slice(3).flatMap(({ body }) => JSON.parse(body.toString()).events as Delivered[])
  const created = delivered.filter(({ type }) => type === 'group.changed').map(({ id: event }) => Number(event))
  expect(created).toHaveLength(3)
  expect(created).toEqual([...created].sort((one, other) => one - other))
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  for (const { path, headers, body } of receiver.received) {
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    expect(path).toBe('/')
    expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
  }
  expect(await show(id)).toMatchObject({
    status: 'active',
    failures: 0,
    last_error: 'The receiver returned 503: not now',
    config: { secret: '(secret)' },
  })
})

it('an event that a receiver rejects permanently is set aside, the others continue, and it can be sent again', async () => {
  const { world, ask, create, show, happen } = await start()
  const receiver = await startReceiver()
  const { id } = await create({ kind: 'logs', type: 'webhook', endpoint: receiver.url })
  let isPicky = true
  // Unavailable until the rejected event is known, because a delivery may begin at any moment.
  let bad: string | null = null
  receiver.respond = ({ body }, response) => {
    const status = bad === null ? 503 : isPicky && body.includes(bad) ? 422 : 200
    response.writeHead(status).end(isPicky ? 'unknown group' : '')
  }
  await happen('bad')
  const groups = await ask<{ groups: { id: string }[] }>('GET', '/api/v1/device-groups?org_id=o')
  bad = groups.groups[0]!.id
  await happen('good')
  await deliverUntil(world, async () => (await show(id)).pending === 0)
  expect(await show(id)).toMatchObject({ dead_letters: 1, last_error: 'The receiver returned 422: unknown group' })
  expect(await ask('GET', `${AT}/${id}/dead-letters`)).toMatchObject({
    dead_letters: [{ type: 'group.changed', event: { subject: { kind: 'group', id: bad } } }],
  })
  expect(await ask('POST', `${AT}/${id}/replay`)).toEqual({
    delivered: 0,
    remaining: 1,
    error: 'The receiver returned 422: unknown group',
  })
  isPicky = false
  expect(await ask('POST', `${AT}/${id}/replay`)).toEqual({ delivered: 1, remaining: 0, error: null })
})

it('a rejected event is found among many with few requests, and no id stands for two requests', async () => {
  const { world, ask, create, show, happen } = await start()
  const receiver = await startReceiver()
  const { id } = await create({ kind: 'logs', type: 'webhook', endpoint: receiver.url, topics: ['group'] })
  // Unavailable until all have happened, because a delivery may begin at any moment.
  let bad: string | null = null
  receiver.respond = ({ body }, response) =>
    void response.writeHead(bad === null ? 503 : body.includes(bad) ? 422 : 200).end()
  for (let n = 0; n < 40; n++) await happen(`group-${n}`)
  const { groups } = await ask<{ groups: { id: string; name: string }[] }>(
    'GET',
    '/api/v1/device-groups?org_id=o&limit=100',
  )
  const unavailable = receiver.received.length
  bad = groups.find(({ name }) => name === 'group-29')!.id
  await deliverUntil(world, async () => (await show(id)).pending === 0)
  expect(await show(id)).toMatchObject({ dead_letters: 1 })
  const bodies = new Map<unknown, Set<string>>()
  for (const { headers, body } of receiver.received) {
    const name = headers['webhook-id']
    bodies.set(name, (bodies.get(name) ?? new Set()).add(body.toString()))
  }
  expect([...bodies.values()].map((same) => same.size)).toEqual([...bodies].map(() => 1))
  const accepted = receiver.received.slice(unavailable).filter(({ body }) => !body.includes(bad!))
  const events = accepted.flatMap(({ body }) => JSON.parse(body.toString()).events as { subject: { id: string } }[])
  expect(new Set(events.map(({ subject }) => subject.id)).size).toBe(39)
  expect(receiver.received.length - unavailable).toBeLessThan(20)
})

it('the search for a rejected event continues in the next delivery if the receiver is slow', async () => {
  const { world, ask, create, show, happen } = await start()
  const receiver = await startReceiver()
  const { id } = await create({ kind: 'logs', type: 'otlp', endpoint: receiver.url, topics: ['group'] })
  receiver.respond = (_request, response) => void response.writeHead(503).end()
  for (let n = 0; n < 8; n++) await happen(`group-${n}`)
  const { groups } = await ask<{ groups: { id: string; name: string }[] }>('GET', '/api/v1/device-groups?org_id=o')
  const bad = groups.find(({ name }) => name === 'group-0')!.id
  receiver.received.length = 0
  const clock = vi.spyOn(performance, 'now')
  onTestFinished(() => clock.mockRestore())
  const [started, leases] = [performance.now(), new Set<string>()]
  let rejections = 0
  receiver.respond = async ({ body }, response) => {
    const isRejected = body.includes(bad)
    if (isRejected) clock.mockReturnValue(started + 13_000 * ++rejections)
    const { rows } = await sql<{ lease: string }>`select lease_until::text as lease from integrations`.execute(
      world.database!.sql,
    )
    leases.add(rows[0]!.lease)
    response.writeHead(isRejected ? 400 : 200).end('{}')
  }
  await deliverUntil(world, async () => (await show(id)).pending === 0)
  expect(await show(id)).toMatchObject({ dead_letters: 1, failures: 0 })
  // Of 8, 4, 2, and 1 events, and of the 7 that follow.
  expect([rejections, leases.size, receiver.received.length]).toEqual([4, 5, 5])
})

it('a receiver that sends Retry-After gets no request until then', async () => {
  const { world, create, show, happen } = await start()
  const receiver = await startReceiver()
  receiver.respond = (_request, response) => void response.writeHead(429, { 'retry-after': '3000' }).end()
  const { id } = await create({ kind: 'logs', type: 'webhook', endpoint: receiver.url })
  await happen('a')
  await deliverUntil(world, () => receiver.received.length > 0)
  await until(
    () => show(id),
    ({ failures }) => failures === 1,
  )
  receiver.respond = (_request, response) => void response.writeHead(204).end()
  await world.advance(1800)
  expect(receiver.received).toHaveLength(1)
  await deliverUntil(world, async () => (await show(id)).pending === 0)
  expect(receiver.received).toHaveLength(2)
})

it('a webhook request is repeated with its events and its id, although others have happened', async () => {
  const { world, create, show, happen } = await start()
  const receiver = await startReceiver()
  receiver.respond = (_request, response) => void response.writeHead(503).end()
  const { id } = await create({ kind: 'logs', type: 'webhook', endpoint: receiver.url, topics: ['group', 'audit'] })
  await happen('a')
  await deliverUntil(world, () => receiver.received.length > 0)
  await happen('b')
  await deliverUntil(world, () => receiver.received.length > 1)
  receiver.respond = (_request, response) => void response.writeHead(204).end()
  await deliverUntil(world, async () => (await show(id)).pending === 0)
  const requests = receiver.received.map(({ headers, body }) => ({
    id: headers['webhook-id'],
    events: (JSON.parse(body.toString()) as { events: { id: string }[] }).events.map((event) => event.id),
  }))
  const byId = Object.fromEntries(requests.map((request) => [request.id, request.events]))
  expect(requests).toEqual(requests.map((request) => ({ id: request.id, events: byId[request.id as string] })))
  const [first, second] = requests
  expect(second).toEqual(first)
  const once = Object.values(byId).flat()
  expect(new Set(once).size).toBe(once.length)
})

it('deliveries continue after the clock was set back', async () => {
  const { world, create, show, happen } = await start()
  const [healthy, busy] = [await startReceiver(), await startReceiver()]
  busy.respond = (_request, response) => void response.writeHead(429, { 'retry-after': '3000' }).end()
  const { id } = await create({ type: 'webhook', endpoint: healthy.url, topics: ['group'] })
  const { id: busyId } = await create({ type: 'webhook', endpoint: busy.url, topics: ['group'] })
  const figures = await startReceiver()
  await create({ type: 'opentelemetry', endpoint: figures.url })
  await happen('a')
  await deliverUntil(world, async () => (await show(id)).pending === 0 && (await show(busyId)).failures === 1)
  expect(figures.received.length).toBeGreaterThan(0)
  busy.respond = (_request, response) => void response.writeHead(204).end()
  await happen('b')
  figures.received.length = 0
  await world.advance(-24 * 60 * 60)
  // Two minutes without a delivery pass.
  await sql`update integrations set lease_until = lease_until - interval '2 minutes'`.execute(world.database!.sql)
  const isDelivered = async (which: string) => (await show(which)).pending === 0
  await deliverUntil(world, async () => (await isDelivered(id)) && (await isDelivered(busyId)))
  expect(figures.received.length).toBeGreaterThan(0)
})

it('a process whose clock is behind does not send metrics that another has just sent', async () => {
  const { world, create } = await start()
  const receiver = await startReceiver()
  await create({ type: 'opentelemetry', endpoint: receiver.url })
  await deliverUntil(world, () => receiver.received.length > 0)
  receiver.received.length = 0
  await world.advance(-90)
  await world.advance(-600)
  expect(receiver.received).toEqual([])
})

it('a receiver that hangs does not delay the others', async () => {
  const { world, create, show, happen } = await start()
  const [hanging, healthy] = [await startReceiver(), await startReceiver()]
  hanging.respond = () => undefined
  const { id } = await create({ kind: 'logs', type: 'webhook', endpoint: hanging.url })
  await create({ kind: 'logs', type: 'webhook', endpoint: healthy.url })
  await happen('a')
  const advanced = world.advance(60)
  await expect.poll(() => [hanging.received.length, healthy.received.length]).toEqual([1, 1])
  await happen('b')
  await expect.poll(() => healthy.received.length).toBe(2)
  expect(await show(id)).toMatchObject({ failures: 0, last_error: null })
  await hanging.down()
  await advanced
  expect(await show(id)).toMatchObject({ failures: 1 })
})

/** Lets a receiver hang. Returns how many requests were open at the same time, at most, once those that end had ended. */
const hang = (receiver: Awaited<ReturnType<typeof startReceiver>>): (() => number) => {
  let [open, most] = [0, 0]
  receiver.respond = (_request, response) => {
    open++
    response.on('close', () => open--)
    setTimeout(() => {
      most = Math.max(most, open)
    }, 100)
  }
  return () => most
}

it.each(databases)('retries to many receivers that hang leave places for the others (%s)', async (database) => {
  const { world, create, happen } = await start(database)
  const [hanging, healthy] = [await startReceiver(), await startReceiver()]
  hanging.respond = (_request, response) => void response.writeHead(500).end()
  for (let n = 0; n < 16; n++) {
    await create({ kind: 'logs', type: 'webhook', name: `w${n}`, endpoint: `${hanging.url}/${n}` })
  }
  await happen('a')
  // The second half of the first deliveries waits for the first half, which waits for open transactions of the server.
  await deliverUntil(world, () => new Set(hanging.received.map(({ path }) => path)).size === 16)
  const open = hang(hanging)
  await create({ kind: 'logs', type: 'webhook', endpoint: healthy.url })
  const advanced = world.advance(60)
  await expect.poll(open).toBe(8)
  await happen('b')
  await expect.poll(() => healthy.received.length).toBe(1)
  expect(open()).toBe(8)
  await hanging.down()
  await advanced
})

it('first deliveries to many receivers that hang leave places for those that have delivered before', async () => {
  const { world, create, happen } = await start()
  const [hanging, healthy] = [await startReceiver(), await startReceiver()]
  await create({ kind: 'logs', type: 'webhook', endpoint: healthy.url })
  await happen('a')
  await deliverUntil(world, () => healthy.received.length > 0)
  const before = healthy.received.length
  const open = hang(hanging)
  for (let n = 0; n < 24; n++) {
    await create({ kind: 'logs', type: 'webhook', name: `w${n}`, endpoint: hanging.url })
  }
  await happen('b')
  const advanced = world.advance(60)
  await expect.poll(open).toBe(8)
  await happen('c')
  await expect.poll(() => healthy.texts().slice(before).join()).toContain('group.changed')
  expect(open()).toBe(8)
  await hanging.down()
  await advanced
})

it('a request at the end of those that depend on each other says how long they took', async () => {
  const hanging = await startReceiver()
  hanging.respond = () => undefined
  const message = { url: hanging.url, headers: {}, body: Buffer.from('') }
  const { signal } = new AbortController()
  expect(await send(message, true, signal, 1)).toMatchObject({
    ok: false,
    response: 'Its responses took longer than 25 s in total.',
  })
})

it('requests to many receivers that hang are not reported as a leak', async () => {
  const { world, create, happen } = await start()
  const warnings: string[] = []
  const listen = ({ name }: Error) => void warnings.push(name)
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))
  const hanging = await startReceiver()
  for (let n = 0; n < 12; n++) {
    await create({ kind: 'logs', type: 'webhook', name: `w${n}`, endpoint: hanging.url })
  }
  await happen('a')
  await deliverUntil(world, () => hanging.received.length >= 12)
  hanging.respond = () => undefined
  hanging.received.length = 0
  await happen('b')
  const advanced = world.advance(60)
  await expect.poll(() => hanging.received.length).toBe(12)
  await hanging.down()
  await advanced
  expect(warnings).not.toContain('MaxListenersExceededWarning')
})

it('a paused integration sends nothing, and sends what has happened meanwhile when it is resumed', async () => {
  const { world, ask, create, show, happen } = await start()
  const receiver = await startReceiver()
  const of = { kind: 'logs', type: 'elasticsearch', topics: ['group'], config: { index: 'log' } }
  const { id } = await create({ ...of, endpoint: receiver.url })
  expect(await ask('POST', `${AT}/${id}/pause`)).toMatchObject({ status: 'paused' })
  await happen('a')
  await world.advance(120)
  expect(receiver.received).toEqual([])
  expect((await show(id)).pending).toBeGreaterThan(0)
  await ask('POST', `${AT}/${id}/resume`)
  await deliverUntil(world, async () => (await show(id)).pending === 0)
  expect(receiver.received[0]!.path).toBe('/log/_bulk')
  expect(receiver.texts()[0]).toMatch(/^(\{"create":\{"_id":"[\w-]+"\}\}\n\{"id":"\d+","type":"\w+\.\w+",.*\}\n)+$/)
})

it.each(databases)(
  'entries of the audit log are sent if requested, only those of the own organization (%s)',
  async (database) => {
    const { world, ask, create, show, happen } = await start(database)
    const receiver = await startReceiver()
    const faults = [503, 429]
    const taken: string[] = []
    // From the start, because a delivery may begin at any moment.
    receiver.respond = ({ body }, response) => {
      const status = faults.shift() ?? 200
      if (status === 200) taken.push(...body.toString().trimEnd().split('\n'))
      response.writeHead(status).end()
    }
    const endpoint = receiver.url
    const { id } = await create({ kind: 'logs', type: 'elasticsearch', endpoint, topics: ['audit'] })
    await create({ kind: 'logs', type: 'webhook', endpoint: 'http://127.0.0.1:9', topics: ['round'] })
    for (const name of ['a', 'b']) await happen(name)
    await deliverUntil(world, async () => (await show(id)).pending === 0)
    const sent = taken.filter((_line, index) => index % 2 === 1).map((line) => JSON.parse(line))
    const { entries } = await ask<{ entries: { seq: number; hash: string }[] }>('GET', '/api/v1/audit')
    expect(sent.map(({ payload }) => payload)).toEqual(entries.toReversed())
    expect(sent.map(({ type }) => type)).toEqual([
      'audit.createIntegration',
      'audit.createIntegration',
      'audit.createGroup',
      'audit.createGroup',
    ])
    const { integrations } = await ask<{ integrations: Integration[] }>('GET', AT)
    expect(integrations.map(({ pending }) => pending)).toEqual([0, 0])
  },
)

it('audit entries of organizations that are named like inherited properties are sent too', async () => {
  const { world, ask, create, show } = await start()
  const receiver = await startReceiver()
  const { id } = await create({ kind: 'logs', type: 'webhook', endpoint: receiver.url, topics: ['audit'] })
  const names = ['constructor', 'toString', '__proto__']
  for (const org_id of names) await ask('POST', '/api/v1/device-groups', { org_id, name: 'a' })
  await deliverUntil(world, async () => (await show(id)).pending === 0)
  const sent = receiver.received.flatMap(({ body }) => JSON.parse(body.toString()).events as { org_id: string }[])
  expect(sent.map((event) => event.org_id)).toEqual(expect.arrayContaining(names))
})

it.each([
  ['otlp', {}, '/v1/logs', (text: string) => JSON.parse(text).resourceLogs[0].scopeLogs[0].logRecords[0].body],
  ['splunk', { token: 't' }, '/services/collector/event', (text: string) => JSON.parse(text).event.payload],
] as const)('a sample for %s has its format', async (type, config, path, payloadOf) => {
  const { ask, create } = await start()
  const receiver = await startReceiver()
  const { id } = await create({ kind: 'logs', type, endpoint: receiver.url, config })
  expect(await ask('POST', `${AT}/${id}/test`)).toMatchObject({ ok: true, status: 204, response: '' })
  // The event of the device's registration may have come first.
  const sample = receiver.received.find(({ body }) => body.includes('This is a test.'))!
  expect(sample.path).toBe(path)
  expect(JSON.stringify(payloadOf(sample.body.toString()))).toContain('This is a test.')
  if (type === 'splunk') expect(sample.headers.authorization).toBe('Splunk t')
})

it.each([
  ['', {}, '/tributary/_bulk'],
  ['/es/', { index: 'log' }, '/es/log/_bulk'],
  ['/es/log/_bulk?pipeline=p', {}, '/es/log/_bulk?pipeline=p'],
  ['/es/log/_bulk/', {}, '/es/log/_bulk/'],
])('Elasticsearch at %j with %j is sent to %s', async (path, config, sent) => {
  const { ask, create } = await start()
  const receiver = await startReceiver()
  const { id } = await create({ type: 'elasticsearch', endpoint: `${receiver.url}${path}`, config })
  await ask('POST', `${AT}/${id}/test`)
  expect(receiver.received[0]!.path).toBe(sent)
})

it('StatsD and syslog have default ports', () => {
  const of = { id: 'i', format: null, config: {} }
  const now = new Date(0)
  const sample = { name: 'n', help: '', labels: {}, value: 1 }
  const event = { id: '1', type: 't', org_id: null, subject: { kind: 'group', id: null }, payload: {}, time: '' }
  const urls = [
    metricMessages({ ...of, type: 'statsd', endpoint: 'udp://h' }, [sample], now),
    metricMessages({ ...of, type: 'statsd', endpoint: 'UDP://h:1' }, [sample], now),
    logMessages({ ...of, type: 'syslog', endpoint: 'tcp://h' }, [event], now),
    logMessages({ ...of, type: 'syslog', endpoint: 'udp://[fd12::1]' }, [event], now),
  ]
  expect(urls.flat().map(({ url }) => url)).toEqual(['udp://h:8125', 'udp://h:1', 'tcp://h:514', 'udp://[fd12::1]:514'])
})

it('an integration of an earlier version whose headers are refused today is listed, paused, and sent without them', async () => {
  const { world, ask, create } = await start()
  const receiver = await startReceiver()
  const headers = { 'Transfer-Encoding': 'chunked', 'x-team': 'edge' }
  const { id } = await create({ type: 'webhook', endpoint: receiver.url })
  const config = await createSecrets(world.dataDir).seal(JSON.stringify({ headers }), id)
  await sql`update integrations set config = ${config} where id = ${id}`.execute(world.database!.sql)
  const shown = { id, config: { headers: '(secret)' } }
  expect(await ask('GET', AT)).toMatchObject({ integrations: [shown] })
  expect(await ask('POST', `${AT}/${id}/pause`)).toMatchObject({ ...shown, status: 'paused' })
  expect(await ask('POST', `${AT}/${id}/test`)).toMatchObject({ ok: true })
  // After what may have been delivered before the pause.
  const sample = receiver.received.at(-1)
  expect(sample!.headers).toMatchObject({ 'x-team': 'edge', 'content-length': String(sample!.body.length) })
  expect(sample!.headers).not.toHaveProperty('transfer-encoding')
})

it('metrics go to StatsD and to OTLP, of the own organization only', async () => {
  const { world, create } = await start()
  const socket = createSocket('udp4')
  const datagrams: string[] = []
  socket.on('message', (bytes) => datagrams.push(bytes.toString()))
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void socket.close())
  const { port } = socket.address() as AddressInfo
  await create({ kind: 'metrics', type: 'statsd', endpoint: `udp://127.0.0.1:${port}`, config: { prefix: 'edge.' } })
  const receiver = await startReceiver()
  await create({ kind: 'metrics', type: 'opentelemetry', endpoint: receiver.url })
  await deliverUntil(world, () => datagrams.length > 0 && receiver.received.length > 0)
  expect(datagrams.join('\n')).toMatch(/^edge\.tributary_devices:1\|g\|#platform:\w+,state:\w+$/m)
  const { metrics } = JSON.parse(receiver.texts()[0]!).resourceMetrics[0].scopeMetrics[0]
  const devices = metrics.find(({ name }: { name: string }) => name === 'tributary_devices')
  expect(devices.gauge.dataPoints).toMatchObject([{ asDouble: 1 }, { asDouble: 0 }])
})

it('what an OTLP receiver rejects of an accepted request is logged once for each cause, and not sent again', async () => {
  const settings = hasPostgres() ? { SERVICE_DATABASE_URL: await freshPostgresUrl() } : {}
  const service = await runService(await emptyFolder(), settings)
  const ask = async (path: string, body?: object, key?: string) => {
    const headers = { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) }
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    return (await fetch(`${service.baseUrl}/api/v1${path}`, { headers, ...init })).json()
  }
  const { api_key: key } = await ask('/devices/register', { device_id: 'd' })
  const [logs, metrics] = [await startReceiver(), await startReceiver()]
  let errorMessage = 'too old'
  logs.respond = (_request, response) =>
    void response.end(JSON.stringify({ partialSuccess: { rejectedLogRecords: '1', errorMessage } }))
  metrics.respond = (_request, response) =>
    void response.end(
      JSON.stringify({ partialSuccess: { rejectedDataPoints: 2, errorMessage: 'Bearer secret-token' } }),
    )
  const config = { bearer_token: 'secret-token' }
  const { id } = await ask('/integrations', { kind: 'logs', type: 'otlp', endpoint: logs.url }, key)
  const figures = { kind: 'metrics', type: 'opentelemetry', endpoint: metrics.url, config }
  const { id: figuresId } = await ask('/integrations', figures, key)
  const happen = async (name: string): Promise<void> => {
    await ask('/device-groups', { org_id: 'o', name }, key)
    const show = (): Promise<Integration> => ask(`/integrations/${id}`, undefined, key)
    expect(await until(show, ({ pending }) => pending === 0)).toMatchObject({ failures: 0, dead_letters: 0 })
  }
  await happen('a')
  await happen('b')
  errorMessage = 'too long'
  await happen('c')
  const warnings = async () =>
    service
      .output()
      .split('\n')
      .flatMap((line) => (line.includes('but rejected some') ? [JSON.parse(line)] : []))
      .map(({ level, integration_id, rejected, reason }) => [level, integration_id, rejected, reason])
  const seen = await until(warnings, (found) => found.length >= 3)
  expect(seen.filter(([, from]) => from === id)).toEqual([
    ['warn', id, 1, 'too old'],
    ['warn', id, 1, 'too long'],
  ])
  expect(seen.filter(([, from]) => from === figuresId)).toEqual([['warn', figuresId, 2, '(secret)']])
  const ids = logs.texts().flatMap((text) => [...text.matchAll(/"event.id","value":\{"stringValue":"(\d+)"/g)])
  expect(ids.length).toBe(new Set(ids.map(([, event]) => event)).size)
})

it('the names of an organization’s integrations are unique, also those that nobody chose', async () => {
  const { world, key, ask, create } = await start()
  const body = { type: 'webhook', endpoint: 'http://127.0.0.1:9' }
  const named = async (name?: string) => ((await create({ ...body, ...(name && { name }) })) as { name?: string }).name
  expect([await named(), await named('webhook 2'), await named()]).toEqual(['webhook', 'webhook 2', 'webhook 3'])
  expect((await Promise.all([named(), named()])).sort()).toEqual(['webhook 4', 'webhook 5'])
  expect(await world.request('POST', AT, { key, body: { ...body, name: 'webhook' } })).toMatchObject({
    status: 409,
    body: { message: "This organization already has an integration named 'webhook'. Choose another name." },
  })
  const other = await ask<{ api_key: string }>('POST', '/api/v1/keys', { name: 'k', scopes: ['admin'], org_id: 'o' })
  const made = await world.request('POST', AT, { key: other.api_key, body: { ...body, name: 'webhook' } })
  expect(made).toMatchObject({ status: 201, body: { org_id: 'o', name: 'webhook' } })
})

it('an invalid integration is refused, naming the field', async () => {
  const { world, key } = await start()
  const refused: [body: object, message: string][] = [
    [{ kind: 'logs', type: 'statsd', endpoint: 'udp://h:1' }, 'type: there is no logs integration of type statsd'],
    [{ kind: 'logs', type: 'webhook' }, 'endpoint is missing'],
    [{ kind: 'logs', type: 'webhook', endpoint: 'ftp://h' }, 'endpoint must begin with http:// or https://'],
    [{ kind: 'logs', type: 'webhook', endpoint: 'http://a:b@h' }, 'endpoint must not contain a password'],
    [{ kind: 'logs', type: 'webhook', endpoint: 'http://169.254.169.254/latest' }, 'endpoint: 169.254.169.254 is'],
    [{ kind: 'logs', type: 'webhook', endpoint: 'http://[::ffff:a9fe:a9fe]/' }, 'to which nothing is sent'],
    [{ kind: 'logs', type: 'splunk', endpoint: 'http://h' }, 'config.token is missing'],
    [
      { kind: 'logs', type: 'webhook', endpoint: 'http://h', config: { secret: 'whsec_!!' } },
      'config.secret: after whsec_',
    ],
    [{ kind: 'logs', type: 'otlp', endpoint: 'http://h', format: 'hec' }, 'format: otlp integrations do not have'],
    [{ type: 'statsd', endpoint: 'udp://h:1', topics: ['audit'] }, 'topics: only log integrations have them'],
    [{ kind: 'logs', type: 'otlp', endpoint: 'http://h', config: { x: '1' } }, 'config.x is not a setting of otlp'],
    [{ kind: 'logs', type: 'otlp', endpoint: 'http://h', config: { headers: { 'a b': '' } } }, "config.headers: 'a b'"],
    ...['Transfer-Encoding', 'content-length', 'Connection', 'upgrade', 'Expect', 'TE', 'trailer'].map(
      (name): [object, string] => [
        { type: 'webhook', endpoint: 'http://h', config: { headers: { [name]: 'x' } } },
        `config.headers: '${name}' is set by the service itself`,
      ],
    ),
    [
      { type: 'webhook', endpoint: 'http://h', config: { headers: { x: 'é中' } } },
      'config.headers.x contains a character that HTTP headers cannot contain',
    ],
    [
      { type: 'otlp', endpoint: 'http://h', config: { bearer_token: '“t”' } },
      'config.bearer_token contains a character',
    ],
    [
      { type: 'splunk', endpoint: 'http://h', config: { token: 't\u0007' } },
      'config.token contains a character that HTTP headers cannot contain: use only Latin-1 characters, and no control',
    ],
    [{ type: 'syslog', endpoint: 'udp://h:99999' }, 'such as udp://receiver.example:514.'],
    [
      { type: 'elasticsearch', endpoint: 'http://h/es/log/_bulk', config: { index: 'log' } },
      'config.index cannot be combined with an endpoint that ends with /_bulk',
    ],
  ]
  for (const [body, message] of refused) {
    expect([body, await world.request('POST', AT, { key, body })]).toMatchObject([
      body,
      { status: 400, body: { message: expect.stringContaining(message) } },
    ])
  }
})

it('a name of a forbidden address is not connected to, and a redirect is not followed', async () => {
  const { ask, create } = await start()
  const elsewhere = await startReceiver()
  const receiver = await startReceiver()
  receiver.respond = (_request, response) => void response.writeHead(302, { location: elsewhere.url }).end()
  const { id } = await create({ kind: 'logs', type: 'webhook', endpoint: receiver.url })
  expect(await ask('POST', `${AT}/${id}/test`)).toMatchObject({ ok: false, status: 302 })
  expect(elsewhere.received).toEqual([])
})

it('an organization sees, tests, and deletes only its own, and gets only its own events', async () => {
  const { world, key } = await start()
  const keyOf = async (org_id: string) => {
    const body = { name: org_id, scopes: ['admin', 'devices:write', 'devices:read'], org_id }
    return ((await world.request('POST', '/api/v1/keys', { key, body })).body as { api_key: string }).api_key
  }
  const [one, other] = [await keyOf('one'), await keyOf('other')]
  const receiver = await startReceiver()
  const body = { kind: 'logs', type: 'webhook', endpoint: receiver.url }
  const { id } = (await world.request('POST', AT, { key: one, body })).body as Integration
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/test'],
    ['POST', '/pause'],
    ['GET', '/dead-letters'],
    ['POST', '/replay'],
  ] as const) {
    expect((await world.request(method, `${AT}/${id}${path}`, { key: other })).status).toBe(404)
  }
  expect((await world.request('GET', AT, { key: other })).body).toEqual({ integrations: [] })
  for (const [org, name] of [
    ['other', 'hidden'],
    ['one', 'seen'],
  ] as const) {
    const made = await world.request('POST', '/api/v1/device-groups', {
      key: org === 'one' ? one : other,
      body: { org_id: org, name },
    })
    expect(made.status).toBeLessThan(300)
  }
  await deliverUntil(world, () => receiver.received.length > 0)
  const { events } = JSON.parse(receiver.texts()[0]!) as { events: { org_id: string }[] }
  expect(events.map(({ org_id }) => org_id)).toEqual(['one'])
})
