import type { Command } from 'commander'
import { apiBaseOption, type ServiceOptions } from '../options.ts'
import type { Session } from '../session.ts'

interface LoginOptions extends ServiceOptions {
  readonly apiKey?: string | true
}

export const define = (command: Command, session: Session): void => {
  command
    .option('--api-key [key]', 'sign in with a key; without a value it is asked for, or read from stdin')
    .addOption(apiBaseOption())
    .action(async (options: LoginOptions) => {
      const { home, io, out } = session
      const apiBase = await session.apiBase(options.apiBase)
      const { orgId } =
        options.apiKey === undefined
          ? await (await import('./browser-login.ts')).loginWithBrowser(session, apiBase)
          : await (await import('./key-login.ts')).loginWithKey(session, apiBase, options.apiKey)
      const org = orgId === null ? '' : ` for the organization ${orgId}`
      out.line(`Signed in to ${apiBase}${org}.`)
      out.note(`The key is in ${home.credentialsPath}.`)
      if (io.env.SERVICE_API_KEY) out.note('SERVICE_API_KEY is set and takes precedence.')
    })
}
