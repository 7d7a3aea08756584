import { createHash, randomBytes } from 'node:crypto'
import type { World } from '../../../../test/world.ts'
import { ROLE_SCOPES, type Role } from '../../../domain/roles.ts'
import { tokenHash } from '../../../platform/token-hash.ts'

const verifier = randomBytes(32).toString('base64url')
const challenge = createHash('sha256').update(verifier).digest('base64url')

const exchange = async (world: World, code: string): Promise<string> => {
  const { status, body } = await world.request('POST', '/api/v1/login/token', {
    body: { code, code_verifier: verifier },
  })
  if (status !== 200) throw new Error(`the code was answered with ${status}`)
  return (body as { api_key: string }).api_key
}

/** Returns the key of a `svc login` that `key` approved. */
export const approveLogin = async (world: World, key: string): Promise<string> => {
  const body = { code_challenge: challenge, redirect_uri: 'http://127.0.0.1:49152/callback', state: 'x'.repeat(16) }
  const response = await world.request('POST', '/api/v1/login/authorize', { key, body })
  const { redirect_to } = response.body as { redirect_to: string }
  return exchange(world, new URL(redirect_to).searchParams.get('code')!)
}

/** Adds a person to the organization acme; returns the personal key of a login that their session approved. */
export const joinWithKey = async (
  world: World,
  admin: string,
  email: string,
  role: Role,
): Promise<{ id: string; key: string }> => {
  const invited = await world.request('POST', '/api/v1/team', { key: admin, body: { email, role, org_id: 'acme' } })
  const { token } = invited.body as { token: string }
  const accepted = await world.request('POST', '/api/v1/invitations/accept', {
    body: { token, password: 'four unrelated words here' },
  })
  const { id } = accepted.body as { id: string }
  return { id, key: await keyOfPerson(world, id, role) }
}

/** Returns the personal key of a login that a session of this person approved, who has this role now. */
export const keyOfPerson = async (world: World, id: string, role: Role): Promise<string> => {
  const code = randomBytes(32).toString('base64url')
  await world
    .database!.sql.insertInto('login_codes')
    .values({
      hash: tokenHash(code),
      challenge,
      redirect_uri: '',
      grants: [...ROLE_SCOPES[role]],
      org_id: 'acme',
      expires_at: new Date(world.now().getTime() + 60_000),
      approved_by: null,
      person_id: id,
    })
    .execute()
  return exchange(world, code)
}
