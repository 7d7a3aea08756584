import { expect, it } from 'vitest'
import { freshDataDir } from '../databases.ts'
import { runService } from './service-process.ts'

interface Device {
  readonly last_heartbeat: string
  readonly status: string
  readonly metrics: Readonly<Record<string, number>>
}

it('kill -9 loses at most the time of a heartbeat that changed nothing else, and nothing that was read or changed', async () => {
  const dataDir = await freshDataDir()
  let service = await runService(dataDir)
  const request = async <Body>(method: string, path: string, key?: string, body?: object): Promise<Body> => {
    const response = await fetch(`${service.baseUrl}/api/v1${path}`, {
      method,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    expect(response.ok).toBe(true)
    return (await response.json()) as Body
  }
  const { api_key: key } = await request<{ api_key: string }>('POST', '/devices/register', undefined, {
    device_id: 'a',
  })
  const beat = (body: object) => request<Device>('PUT', '/devices/a/heartbeat', key, body)
  const device = () => request<Device>('GET', '/devices/a', key)
  const same = { status: 'active', metrics: { battery_level: 0.5 } }

  await beat(same)
  await beat(same)
  const read = await beat(same)
  expect(await device()).toMatchObject({ ...same, last_heartbeat: read.last_heartbeat })
  const late = await beat(same)
  await service.kill()
  service = await runService(dataDir)
  const left = await device()
  expect(left).toMatchObject(same)
  expect([read.last_heartbeat, late.last_heartbeat]).toContain(left.last_heartbeat)

  await beat(same)
  await beat(same)
  const changed = await beat({ status: 'inactive', metrics: { battery_level: 0.4 } })
  await service.kill()
  service = await runService(dataDir)
  expect(await device()).toMatchObject({
    status: 'inactive',
    metrics: { battery_level: 0.4 },
    last_heartbeat: changed.last_heartbeat,
  })

  await beat({ status: 'inactive' })
  const last = await beat({ status: 'inactive' })
  expect(await service.terminate()).toBe(0)
  service = await runService(dataDir)
  expect(await device()).toMatchObject({ last_heartbeat: last.last_heartbeat })
})
