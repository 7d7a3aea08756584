import { ApiError, unwrap } from '../../client/client.ts'
import { askForKey, requireKeyShape } from '../ask-for-key.ts'
import { otherProgram } from '../connection.ts'
import { Failure } from '../failure.ts'
import type { Credentials } from '../home.ts'
import type { Session } from '../session.ts'

/** Returns the organization that the key is bound to, or null. @throws Failure if the key is not valid */
const organizationOf = async (session: Session, apiBase: string, key: string): Promise<string | null> => {
  const connection = session.connectTo({ baseUrl: apiBase, apiKey: key, keySource: '--api-key' })
  try {
    const { id, org_id: orgId } = await unwrap(connection.client.GET('/api/v1/keys/self'))
    if (id === undefined) throw otherProgram(apiBase)
    return orgId
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const advice =
      error.code === 'unauthorized' ? `Ask the operator of ${apiBase} for a key, or sign in with: svc login` : undefined
    throw new Failure(error.message, { ...(advice !== undefined && { advice }), cause: error })
  }
}

/** Signs in with an existing key. Detects typing errors locally, then validates the key with the service. */
export const loginWithKey = async (session: Session, apiBase: string, given: string | true): Promise<Credentials> => {
  const apiKey = (given === true ? await askForKey(session.io) : given).trim()
  requireKeyShape(apiKey)
  const credentials = { apiKey, orgId: await organizationOf(session, apiBase, apiKey), apiBase }
  await session.home.saveCredentials(credentials)
  return credentials
}
