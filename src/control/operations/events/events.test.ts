import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { emptyFolder, freshPostgresUrl, hasPostgres } from '../../../../test/databases.ts'
import { formOf, startWorld, type World } from '../../../../test/world.ts'
import { readConfig } from '../../../config.ts'
import { openBrowser, PASSWORD, startPeople } from '../../access/sign-in/people.fixture.ts'
import { createControlPlane } from '../../app.ts'
import { openFederation } from '../../federations/federation.fixture.ts'
import { openStream, type ReceivedStream } from './events.fixture.ts'

const time = '2026-01-01T00:00:00.000Z'

const startRound = async (world: World, key: string, fields: object = {}) => {
  const body = { target_devices: 1, min_devices: 1, ...fields }
  const { status, body: round } = await world.request('POST', '/api/v1/training/rounds/start', { key, body })
  if (status !== 201) throw new Error(JSON.stringify(round))
  return round as { id: string; round_number: number; org_id: string | null }
}

/** Returns the next event of this type. */
const nextOf = async (stream: ReceivedStream, type: string) => {
  for (;;) {
    const event = await stream.next()
    if (event === null || event.event === type) return event
  }
}

describe('the event stream', () => {
  it('reports that a round has started, received an update, closed, and completed, and that it made a model', async () => {
    const world = await startWorld()
    const { key } = await world.register('a')
    const stream = await openStream(world.baseUrl, { key, query: '?topics=round,model' })
    expect([stream.status, stream.headers.get('content-type'), stream.headers.get('x-accel-buffering')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      'no',
    ])
    // Has the id of the newest event, if the event of the registration is already written.
    expect(await stream.next()).toMatchObject({ event: 'ready', data: {} })
    const round = await startRound(world, key)
    const subject = { kind: 'round', id: round.id }
    const payload = { round_number: 1, job_id: null }
    expect(await stream.next()).toEqual({
      id: expect.any(Number),
      event: 'round.started',
      data: { type: 'round.started', subject, payload, time },
    })
    const body = formOf(new Uint8Array(new Float32Array([1, 2]).buffer), { num_samples: 1 }, 'w.bin')
    await world.request('POST', `/api/v1/training/rounds/${round.id}/updates`, { key, body })
    expect((await nextOf(stream, 'round.collected'))?.data).toEqual({ type: 'round.collected', subject, payload, time })
    const completed = (await nextOf(stream, 'round.completed'))?.data as { payload: { model_id: string } }
    expect(completed).toEqual({
      type: 'round.completed',
      subject,
      payload: { ...payload, model_id: expect.any(String) },
      time,
    })
    expect((await nextOf(stream, 'model.version_added'))?.data).toEqual({
      type: 'model.version_added',
      subject: { kind: 'model', id: completed.payload.model_id },
      payload: { version: 1 },
      time,
    })
  })

  it('reports rounds and jobs of a federation to its members, whichever started them, and to no others', async () => {
    const { world, send, keyOf, found } = await openFederation()
    const acme = await keyOf('acme')
    const federation = await found(['rival'])
    const streams = {
      rival: await openStream(world.baseUrl, { key: await keyOf('rival'), query: '?topics=round,job' }),
      stranger: await openStream(world.baseUrl, { key: await keyOf('stranger'), query: '?topics=round,job,group' }),
    }
    const own = await send(acme, 'POST', '/training/rounds/start', { target_devices: 1, min_devices: 1 })
    await send(acme, 'POST', `/training/rounds/${own.body.id}/cancel`, {})
    const round = await send(acme, 'POST', '/training/rounds/start', { target_devices: 1, min_devices: 1, federation })
    expect(round.status).toBe(201)
    const started = await nextOf(streams.rival, 'round.started')
    expect(started?.data).toMatchObject({ subject: { id: round.body.id } })
    await send(acme, 'POST', `/training/rounds/${round.body.id}/cancel`, {})
    expect((await nextOf(streams.rival, 'round.failed'))?.data).toMatchObject({ subject: { id: round.body.id } })
    // A member that missed the event receives it later, and still no others do.
    const again = await openStream(world.baseUrl, {
      key: await keyOf('rival'),
      query: '?topics=round',
      lastEventId: started!.id!,
    })
    expect((await again.next())?.data).toMatchObject({ type: 'round.failed', subject: { id: round.body.id } })
    const { body: group } = await send(await keyOf('stranger'), 'POST', '/device-groups', {
      name: 'g',
      org_id: 'stranger',
    })
    expect((await streams.stranger.next())?.event).toBe('ready')
    expect((await streams.stranger.next())?.data).toMatchObject({ type: 'group.changed', subject: { id: group.id } })
    await send(await keyOf('stranger'), 'PUT', `/device-groups/${group.id}`, { name: 'h' })
    expect((await streams.stranger.next())?.data).toMatchObject({ type: 'group.changed', subject: { id: group.id } })
    await send(await keyOf('stranger'), 'DELETE', `/device-groups/${group.id}`)
    expect((await streams.stranger.next())?.data).toMatchObject({ type: 'group.changed', subject: { id: group.id } })
  })

  it('reports a new model, its version and its metadata, and the moves and the deletion of its aliases', async () => {
    const world = await startWorld()
    const { key } = await world.register('a')
    const stream = await openStream(world.baseUrl, { key, query: '?topics=model' })
    expect((await stream.next())?.event).toBe('ready')
    const { body } = await world.request('POST', '/api/v1/models', { key, body: { name: 'scorer' } })
    const { id } = body as { id: string }
    const file = formOf('weights', { version_label: '1.0.0' }, 'w.h5')
    await world.request('POST', '/api/v1/models/scorer/versions/upload', { key, body: file })
    const alias = '/api/v1/models/scorer/aliases/production'
    for (const accuracy of [0.9, 0.9])
      await world.request('PATCH', '/api/v1/models/scorer/versions/1', { key, body: { metadata: { accuracy } } })
    // Repeating a move changes nothing.
    for (const version of ['1.0.0', '1'])
      expect((await world.request('PUT', alias, { key, body: { version } })).status).toBe(200)
    expect((await world.request('DELETE', alias, { key })).status).toBe(200)
    for (const [type, payload] of [
      ['model.created', {}],
      ['model.version_added', { version: 1 }],
      ['model.version_changed', { version: 1 }],
      ['model.alias_moved', { alias: 'production', version: 1 }],
      ['model.alias_moved', { alias: 'production', version: null }],
    ] as const)
      expect((await stream.next())?.data).toEqual({ type, subject: { kind: 'model', id }, payload, time })
  })

  it('counts updates and registrations together, once a second', async () => {
    const world = await startWorld()
    const { key } = await world.register('a')
    await world.advance(1)
    const stream = await openStream(world.baseUrl, { key, query: '?topics=device,round' })
    const round = await startRound(world, key, { target_devices: 2, min_devices: 2 })
    expect((await nextOf(stream, 'round.started'))?.data).toMatchObject({ subject: { id: round.id } })
    const body = formOf(new Uint8Array(new Float32Array([1, 2]).buffer), { num_samples: 1 }, 'w.bin')
    await world.request('POST', `/api/v1/training/rounds/${round.id}/updates`, { key, body })
    await world.advance(1)
    expect((await nextOf(stream, 'update.accepted'))?.data).toMatchObject({ subject: { kind: 'round', id: round.id } })
    await world.register('b')
    await world.advance(1)
    expect((await nextOf(stream, 'device.registered'))?.data).toMatchObject({
      subject: { kind: 'device', id: null },
      payload: { count: 1 },
    })
  })

  it('continues after the last event that a client received, and reports where it cannot', async () => {
    const world = await startWorld()
    const { key } = await world.register('a')
    // Writes the event of the registration, so that it takes no later number.
    await world.advance(1)
    const first = await openStream(world.baseUrl, { key, query: '?topics=round' })
    expect((await first.next())?.event).toBe('ready')
    const { id: roundId } = await startRound(world, key)
    const started = (await first.next())!
    first.close()
    await world.request('POST', `/api/v1/training/rounds/${roundId}/cancel`, { key })
    const resumed = await openStream(world.baseUrl, { key, query: '?topics=round', lastEventId: started.id! })
    const failed = (await resumed.next())!
    expect(failed.data).toEqual({
      type: 'round.failed',
      subject: { kind: 'round', id: roundId },
      payload: { round_number: 1, job_id: null, reason: 'The round was canceled.' },
      time: world.now().toISOString(),
    })
    const again = await startRound(world, key)
    expect((await resumed.next())?.data).toMatchObject({ type: 'round.started', subject: { id: again.id } })
    for (const lastEventId of [started.id! + 1000, 'nonsense']) {
      const lost = await openStream(world.baseUrl, { key, query: '?topics=round', lastEventId })
      expect(await lost.next()).toEqual({ id: failed.id! + 1, event: 'resync', data: {} })
    }
    await world.advance(25 * 60 * 60)
    await startRound(world, key)
    await world.service.runRetention()
    const late = await openStream(world.baseUrl, { key, query: '?topics=round', lastEventId: started.id! })
    expect((await late.next())?.event).toBe('resync')
  })

  it('shows an organization no events of another', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const admin = world.service.firstAdminKey!
    const keyOf = async (name: string) => {
      const org = await world.request('POST', '/api/v1/orgs', { key: admin, body: { org_id: name, name } })
      expect([200, 201]).toContain(org.status)
      const { body } = await world.request('POST', '/api/v1/keys', {
        key: admin,
        body: { name, org_id: name, scopes: ['training:read', 'training:write', 'devices:read'] },
      })
      return (body as { key?: string; api_key?: string }).api_key ?? (body as { key: string }).key
    }
    const [acme, globex] = [await keyOf('acme'), await keyOf('globex')]
    const streams = await Promise.all([acme, globex, admin].map((key) => openStream(world.baseUrl, { key })))
    for (const stream of streams) expect((await stream.next())?.event).toBe('ready')
    const ofAcme = await startRound(world, acme)
    const ofGlobex = await startRound(world, globex)
    const ids = async (stream: ReceivedStream, count: number) => {
      const seen: unknown[] = []
      while (seen.length < count) seen.push((await nextOf(stream, 'round.started'))?.data)
      return seen.map((data) => (data as { subject: { id: string } }).subject.id)
    }
    expect(await ids(streams[0]!, 1)).toEqual([ofAcme.id])
    expect(await ids(streams[1]!, 1)).toEqual([ofGlobex.id])
    expect(await ids(streams[2]!, 2)).toEqual([ofAcme.id, ofGlobex.id])
    const stolen = await openStream(world.baseUrl, { key: globex, query: '?topics=model' })
    expect([
      stolen.status,
      (await openStream(world.baseUrl, { key: globex, query: '?topics=devices' })).status,
    ]).toEqual([403, 400])
  })

  it('is limited to eight for each key, and 204 means that there are no more', async () => {
    const world = await startWorld()
    const [{ key }, other] = [await world.register('a'), await world.register('b')]
    const streams: ReceivedStream[] = []
    for (let n = 0; n < 8; n++) streams.push(await openStream(world.baseUrl, { key }))
    expect((await openStream(world.baseUrl, { key })).status).toBe(204)
    expect((await openStream(world.baseUrl, { key: other.key })).status).toBe(200)
    streams[0]!.close()
    await expect.poll(async () => (await openStream(world.baseUrl, { key })).status).toBe(200)
  })

  it('ends at once when its key was revoked or its session ended, before it sends anything more', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const admin = world.service.firstAdminKey!
    const make = async (name: string) => {
      const body = { name, org_id: 'acme', scopes: ['devices:read', 'devices:write'] }
      return (await world.request('POST', '/api/v1/keys', { key: admin, body })).body as { id: string; api_key: string }
    }
    const [lasting, revoked] = [await make('lasting'), await make('revoked')]
    const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
    const signedIn = await fetch(`${world.baseUrl}/api/v1/session`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ api_key: lasting.api_key }),
    })
    const cookie = signedIn.headers.get('set-cookie')!.split(';', 1)[0]!
    const streams = [
      await openStream(world.baseUrl, { key: revoked.api_key }),
      await openStream(world.baseUrl, { headers: { 'sec-fetch-site': 'same-origin', cookie } }),
      await openStream(world.baseUrl, { key: lasting.api_key }),
    ]
    for (const stream of streams) expect((await stream.next())?.event).toBe('ready')

    await world.request('DELETE', `/api/v1/keys/${revoked.id}`, { key: admin })
    const { status } = await fetch(`${world.baseUrl}/api/v1/session`, {
      method: 'DELETE',
      headers: { ...headers, cookie },
      body: '{}',
    })
    expect(status).toBe(204)
    await world.request('POST', '/api/v1/devices/register', { key: lasting.api_key, body: { device_id: 'new' } })
    await world.advance(1)
    expect(await Promise.all(streams.map((stream) => stream.next()))).toMatchObject([
      null,
      null,
      { event: 'device.registered' },
    ])
  })

  it('ends at once when its person was removed, or their session was ended by another', async () => {
    const { world, byKey, join } = await startPeople()
    const follow = async (email: string) => {
      const browser = openBrowser(world)
      expect((await browser.signIn(email)).status).toBe(201)
      const cookie = browser.cookie('session')!.join('=')
      return openStream(world.baseUrl, { headers: { origin: world.baseUrl, cookie } })
    }
    const [removed, staying] = [await join('removed@example.org'), await join('staying@example.org')]
    const streams = [
      await follow('removed@example.org'),
      await follow('staying@example.org'),
      await openStream(world.baseUrl, { key: world.service.firstAdminKey! }),
    ]
    for (const stream of streams) expect((await stream.next())?.event).toBe('ready')
    const { body } = await byKey('GET', '/sessions')
    const { sessions } = body as { sessions: { id: string; person_id: string }[] }
    await byKey('DELETE', `/sessions/${sessions.find(({ person_id }) => person_id === staying)!.id}`)
    await byKey('DELETE', `/team/${removed}`)
    await byKey('POST', '/device-groups', { org_id: 'acme', name: 'g' })
    expect(await Promise.all(streams.map((stream) => stream.next()))).toMatchObject([
      null,
      null,
      { event: 'group.changed' },
    ])
  })

  it('ends at once when its session got another token, with which its owner follows again', async () => {
    const { world, byKey, join } = await startPeople()
    await join('ada@example.org')
    const browser = openBrowser(world)
    expect((await browser.signIn('ada@example.org')).status).toBe(201)
    const follow = (cookie: string) => openStream(world.baseUrl, { headers: { origin: world.baseUrl, cookie } })
    const change = { old_password: PASSWORD, new_password: 'another four words here' }
    const lasting = await openStream(world.baseUrl, { key: world.service.firstAdminKey! })
    expect((await lasting.next())?.event).toBe('ready')
    for (const [method, path, body] of [
      ['POST', '/session/confirm', { password: PASSWORD }],
      ['PUT', '/account/password', change],
    ] as const) {
      const former = browser.cookie('session')!.join('=')
      const stream = await follow(former)
      expect((await stream.next())?.event).toBe('ready')
      expect((await browser.call(method, path, body)).status).toBeLessThan(300)
      await byKey('POST', '/device-groups', { org_id: 'acme', name: method })
      expect(await stream.next()).toBeNull()
      // Otherwise the next stream could begin before it.
      expect((await lasting.next())?.event).toBe('group.changed')
      expect((await follow(former)).status).toBe(401)
    }
    expect(await (await follow(browser.cookie('session')!.join('='))).next()).toMatchObject({ event: 'ready' })
  })

  it('ends although the notification of the revocation was lost and the clock stands still', async () => {
    const world = await startWorld()
    const { key, deviceId } = await world.register('a')
    const stream = await openStream(world.baseUrl, { key, query: '?topics=round' })
    expect((await stream.next())?.event).toBe('ready')
    await sql`update keys set revoked_at = ${world.now()} where name = ${deviceId}`.execute(world.database!.sql)
    expect(await stream.next()).toBeNull()
  })

  it('ends when the service stops', async () => {
    const world = await startWorld({ durable: true, database: hasPostgres() ? 'postgres' : 'embedded' })
    const { key } = await world.register('a')
    const stream = await openStream(world.baseUrl, { key })
    expect((await stream.next())?.event).toBe('ready')
    await world.restart()
    expect(await stream.next()).toBeNull()
    expect((await (await openStream(world.baseUrl, { key })).next())?.event).toBe('ready')
  })

  it.skipIf(!hasPostgres())('receives events of one process at another, and continues there', async () => {
    const [databaseUrl, dataDir] = [await freshPostgresUrl(), await emptyFolder()]
    const config = { ...readConfig({ SERVICE_LOG_LEVEL: 'error' }), databaseUrl, dataDir, port: 0 }
    const start = async () => {
      const service = await createControlPlane(config)
      onTestFinished(() => service.close())
      return service.app.listen({ host: config.host, port: 0 })
    }
    const [one, two] = [await start(), await start()]
    const post = async (baseUrl: string, path: string, body: object, key?: string) => {
      const headers = { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) }
      const response = await fetch(`${baseUrl}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      return (await response.json()) as { id: string; api_key: string }
    }
    const { api_key: key } = await post(one, '/devices/register', { device_id: 'a' })
    const [here, there] = [
      await openStream(one, { key, query: '?topics=round' }),
      await openStream(two, { key, query: '?topics=round' }),
    ]
    const sizes = { target_devices: 1, min_devices: 1 }
    const round = await post(one, '/training/rounds/start', sizes, key)
    const started = await nextOf(here, 'round.started')
    expect(started?.data).toMatchObject({ subject: { id: round.id } })
    expect(await nextOf(there, 'round.started')).toEqual(started)
    await post(two, `/training/rounds/${round.id}/cancel`, {}, key)
    const failed = await nextOf(here, 'round.failed')
    expect(await nextOf(there, 'round.failed')).toEqual(failed)
    const resumed = await openStream(two, { key, query: '?topics=round', lastEventId: started!.id! })
    expect(await resumed.next()).toEqual(failed)
  })
})

it('counted events are written later if the database refuses them once', async () => {
  const world = await startWorld()
  await world.register('phone')
  const { sql: db } = world.database!
  await sql`alter table events_outbox rename to away`.execute(db)
  await world.service.runDueTasks()
  await sql`alter table away rename to events_outbox`.execute(db)
  await world.service.runDueTasks()
  const { rows } = await sql`select type, payload from events_outbox where type = 'device.registered'`.execute(db)
  expect(rows).toEqual([{ type: 'device.registered', payload: { count: 1 } }])
})

it('a device’s own key may not follow approvals, and the error says so', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const body = { device_id: 'd', org_id: 'o' }
  const response = await world.request('POST', '/api/v1/devices/register', { key: world.service.firstAdminKey!, body })
  const key = (response.body as { api_key: string }).api_key
  const refused = await world.request('GET', '/api/v1/events?topics=approval', { key })
  expect(refused).toMatchObject({
    status: 403,
    body: { message: "topics: a device's own key cannot follow 'approval'. Leave it out, or use another key." },
  })
  const other = await world.request('GET', '/api/v1/events?topics=group', { key })
  expect(other).toMatchObject({
    status: 403,
    body: { message: expect.stringContaining("needs the scope 'devices:read'") },
  })
})
