import { describe, expect, it } from 'vitest'
import { organizations } from '../../../../test/organizations.ts'
import { startWorld } from '../../../../test/world.ts'

const at = '2026-01-01T00:00:00.000Z'

const open = organizations()

describe('the service as a whole', () => {
  it('reports its health without a key', async () => {
    const world = open()
    expect(await world.request('GET', '/api/v1/health')).toMatchObject({
      status: 200,
      body: { status: 'healthy', version: '1.0.0', timestamp: at },
    })
  })

  it('counts devices, models and rounds', async () => {
    const world = await startWorld()
    const { key } = await world.register('a')
    const status = async () => (await world.request('GET', '/api/v1/status', { key })).body
    expect(await status()).toEqual({
      status: 'operational',
      active_devices: 1,
      total_devices: 1,
      current_round_number: null,
      current_round_status: null,
      total_models: 0,
      timestamp: at,
    })
    await world.register('b')
    await world.request('PUT', '/api/v1/devices/b/heartbeat', { key, body: { status: 'inactive' } })
    await world.request('POST', '/api/v1/models', { key, body: {} })
    await world.request('POST', '/api/v1/training/rounds/start', { key, body: { target_devices: 1, min_devices: 1 } })
    expect(await status()).toEqual({
      status: 'operational',
      active_devices: 1,
      total_devices: 2,
      current_round_number: 1,
      current_round_status: 'active',
      total_models: 1,
      timestamp: at,
    })
    await world.advance(301)
    expect(await status()).toMatchObject({ active_devices: 0, total_devices: 2, current_round_status: 'failed' })
  })

  it('serves its metrics and its OpenAPI document without a key', async () => {
    const world = open()
    const { body } = await world.request('GET', '/metrics')
    expect(body).toContain('http_requests_total')
    // Without the dashboard, its pages return the document.
    for (const path of ['/openapi.json', '/docs', '/'])
      expect((await world.request('GET', path)).body).toMatchObject({ openapi: '3.1.0' })
  })
})

describe('every path of the API', () => {
  it('requires a key unless it is public', async () => {
    const world = open()
    const { body } = await world.request('GET', '/openapi.json')
    const { paths } = body as { paths: Record<string, Record<string, { security?: unknown[] }>> }
    const keyless: string[] = []
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        const url = path.replaceAll(/\{\w+\}/g, 'x')
        const { status, body: response } = await world.request(method.toUpperCase(), url)
        if (operation.security?.length === 0) keyless.push(`${method} ${path}`)
        // A response to HEAD has no body.
        else if (method === 'head') expect([path, status]).toEqual([path, 401])
        else expect([path, status, response]).toMatchObject([path, 401, { error: 'unauthorized', status_code: 401 }])
      }
    }
    expect(keyless.sort()).toEqual([
      'delete /api/v1/session',
      'get /api/v1/health',
      'get /api/v1/session',
      'post /api/v1/devices/register',
      // Authorized by its token.
      'post /api/v1/invitations/accept',
      'post /api/v1/invitations/read',
      'post /api/v1/login/authorize',
      'post /api/v1/login/device',
      // Authorized by a session or a key of the request.
      'post /api/v1/login/device/decision',
      'post /api/v1/login/device/request',
      'post /api/v1/login/device/token',
      'post /api/v1/login/token',
      // Authorized by its code.
      'post /api/v1/pairings/claim',
      'post /api/v1/session',
      'post /api/v1/session/oidc',
      'post /api/v1/session/oidc/callback',
      'post /api/v1/session/passkey',
      'post /api/v1/session/passkey/options',
      'post /api/v1/session/second-factor',
    ])
  })

  it('that does not exist is 404', async () => {
    const world = open()
    const { key } = await world.register('a')
    for (const call of ['GET /api/v1/nothing', 'GET /nothing', 'PATCH /api/v1/status', 'DELETE /api/v1/devices/a']) {
      const [method, path] = call.split(' ') as [string, string]
      const { status, body } = await world.request(method, path, { key })
      expect([call, status, body]).toEqual([
        call,
        404,
        { error: 'not_found', message: expect.any(String), status_code: 404 },
      ])
    }
  })

  it('refuses bodies that are not JSON objects with 400', async () => {
    const world = open()
    const { key } = await world.register('a')
    const refused: [body: string, type: string][] = [
      ['{"target_devices":', 'application/json'],
      ['target_devices=1', 'application/x-www-form-urlencoded'],
      ['{"target_devices":1,"min_devices":1}', 'text/plain'],
      ['[]', 'application/json'],
      ['null', 'application/json'],
      ['', 'application/json'],
    ]
    for (const [body, type] of refused) {
      const headers = { 'content-type': type }
      const response = await world.request('POST', '/api/v1/training/rounds/start', { key, body, headers })
      expect([body, response.body]).toEqual([
        body,
        { error: 'bad_request', message: expect.any(String), status_code: 400 },
      ])
    }
  })

  it('is limited to a number of requests a minute for each key', async () => {
    const world = await startWorld({ config: { rateLimitPerMinute: 20 } })
    const [a, b] = [await world.register('a'), await world.register('b')]
    const statuses: number[] = []
    for (let n = 0; n < 21; n++) statuses.push((await world.request('GET', '/api/v1/status', { key: a.key })).status)
    expect(statuses).toEqual([...Array(20).fill(200), 429])
    const refused = await world.request('GET', '/api/v1/status', { key: a.key })
    expect(refused.body).toMatchObject({ error: 'rate_limited', status_code: 429 })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused.headers.get('ratelimit-limit')).toBe('20')
    expect((await world.request('GET', '/api/v1/status', { key: b.key })).status).toBe(200)
    await world.advance(Number(refused.headers.get('retry-after')))
    expect((await world.request('GET', '/api/v1/status', { key: a.key })).status).toBe(200)
  })
})
