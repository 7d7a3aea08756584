import { expect, it } from 'vitest'
import { formOf, startWorld, type World } from '../../../../test/world.ts'

interface Paired {
  readonly service_url?: string | null
  readonly pairing_id: string
  readonly code: string
  readonly status: string
  readonly device_id: string
  readonly api_key: string
}

const call = async (world: World, method: string, path: string, body?: object, key?: string) => {
  const response = await world.request(method, `/api/v1${path}`, { key, body })
  return { status: response.status, body: response.body as Paired & { message: string } }
}

const withModel = async (world: World, key: string) => {
  await call(world, 'POST', '/models', { name: 'net' }, key)
  await world.request('POST', '/api/v1/models/net/versions/upload', { key, body: formOf('weights') })
}

const startOpen = async () => {
  const world = await startWorld()
  const { key } = await world.register('operator')
  await withModel(world, key)
  return { world, key }
}

it('a code registers a device, which gets its key and the model, and the session shows the progress', async () => {
  const { world, key } = await startOpen()
  const made = await call(world, 'POST', '/pairings', { model_name: 'net' }, key)
  expect(made).toEqual({
    status: 201,
    body: {
      pairing_id: expect.any(String),
      code: expect.stringMatching(/^[2-9A-Z]{4}-[2-9A-Z]{4}$/),
      org_id: null,
      status: 'waiting',
      reason: null,
      model_name: 'net',
      // The latest version when the code is created.
      model_version: '1.0.0',
      device_id: null,
      platform: null,
      device_state: null,
      deployment_id: null,
      created_at: '2026-01-01T00:00:00.000Z',
      expires_at: '2026-01-01T00:05:00.000Z',
      service_url: null,
    },
  })
  const { pairing_id: id, code } = made.body
  const claim = { code: code.toLowerCase().replace('-', ' '), device_id: 'phone', platform: 'ios', device_name: 'Ada' }
  const claimed = await call(world, 'POST', '/pairings/claim', claim)
  const { code: _, service_url: __, ...session } = made.body
  expect(claimed).toEqual({
    status: 200,
    body: {
      ...session,
      status: 'deploying',
      device_id: 'phone',
      platform: 'ios',
      deployment_id: id,
      api_key: expect.stringMatching(/^sk_live_\w{32}$/),
    },
  })
  const device = claimed.body.api_key
  expect((await call(world, 'GET', '/devices/phone', undefined, device)).body).toMatchObject({
    platform: 'ios',
    capabilities: { device_name: 'Ada' },
  })
  const { body } = await call(world, 'GET', '/devices/phone/assignments', undefined, device)
  expect(body).toMatchObject({ assignments: [{ plan_id: id, model_name: 'net', version: '1.0.0' }] })
  const seen: unknown[] = []
  for (const state of ['downloading', 'verifying', 'active']) {
    await call(world, 'POST', `/devices/phone/assignments/${id}/report`, { state, version: '1.0.0' }, device)
    const { status, device_state } = (await call(world, 'GET', `/pairings/${id}`, undefined, key)).body as never
    seen.push([status, device_state])
  }
  expect(seen).toEqual([
    ['deploying', 'downloading'],
    ['deploying', 'verifying'],
    ['active', 'active'],
  ])
})

it('a device that fails makes the pairing fail, with its reason', async () => {
  const { world, key } = await startOpen()
  const { pairing_id: id, code } = (await call(world, 'POST', '/pairings', { model_name: 'net' }, key)).body
  const { api_key } = (await call(world, 'POST', '/pairings/claim', { code, device_id: 'phone' })).body
  const report = { state: 'failed', version: '1.0.0', reason: 'no room' }
  await call(world, 'POST', `/devices/phone/assignments/${id}/report`, report, api_key)
  expect((await call(world, 'GET', `/pairings/${id}`, undefined, key)).body).toMatchObject({
    status: 'failed',
    reason: 'no room',
  })
})

it('a version without a model is refused', async () => {
  const world = await startWorld()
  const { key } = await world.register('d')
  expect(await world.request('POST', '/api/v1/pairings', { key, body: { model_version: '1.0.0' } })).toMatchObject({
    status: 400,
    body: { message: 'model_version: name the model too (model_name), or leave it out.' },
  })
})

it('a code works once, and for five minutes', async () => {
  const { world, key } = await startOpen()
  const first = (await call(world, 'POST', '/pairings', {}, key)).body
  const claims = await Promise.all(
    ['a', 'b', 'c'].map((device_id) => call(world, 'POST', '/pairings/claim', { code: first.code, device_id })),
  )
  expect(claims.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  expect((await call(world, 'GET', `/pairings/${first.pairing_id}`, undefined, key)).body.status).toBe('paired')

  const late = (await call(world, 'POST', '/pairings', {}, key)).body
  await world.advance(300)
  expect(await call(world, 'POST', '/pairings/claim', { code: late.code, device_id: 'd' })).toEqual({
    status: 409,
    body: {
      error: 'conflict',
      message: 'This pairing code has expired: codes are valid for 5 minutes. Create a new one.',
      status_code: 409,
    },
  })
  expect((await call(world, 'GET', `/pairings/${late.pairing_id}`, undefined, key)).body).toMatchObject({
    status: 'expired',
    reason: 'The code was not used within 5 minutes.',
  })
})

it('a refusal leaves the code unchanged: another platform, a name that is taken, no name', async () => {
  const { world, key } = await startOpen()
  const { code } = (await call(world, 'POST', '/pairings', { platform: 'ios' }, key)).body
  const claim = (fields: object, bearer?: string) => call(world, 'POST', '/pairings/claim', { code, ...fields }, bearer)
  expect([
    (await claim({ device_id: 'a', platform: 'android' })).status,
    (await claim({ device_id: 'operator', platform: 'ios' })).status,
    (await claim({ platform: 'ios' })).status,
    (await claim({ device_id: 'a', platform: 'toaster' })).status,
    (await claim({ device_id: 'a', platform: 'ios' }, 'sk_live_wrong')).status,
    (await claim({ device_id: 'a', platform: 'ios' })).status,
  ]).toEqual([400, 409, 400, 400, 401, 200])
})

it('a registered device takes a code with its own key, and gets no other key', async () => {
  const { world, key } = await startOpen()
  const phone = await world.register('phone')
  const { code } = (await call(world, 'POST', '/pairings', { model_name: 'net' }, key)).body
  expect((await call(world, 'POST', '/pairings/claim', { code }, phone.key)).body).toMatchObject({
    device_id: 'phone',
    api_key: null,
    status: 'deploying',
  })
})

it('codes cannot be brute-forced: an address may send ten wrong ones a minute', async () => {
  const { world, key } = await startOpen()
  const { code } = (await call(world, 'POST', '/pairings', {}, key)).body
  const guess = async (text: string) =>
    (await call(world, 'POST', '/pairings/claim', { code: text, device_id: 'x' })).status
  const guesses = await Promise.all(Array.from({ length: 10 }, () => guess('2222-2222')))
  expect([...new Set(guesses)]).toEqual([404])
  expect([await guess(code), await guess('nonsense')]).toEqual([429, 429])
  await world.advance(120)
  expect(await guess(code)).toBe(200)
})

it('under token enrollment the code admits the device to the organization of its creator', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const admin = world.service.firstAdminKey!
  const keyOf = async (org_id: string, scopes: string[]) => {
    const { body } = await world.request('POST', '/api/v1/keys', { key: admin, body: { name: 'k', org_id, scopes } })
    return (body as { api_key: string }).api_key
  }
  const acme = await keyOf('acme', ['devices:read', 'devices:write', 'models:read', 'models:write'])
  const other = await keyOf('other', ['devices:read', 'devices:write'])
  const narrow = await keyOf('acme', ['devices:write'])
  await withModel(world, acme)
  expect([
    (await call(world, 'POST', '/pairings', {})).status,
    (await call(world, 'POST', '/pairings', { model_name: 'net' }, narrow)).status,
    (await call(world, 'POST', '/pairings', { org_id: 'other' }, acme)).status,
  ]).toEqual([401, 403, 403])
  const { pairing_id: id, code } = (await call(world, 'POST', '/pairings', { model_name: 'net' }, acme)).body
  const claimed = (await call(world, 'POST', '/pairings/claim', { code, device_id: 'phone' })).body
  expect(claimed).toMatchObject({ org_id: 'acme', status: 'deploying' })
  expect((await call(world, 'GET', '/devices/phone', undefined, acme)).body).toMatchObject({ org_id: 'acme' })
  expect((await call(world, 'GET', '/devices/phone/assignments', undefined, claimed.api_key)).status).toBe(200)
  // A device's key can neither create codes nor read the session.
  expect([
    (await call(world, 'POST', '/pairings', {}, claimed.api_key)).status,
    (await call(world, 'GET', `/pairings/${id}`, undefined, claimed.api_key)).status,
    (await call(world, 'GET', `/pairings/${id}`, undefined, other)).status,
    (await call(world, 'GET', '/pairings/nothing', undefined, acme)).status,
  ]).toEqual([403, 403, 404, 404])
  // A code does not admit a device of another organization.
  const { code: second } = (await call(world, 'POST', '/pairings', {}, other)).body
  expect((await call(world, 'POST', '/pairings/claim', { code: second }, claimed.api_key)).status).toBe(403)
})

it('the page behind the QR code shows the code, and nothing else from the link', async () => {
  const { world, key } = await startOpen()
  const page = async (query: string) => {
    const { status, body } = await world.request('GET', `/pair${query}`)
    return [status, String(body)] as const
  }
  const { code } = (await call(world, 'POST', '/pairings', {}, key)).body
  const shown = expect.stringContaining(`<strong>${code}</strong>`)
  const refused = expect.stringContaining('<p>This pairing code does not exist, was used already, or has expired.')
  expect(await page(`?code=${code.toLowerCase().replace('-', '')}`)).toEqual([200, shown])
  for (const query of ['', '?code=%3Cscript%3E', '?code=a&code=b', '?code=ABCD-2345']) {
    expect(await page(query), query).toEqual([404, refused])
  }
  await call(world, 'POST', '/pairings/claim', { code, device_id: 'phone' })
  expect(await page(`?code=${code}`)).toEqual([404, refused])
  const late = (await call(world, 'POST', '/pairings', {}, key)).body
  await world.advance(301)
  expect(await page(`?code=${late.code}`)).toEqual([404, refused])
})

it('the page does not help to guess codes: wrong ones count toward the same limit as entered ones', async () => {
  const { world } = await startOpen()
  const statuses: number[] = []
  for (let n = 0; n < 11; n++) statuses.push((await world.request('GET', '/pair?code=ABCD-2345')).status)
  expect(statuses).toEqual([...Array(10).fill(404), 429])
})
