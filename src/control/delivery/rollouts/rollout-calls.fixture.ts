import { expect } from 'vitest'
import { createModel } from '../../../../test/fleet-of-models.ts'
import type { Organization } from '../../../../test/organizations.ts'
import { startWorld, type TestDevice, type World } from '../../../../test/world.ts'
import type { RolloutEvent, RolloutStatus } from '../../../domain/rollout.ts'

export const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)

export interface Rollout {
  rollout_id: string
  status: string
  percentage: number
  reason: string | null
  warnings: string[]
  [field: string]: unknown
}
export interface Event {
  event: RolloutEvent | 'create' | 'delete'
  status: RolloutStatus
  percentage: number
}

export const create = (world: World, key: string, body: object) =>
  world.request('POST', '/api/v1/models/m/rollouts', {
    key,
    body: { version: '2.0.0', rollout_percentage: 10, ...body },
  })
export const created = async (world: World, key: string, body: object = {}): Promise<Rollout> => {
  const response = await create(world, key, body)
  expect(response.status).toBe(201)
  return response.body as Rollout
}
export const path = (rollout: Rollout, rest = '') => `/api/v1/models/m/rollouts/${rollout.rollout_id}${rest}`
export const get = async (world: World, key: string, rollout: Rollout) =>
  (await world.request('GET', path(rollout), { key })).body as Rollout
export const applyAction = (world: World, key: string, rollout: Rollout, event: string, body?: object) =>
  world.request('POST', path(rollout, `/${event}`), { key, body })
export const history = async (world: World, key: string, rollout: Rollout) =>
  ((await world.request('GET', path(rollout, '/history?limit=1000'), { key })).body as { events: Event[] }).events
export const report = (world: World, device: TestDevice, rollout: Rollout, state: string, reason?: string) =>
  world.request('POST', `/api/v1/devices/${device.deviceId}/assignments/${rollout.rollout_id}/report`, {
    key: device.key,
    body: { state, version: '2.0.0', ...(reason === undefined ? {} : { reason }) },
  })
export const runs = async (world: World, device: TestDevice): Promise<string[]> => {
  const { body } = await world.request('GET', `/api/v1/devices/${device.deviceId}/assignments`, { key: device.key })
  return (body as { assignments: { version: string }[] }).assignments.map(({ version }) => version)
}

const VERSIONS = ['1.0.0', '2.0.0']

const register = async (world: World, devices: number): Promise<TestDevice[]> => {
  const first = await world.register('d0')
  return [first, ...(await Promise.all(Array.from({ length: devices - 1 }, (_, n) => world.register(`d${n + 1}`))))]
}

/** Starts a service with a fleet. */
export const startFleet = async (devices: number, versions = VERSIONS, options = {}) => {
  const world = await startWorld(options)
  const fleet = await register(world, devices)
  const { key } = fleet[0]!
  const modelId = await createModel(world, key, 'm', versions)
  return { world, fleet, key, modelId }
}

/** Gives the organization a fleet. */
export const fleetIn = async ({ world, org, key }: Organization, devices: number) => {
  const fleet = await register(world, devices)
  const modelId = await createModel(world, key, 'm', VERSIONS)
  const started = world.now().getTime()
  const later = (minutes: number) => new Date(started + minutes * 60_000).toISOString()
  return { world, org, fleet, key, modelId, at: later(0), later }
}
