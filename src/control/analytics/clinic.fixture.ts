import { expect } from 'vitest'
import { apiOf, type World } from '../../../test/world.ts'

let clinics = 0
let devices = 0

/** Opens a federation of two new organizations with open enrollment and a key that may do everything; returns helpers for its fleet. */
export const openClinic = async (world: World) => {
  const clinic = ++clinics
  const [acme, beta] = [`acme-${clinic}`, `beta-${clinic}`]
  const { key } = await world.register(`operator ${clinic}`)
  const send = apiOf(world, key)
  const made = await send('POST', '/federations', { name: 'clinic', org_id: acme })
  const id = made.body.id as string
  await send('POST', `/federations/${id}/join`, { org_id: beta })

  /** Registers a device that reports these metrics; returns its device_id, which no other organization uses. */
  const add = async (fields: object, metrics?: object): Promise<string> => {
    const deviceId = `d${++devices}`
    await world.register(deviceId, fields)
    if (metrics !== undefined) {
      const received = await send('PUT', `/devices/${deviceId}/heartbeat`, { metrics })
      expect(received.status).toBe(200)
    }
    return deviceId
  }
  const group = async (name: string, orgId: string, deviceIds: readonly string[]): Promise<string> => {
    const group = await send('POST', '/device-groups', { name, org_id: orgId })
    const groupId = group.body.id as string
    if (deviceIds.length > 0) await send('POST', `/device-groups/${groupId}/devices`, { device_ids: deviceIds })
    return groupId
  }
  /** Creates a device group of the first organization with one device for each value. */
  const groupOf = async (name: string, metric: string, values: readonly unknown[], fields: object = {}) => {
    const ids = await Promise.all(values.map((value) => add({ org_id: acme, ...fields }, { [metric]: value })))
    return group(name, acme, ids)
  }
  const ask = (kind: string, body: object) => send('POST', `/federations/${id}/analytics/${kind}`, body)
  return { key, send, id, acme, beta, add, group, groupOf, ask }
}

/** Matches a number within a relative error of 1e-9, for comparisons of whole bodies. */
export const near = (expected: number) => ({
  asymmetricMatch: (found: unknown) => typeof found === 'number' && Math.abs(found / expected - 1) < 1e-9,
  toString: () => `near ${expected}`,
})

export const SLEEP = [
  [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2],
  [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
] as const

export const PLANTS = {
  ctrl: [4.17, 5.58, 5.18, 6.11, 4.5, 4.61, 5.17, 4.53, 5.33, 5.14],
  trt1: [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
  trt2: [6.31, 5.12, 5.54, 5.5, 5.37, 5.29, 4.92, 6.15, 5.8, 5.26],
} as const

/** Insects counted after each of six sprays: R's InsectSprays. */
export const SPRAYS = {
  A: [10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13],
  B: [11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13],
  C: [0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4],
  D: [3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4],
  E: [3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4],
  F: [11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13],
} as const
