import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'

interface Sent {
  readonly host?: string
  readonly origin?: string
}

// fetch sets both headers itself.
const register = ({ baseUrl }: World, { host, origin }: Sent): Promise<{ status: number; body: unknown }> =>
  new Promise((resolve, reject) => {
    const requested = request(
      `${baseUrl}/api/v1/devices/register`,
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(host !== undefined && { host }),
          ...(origin !== undefined && { origin }),
        },
      },
      async (response) => resolve({ status: response.statusCode ?? 0, body: await json(response) }),
    )
    requested.on('error', reject)
    requested.end(JSON.stringify({ device_id: `${host} ${origin}` }))
  })

const get = (world: World, path: string, headers: Record<string, string>) =>
  world.service.app.inject({ method: 'GET', url: path, headers })

describe('a service with open enrollment', () => {
  it('refuses a name that a web page had resolved to it, and names the setting', async () => {
    const world = await startWorld()
    expect(await register(world, { host: 'evil.example:8000' })).toEqual({
      status: 403,
      body: {
        error: 'forbidden',
        message:
          "This server requires no key, so it refuses requests for the host 'evil.example'. If that is its own name, set " +
          'SERVICE_PUBLIC_URL to the address that this server is known by, such as http://evil.example.',
        status_code: 403,
      },
    })
  })

  it('refuses pages of foreign origins', async () => {
    const world = await startWorld()
    for (const origin of ['http://evil.example', 'null']) {
      const refused = await register(world, { origin })
      expect(refused).toMatchObject({ status: 403, body: { error: 'forbidden' } })
      expect(refused.body).toMatchObject({ message: expect.stringContaining('SERVICE_PUBLIC_URL') })
    }
  })

  it('accepts addresses, local names, its public address and the allowed pages', async () => {
    const world = await startWorld({
      config: { publicUrl: 'https://fleet.example.org/svc', corsOrigins: ['https://app.example.org'] },
    })
    const sent: Sent[] = [
      {},
      { host: 'localhost:1' },
      { host: '[::1]:8000' },
      { host: 'tributary' },
      { host: 'box.local' },
      { host: 'fleet.example.org' },
      { origin: 'https://fleet.example.org' },
      { origin: 'https://app.example.org' },
      { origin: 'http://localhost:5173' },
      { origin: 'chrome-extension://abc' },
    ]
    for (const headers of sent) expect([headers, (await register(world, headers)).status]).toEqual([headers, 201])
  })

  it('reports its health to anyone, but reveals nothing else', async () => {
    const world = await startWorld()
    const statuses = []
    for (const path of ['/api/v1/health', '/docs', '/openapi.json', '/metrics', '/nothing']) {
      statuses.push((await get(world, path, { host: 'evil.example' })).statusCode)
    }
    expect(statuses).toEqual([200, 403, 403, 403, 403])
  })
})

it('a service that requires keys accepts any host name', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  expect((await register(world, { host: 'evil.example' })).status).toBe(401)
})
