import { createInterface } from 'node:readline/promises'
import { ApiError, unwrap } from '../../client/client.ts'
import { isWellFormedKey, SHOWN_CHARS } from '../../domain/api-key.ts'
import { connect } from '../connection.ts'
import { Failure, wrongUsage } from '../failure.ts'
import type { Credentials } from '../home.ts'
import { Interrupted, SIGINT_EXIT } from '../io.ts'
import type { Session } from '../session.ts'

/** Reads the key without leaving it in the shell's history: hidden from a terminal, one line from a pipe. */
const askForKey = async ({ io }: Session): Promise<string> => {
  const { stdin } = io
  if (stdin === undefined) throw wrongUsage('There is nobody to ask for the key.', 'Give it: svc login --api-key <key>')
  if (stdin.isTTY) {
    const { isCancel, password } = await import('@clack/prompts')
    const answer = await password({ message: 'API key' })
    if (isCancel(answer)) throw new Interrupted(SIGINT_EXIT)
    return answer
  }
  const lines = createInterface({ input: stdin, ...(io.signal && { signal: io.signal }) })
  for await (const line of lines) return line
  return ''
}

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
  const apiKey = (given === true ? await askForKey(session) : given).trim()
  if (!isWellFormedKey(apiKey)) {
    const fault = apiKey.startsWith('sk_live_') ? 'its check characters do not fit' : 'it does not begin with sk_live_'
    throw new Failure(`This is no API key: ${fault}.`, {
      advice: 'Copy the whole key: sk_live_ and 32 letters or digits.',
    })
  }
  const credentials = { apiKey, orgId: await organisationOf(session, apiBase, apiKey), apiBase }
  await session.home.saveCredentials(credentials)
  return credentials
}
