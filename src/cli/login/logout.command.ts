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
      const bases = all ? await home.signedInTo() : [await session.apiBase(apiBase)]
      const removed = []
      for (const base of bases) if (await home.removeCredentials(base)) removed.push(base)
      for (const base of removed) out.line(`Signed out of ${base}.`)
      if (removed.length > 0) out.note('The key stays valid until it expires or an admin revokes it: svc keys revoke.')
      else out.line(all ? 'You are not signed in anywhere.' : `You are not signed in to ${bases[0]}.`)
      if (io.env.SERVICE_API_KEY) out.note('SERVICE_API_KEY is set and is still sent.')
    })
}
