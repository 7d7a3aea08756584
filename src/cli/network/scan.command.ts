import { networkInterfaces } from 'node:os'
import { type Command, InvalidArgumentError } from 'commander'
import { jsonOption, numberFrom } from '../options.ts'
import type { Session } from '../session.ts'

interface ScanOptions {
  readonly timeout: number
  readonly interface?: string
  readonly json?: true
}

/** Multicast uses IPv4. */
const toLocalAddress = (text: string): string => {
  const addresses = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).flatMap(({ family, address }) => (family === 'IPv4' ? [address] : [])),
  )
  if (addresses.includes(text)) return text
  throw new InvalidArgumentError(`It must be an address of this machine: ${addresses.join(', ')}.`)
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRNOTAVAIL: 'there is no network',
  ENETUNREACH: 'there is no network',
  ENODEV: 'there is no network',
  EPERM: 'permission denied',
}

/** Explains a fault such as `addMembership ENODEV`, which has the failed call and the system's error code. */
const reasonOf = (fault: string): string => REASONS[/\bE[A-Z]+\b/.exec(fault)?.[0] ?? ''] ?? fault

export const define = (command: Command, session: Session): void => {
  command
    .option(
      '--timeout <seconds>',
      'how long to wait for responses',
      numberFrom({ min: 0.1, max: 3600, whole: false }),
      5,
    )
    .option('--interface <address>', 'use only the network of this local address', toLocalAddress)
    .addOption(jsonOption())
    .action(async ({ timeout, interface: address, json }: ScanOptions) => {
      const { scan } = await import('../../inference/discovery/scan.ts')
      const { io, out } = session
      const { servers, faults } = await scan({ timeoutMs: timeout * 1000, interface: address, signal: io.signal })
      for (const fault of faults) out.note(`A network could not be searched: ${reasonOf(fault)}.`)
      if (json) return out.json({ servers })
      if (servers.length === 0) return out.note('No server was found. Start one with: svc serve')
      out.table(
        ['NAME', 'ADDRESS', 'MODEL', 'ENGINE', 'VERSION'],
        servers.map(({ name, url, model, engine, version }) => [name, `${url}/v1`, model, engine, version]),
      )
    })
}
