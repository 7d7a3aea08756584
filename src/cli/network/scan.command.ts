import { type Command, Option } from 'commander'
import { numberFrom } from '../inference/inference-options.ts'
import { jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

interface ScanOptions {
  readonly timeout: number
  readonly interface?: string
  readonly json?: true
}

export const define = (command: Command, session: Session): void => {
  command
    .addOption(
      new Option('--timeout <seconds>', 'how long to wait for responses')
        .argParser(numberFrom({ min: 0.1, max: 3600, whole: false }))
        .default(5),
    )
    .option('--interface <address>', 'use only the network of this local address')
    .addOption(jsonOption())
    .action(async ({ timeout, interface: address, json }: ScanOptions) => {
      const { scan } = await import('../../inference/discovery/scan.ts')
      const { io, out } = session
      const { servers, faults } = await scan({ timeoutMs: timeout * 1000, interface: address, signal: io.signal })
      for (const fault of faults) out.note(`A network could not be searched: ${fault}`)
      if (json) return out.json({ servers })
      if (servers.length === 0) return out.note('No server was found. Start one with: svc serve')
      out.table(
        ['NAME', 'ADDRESS', 'MODEL', 'ENGINE', 'VERSION'],
        servers.map(({ name, url, model, engine, version }) => [name, `${url}/v1`, model, engine, version]),
      )
    })
}
