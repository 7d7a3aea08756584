import { expect } from 'vitest'
import type { Organization } from '../../../../test/organizations.ts'
import { formOf, type TestDevice, type World } from '../../../../test/world.ts'

export const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer)

interface Given {
  plan_id: string
  version: string
}
export interface Decision {
  status: string
  reason: string | null
  version: string
  canary_rollout_id: string
  promotion_rollout_id: string | null
  [field: string]: unknown
}

/** Gives the organization a fleet that runs version 1 of a model with a policy. */
export const startFleet = async ({ world, org, key }: Organization, policy: object, size: number) => {
  const fleet = await Promise.all(Array.from({ length: size }, (_, n) => world.register(`d${n}`)))
  const post = (path: string, body: unknown) => world.request('POST', `/api/v1${path}`, { key, body })
  const modelId = ((await post('/models', { name: 'm' })).body as { id: string }).id
  await post('/models/m/versions/upload', formOf(floats(1, 2)))
  await post('/models/m/rollouts', { version: '1', rollout_percentage: 100 })
  const set = await world.request('PUT', '/api/v1/models/m/policy', { key, body: policy })
  expect(set.status).toBe(200)
  return { world, org, fleet, key, modelId, at: world.now().toISOString() }
}

type Fleet = Awaited<ReturnType<typeof startFleet>>

/** Runs one round from the model with one device, which starts it; returns the id of the aggregate's model. */
export const trainOnce = async ({ world, fleet, modelId }: Fleet, model = modelId, value = 3): Promise<string> => {
  const { key } = fleet[0]!
  const body = { target_devices: 1, min_devices: 1, global_model_id: model }
  const round = (await world.request('POST', '/api/v1/training/rounds/start', { key, body })).body as { id: string }
  const path = `/api/v1/training/rounds/${round.id}`
  const form = formOf(floats(value, 4), { num_samples: 1 })
  expect((await world.request('POST', `${path}/updates`, { key, body: form })).status).toBe(201)
  await world.advance(0)
  const ended = (await world.request('GET', `${path}/status`, { key })).body as { aggregated_model_id: string }
  return ended.aggregated_model_id
}

export const given = async (world: World, device: TestDevice): Promise<Given> => {
  const { body } = await world.request('GET', `/api/v1/devices/${device.deviceId}/assignments`, { key: device.key })
  return (body as { assignments: Given[] }).assignments[0]!
}

/**
 * Reports, for so many devices of each version, the version and a metric that depends on it and on earlier reports of it.
 * Six are more than min_reports, and a few requests.
 */
export const measure = async (
  world: World,
  fleet: readonly TestDevice[],
  measuredBy: (version: string, n: number) => number,
  { metric = 'accuracy', ofEach = 6 } = {},
) => {
  const reported = new Map<string, number>()
  for (const device of fleet) {
    if (reported.size > 1 && Math.min(...reported.values()) === ofEach) break
    const { plan_id, version } = await given(world, device)
    const n = reported.get(version) ?? 0
    if (n === ofEach) continue
    reported.set(version, n + 1)
    const metrics = { [metric]: measuredBy(version, n) }
    const body = { state: 'active', version, metrics }
    const path = `/api/v1/devices/${device.deviceId}/assignments/${plan_id}/report`
    expect((await world.request('POST', path, { key: device.key, body })).status).toBe(200)
  }
}

export const versionsOf = async (world: World, fleet: readonly TestDevice[]): Promise<string[]> =>
  [...new Set(await Promise.all(fleet.map(async (device) => (await given(world, device)).version)))].sort()

export const decisions = async (world: World, key: string): Promise<Decision[]> =>
  ((await world.request('GET', '/api/v1/models/m/policy/decisions', { key })).body as { decisions: Decision[] })
    .decisions
