import { beforeAll } from 'vitest'
import { SCOPES } from '../src/domain/access.ts'
import { startWorld, type World, type WorldOptions } from './world.ts'

/** An organization of a service with open enrollment. */
export interface Organization {
  /** Registers devices in the organization. */
  readonly world: World
  readonly org: string
  /** May do everything in the organization and sees nothing of others; a device's own key would see all of them. */
  readonly key: string
}

/**
 * Starts one service for all tests of a file. Each call of the returned function gives a test a new organization. The clock
 * goes on from test to test.
 */
export const boundOrganizations = (options?: WorldOptions): (() => Promise<Organization>) => {
  let shared: World
  let count = 0
  beforeAll(async () => {
    shared = await startWorld(options)
  })
  return async () => {
    const org = `org-${++count}`
    const visitor = await shared.register(`visitor-${count}`)
    const { body } = await shared.request('POST', '/api/v1/keys', {
      key: visitor.key,
      body: { name: 'operator', org_id: org, scopes: SCOPES },
    })
    const register: World['register'] = (deviceId, fields) => shared.register(deviceId, { org_id: org, ...fields })
    return { world: { ...shared, register }, org, key: (body as { api_key: string }).api_key }
  }
}
