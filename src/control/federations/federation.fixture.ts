import { expect } from 'vitest'
import { startWorld, type WorldOptions } from '../../../test/world.ts'

const SCOPES = ['devices:read', 'devices:write', 'models:read', 'models:write', 'training:read', 'training:write']

/** A service with token enrollment, and helpers that create keys of organizations and federations. */
export const openFederation = async (options: WorldOptions = {}) => {
  const world = await startWorld({ ...options, config: { enrollment: 'token', ...options.config } })
  const admin = world.service.firstAdminKey!
  const send = async (key: string, method: string, path: string, body?: unknown) => {
    const response = await world.request(method, `/api/v1${path}`, { key, body })
    return { status: response.status, body: response.body as Record<string, unknown> }
  }

  /** Creates a key that is bound to the organization. */
  const keyOf = async (orgId: string, scopes: readonly string[] = SCOPES): Promise<string> => {
    const { status, body } = await send(admin, 'POST', '/keys', { name: orgId, scopes, org_id: orgId })
    expect(status).toBe(201)
    return body.api_key as string
  }

  /** Creates a federation of `acme` with these organizations as active members. */
  const found = async (members: readonly string[] = [], name = 'league'): Promise<string> => {
    const made = await send(admin, 'POST', '/federations', { name, org_id: 'acme' })
    expect(made.status).toBe(201)
    const id = made.body.id as string
    for (const org_id of members) {
      expect(await send(admin, 'POST', `/federations/${id}/join`, { org_id })).toMatchObject({ status: 200 })
    }
    return id
  }

  return { world, admin, send, keyOf, found }
}

export const nowhere = '00000000-0000-4000-8000-000000000000'
export const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)

/** The response to a caller that may not see the requested object. */
export const missing = (what: string, id: string, place = '') => ({
  status: 404,
  body: {
    error: 'not_found',
    message: `${what} '${id}'${place && ` ${place}`} does not exist, or this key has no access to it.`,
    status_code: 404,
  },
})

export const refused = (message: string) => ({ status: 403, body: { error: 'forbidden', message, status_code: 403 } })
