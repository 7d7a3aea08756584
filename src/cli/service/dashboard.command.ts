import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { openBrowser } from '../login/open-browser.ts'
import { apiBaseOption, type ServiceOptions } from '../options.ts'
import { parseApiBase } from '../service-address.ts'
import type { Session } from '../session.ts'

const LINK_TIMEOUT_MS = 5000

/** Returns the path of a link that signs the browser in; the dashboard's path if the key is missing or insufficient. */
const pathFor = async (session: Session, apiBase: string | undefined): Promise<string> => {
  try {
    const connection = await session.signedIn({ apiBase, timeoutMs: LINK_TIMEOUT_MS })
    return (await connection.request((client) => client.POST('/api/v1/session/links'))).path
  } catch (error) {
    if (error instanceof Failure) return '/'
    throw error
  }
}

interface DashboardOptions extends ServiceOptions {
  readonly open: boolean
}

export const define = (command: Command, session: Session): void => {
  command
    .option('--no-open', 'only print the address')
    .addOption(apiBaseOption())
    .action(async ({ apiBase, open }: DashboardOptions) => {
      const { io, out } = session
      const named = apiBase === undefined ? io.env.SERVICE_DASHBOARD_URL : undefined
      const address = named ? parseApiBase(named, 'SERVICE_DASHBOARD_URL') : await session.apiBase(apiBase)
      out.line(`${address}/`)
      const show = io.openBrowser ?? openBrowser
      // The link is for the browser only: printed text can end up in histories.
      if (open) show(address + (await pathFor(session, apiBase)))
    })
}
