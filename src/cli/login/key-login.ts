import { ApiError, unwrap } from '../../client/client.ts'
import { SHOWN_CHARS } from '../../domain/api-key.ts'
import { askForKey, requireKeyShape } from '../ask-for-key.ts'
import { connect } from '../connection.ts'
import { Failure } from '../failure.ts'
import type { Credentials } from '../home.ts'
import type { Session } from '../session.ts'

/** The key's organisation. Only keys that may list keys can be asked; null for the others, and for unbound ones. */
const organisationOf = async (session: Session, apiBase: string, key: string): Promise<string | null> => {
  const connection = connect({ baseUrl: apiBase, apiKey: key, keySource: '--api-key', signal: session.io.signal })
  try {
    const { keys } = await unwrap(connection.client.GET('/api/v1/keys'))
    return keys.find(({ prefix }) => prefix === key.slice(0, SHOWN_CHARS))?.org_id ?? null
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    // Known, but not allowed to list keys.
    if (error.code === 'forbidden') return null
    const advice = error.code === 'unauthorized' ? `Ask the operator of ${apiBase} for a key, or: svc login` : undefined
    throw new Failure(error.message, { ...(advice !== undefined && { advice }), cause: error })
  }
}

/** Signs in with a key that somebody has: typing errors are found without asking the service, the rest by asking it. */
export const loginWithKey = async (session: Session, apiBase: string, given: string | true): Promise<Credentials> => {
  const apiKey = (given === true ? await askForKey(session.io) : given).trim()
  requireKeyShape(apiKey)
  const credentials = { apiKey, orgId: await organisationOf(session, apiBase, apiKey), apiBase }
  await session.home.saveCredentials(credentials)
  return credentials
}
