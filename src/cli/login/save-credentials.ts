import type { paths } from '../../client/client.ts'
import type { Credentials } from '../home.ts'
import type { Session } from '../session.ts'

type Token = paths['/api/v1/login/token']['post']['responses']['200']['content']['application/json']

/** Stores the key from a login and prints its expiry. */
export const saveCredentials = async (session: Session, apiBase: string, token: Token): Promise<Credentials> => {
  const credentials = { apiKey: token.api_key, orgId: token.org_id, apiBase }
  await session.home.saveCredentials(credentials)
  if (token.expires_at !== null) session.out.note(`The key expires on ${token.expires_at.slice(0, 10)}.`)
  return credentials
}
