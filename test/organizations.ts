import { beforeAll } from 'vitest'
import { SCOPES } from '../src/domain/access.ts'
import { startWorld, type World, type WorldOptions } from './world.ts'

const startForFile = (options?: WorldOptions): (() => World) => {
  let world: World
  beforeAll(async () => {
    world = await startWorld(options)
  })
  return () => world
}

const within = (world: World, org_id: string): World => ({
  ...world,
  register: (deviceId, fields) => world.register(deviceId, { org_id, ...fields }),
})

/**
 * Starts one service for all tests of a file. Each call of the returned function gives a test a new organization to register
 * its devices in, so that rounds select no others. With open enrollment, their keys belong to no organization and see
 * everything. The clock goes on from test to test.
 */
export const organizations = (options?: WorldOptions): (() => World) => {
  const shared = startForFile(options)
  let count = 0
  return () => within(shared(), `org-${++count}`)
}

/** An organization of a service with open enrollment. */
export interface Organization {
  /** Registers devices in the organization. */
  readonly world: World
  readonly org: string
  /** May do everything in the organization, and sees nothing of others. */
  readonly key: string
}

/** Like `organizations`, with a key that is bound to the organization. */
export const boundOrganizations = (options?: WorldOptions): (() => Promise<Organization>) => {
  const shared = startForFile(options)
  let count = 0
  return async () => {
    const org = `org-${++count}`
    const visitor = await shared().register(`visitor-${count}`)
    const { body } = await shared().request('POST', '/api/v1/keys', {
      key: visitor.key,
      body: { name: 'operator', org_id: org, scopes: SCOPES },
    })
    return { world: within(shared(), org), org, key: (body as { api_key: string }).api_key }
  }
}
