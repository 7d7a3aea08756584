import { startWorld, type World } from '../../../../test/world.ts'
import type { Role } from '../../../domain/roles.ts'

export const PASSWORD = 'four unrelated words here'

type Body = Readonly<Record<string, unknown>>

/** A browser on a page of the service, which keeps its cookies. */
export const openBrowser = (world: World, name = 'Browser 1') => {
  const jar = new Map<string, string>()
  const call = async (method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) => {
    const cookie = [...jar].map(([key, value]) => `${key}=${value}`).join('; ')
    const response = await world.request(method, `/api/v1${path}`, {
      body,
      headers: { origin: world.baseUrl, 'user-agent': name, ...(cookie !== '' && { cookie }), ...headers },
    })
    for (const line of response.headers.getSetCookie()) {
      const [, key, value] = /^([^=]+)=([^;]*)/.exec(line)!
      if (value === '') jar.delete(key!)
      else jar.set(key!, value!)
    }
    return { status: response.status, body: (response.body ?? {}) as Body, headers: response.headers }
  }
  const cookie = (part: string) => [...jar].find(([key]) => key.includes(part))
  const signIn = (email: string, more: object = {}) => call('POST', '/session', { email, password: PASSWORD, ...more })
  return { jar, call, cookie, signIn, token: () => cookie('session')?.[1] }
}

export const startPeople = async (options: Parameters<typeof startWorld>[0] = {}) => {
  const world = await startWorld({ ...options, config: { enrollment: 'token', ...options?.config } })
  const key = world.service.firstAdminKey!
  const byKey = async (method: string, path: string, body?: unknown) => {
    const response = await world.request(method, `/api/v1${path}`, { key, body })
    return { status: response.status, body: (response.body ?? {}) as Body }
  }
  /** Adds a member to a team by an invitation; returns their id. */
  const join = async (email: string, role: Role = 'admin', org_id = 'acme', password = PASSWORD): Promise<string> => {
    const { body } = await byKey('POST', '/team', { email, role, org_id })
    const made = await byKey('POST', '/invitations/accept', { token: body.token, name: 'Somebody', password })
    return made.body.id as string
  }
  return { world, byKey, join }
}
