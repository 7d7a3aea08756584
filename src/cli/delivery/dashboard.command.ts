import type { Command } from 'commander'
import { openBrowser } from '../login/open-browser.ts'
import { apiBaseOption, type ServiceOptions } from '../options.ts'
import { parseApiBase } from '../service-address.ts'
import type { Session } from '../session.ts'

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
      if (open) show(`${address}/`)
    })
}
