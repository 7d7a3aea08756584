import type { Command } from 'commander'
import { wrongUsage } from '../failure.ts'
import type { Credentials } from '../home.ts'
import { apiBaseOption, type ServiceOptions } from '../options.ts'
import type { Session } from '../session.ts'

interface LoginOptions extends ServiceOptions {
  readonly apiKey?: string | true
  readonly browser: boolean
}

const signIn = async (session: Session, apiBase: string, { apiKey, browser }: LoginOptions): Promise<Credentials> => {
  if (apiKey !== undefined) return (await import('./key-login.ts')).loginWithKey(session, apiBase, apiKey)
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
