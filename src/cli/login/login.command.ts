import type { Command } from 'commander'
import { ApiError, unwrap } from '../../client/client.ts'
import { askForKey, requireKeyShape } from '../ask-for-key.ts'
import { otherProgram } from '../connection.ts'
import { Failure, wrongUsage } from '../failure.ts'
import type { Credentials } from '../home.ts'
import { apiBaseOption, type ServiceOptions } from '../options.ts'
import type { Session } from '../session.ts'

interface LoginOptions extends ServiceOptions {
  readonly apiKey?: string | true
  readonly browser: boolean
}

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
const loginWithKey = async (session: Session, apiBase: string, given: string | true): Promise<Credentials> => {
  const apiKey = (given === true ? await askForKey(session.io) : given).trim()
  requireKeyShape(apiKey)
  const credentials = { apiKey, orgId: await organizationOf(session, apiBase, apiKey), apiBase }
  await session.home.saveCredentials(credentials)
  return credentials
}

const signIn = async (session: Session, apiBase: string, { apiKey, browser }: LoginOptions): Promise<Credentials> => {
  if (apiKey !== undefined) return loginWithKey(session, apiBase, apiKey)
  if (!browser) return (await import('./device-login.ts')).loginWithCode(session, apiBase)
  return (await import('./browser-login.ts')).loginWithBrowser(session, apiBase)
}

export const define = (command: Command, session: Session): void => {
  command
    .option('--api-key [key]', 'sign in with a key; without a value, svc asks for it or reads it from stdin')
    .option('--no-browser', 'show a code to approve in a browser on any machine')
    .addOption(apiBaseOption())
    .action(async (options: LoginOptions) => {
      const { home, io, out } = session
      const apiBase = await session.apiBase(options.apiBase)
      if (options.apiKey !== undefined && !options.browser) {
        throw wrongUsage('--api-key and --no-browser cannot be combined.')
      }
      const { orgId } = await signIn(session, apiBase, options)
      const org = orgId === null ? '' : ` for the organization ${orgId}`
      out.line(`Signed in to ${apiBase}${org}.`)
      out.note(`The key is in ${home.credentialsPath}.`)
      if (io.env.SERVICE_API_KEY) out.note('SERVICE_API_KEY is set and takes precedence.')
    })
}
