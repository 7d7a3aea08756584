import type { Command } from 'commander'
import { wrongUsage } from '../failure.ts'
import { apiBaseOption, type ServiceOptions } from '../options.ts'
import type { Session } from '../session.ts'

interface LogoutOptions extends ServiceOptions {
  readonly all?: true
}

export const define = (command: Command, session: Session): void => {
  command
    .option('--all', 'sign out of every service')
    .addOption(apiBaseOption())
    .action(async ({ all, apiBase }: LogoutOptions) => {
      if (all && apiBase !== undefined) throw wrongUsage('--all and --api-base cannot be combined.')
      const { home, io, out } = session
      const base = all ? 'all' : await session.apiBase(apiBase)
      const removed = all ? await home.removeAllCredentials() : (await home.removeCredentials(base)) ? [base] : []
      for (const one of removed ?? []) out.line(`Signed out of ${one}.`)
      if (removed === null) out.line(`Deleted ${home.credentialsPath}, which was damaged.`)
      else if (removed.length === 0) out.line(`You are not signed in ${all ? 'anywhere' : `to ${base}`}.`)
      else out.note('The key stays valid until it expires or an admin revokes it: svc keys revoke.')
      if (io.env.SERVICE_API_KEY) out.note('SERVICE_API_KEY is set and is still sent.')
    })
}
