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
      new Option('--timeout <seconds>', 'how long to wait for answers')
        .argParser(numberFrom({ min: 0.1, max: 3600, whole: false }))
        .default(5),
    )
    .option('--interface <address>', 'ask on the network of this address of ours only')
    .addOption(jsonOption())
    .action(async ({ timeout, interface: address, json }: ScanOptions) => {
      const { scan } = await import('../../inference/discovery/scan.ts')
      const { io, out } = session
      const { servers, faults } = await scan({ timeoutMs: timeout * 1000, interface: address, signal: io.signal })
      for (const fault of faults) out.note(`A network could not be asked: ${fault}`)
      if (json) return out.json({ servers })
      if (servers.length === 0) return out.note('No server answered. svc serve starts one that does.')
      out.table(
        ['NAME', 'ADDRESS', 'MODEL', 'ENGINE', 'VERSION'],
        servers.map(({ name, url, model, engine, version }) => [name, `${url}/v1`, model, engine, version]),
      )
    })
}
