import { networkInterfaces } from 'node:os'
import { type Command, Option } from 'commander'
import { PLATFORMS, type Platform } from '../../domain/device.ts'
import { isLoopback } from '../../domain/loopback.ts'
import { typedCode } from '../../domain/pairing.ts'
import { composeJoinCode } from '../agent/join-code.ts'
import type { Connection } from '../connection.ts'
import { apiBaseOption, type DataOptions, jsonOption, numberFrom } from '../options.ts'
import type { Session } from '../session.ts'

interface InviteOptions extends DataOptions {
  readonly count: number
  readonly platform?: Platform
  readonly org?: string
}

const PROBE_MS = 1000

/** Returns an address of this machine at which others reach the service, IPv4 first; null if it listens on loopback only. */
const addressForOthers = async (baseUrl: string): Promise<string | null> => {
  const here = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  for (const each of here.sort((one, other) => one.family.localeCompare(other.family))) {
    // Link-local addresses, which have a scope, need the name of the caller's interface.
    if (each.internal || (each.family === 'IPv6' && each.scopeid !== 0)) continue
    const url = new URL(baseUrl)
    url.hostname = each.family === 'IPv6' ? `[${each.address}]` : each.address
    const response = await fetch(`${url.origin}/api/v1/health`, { signal: AbortSignal.timeout(PROBE_MS) }).catch(
      () => null,
    )
    if (response?.ok) return url.origin
  }
  return null
}

const invite = (connection: Connection, { platform, org }: InviteOptions) =>
  connection.request((client) =>
    client.POST('/api/v1/pairings', {
      body: { ...(platform !== undefined && { platform }), ...(org !== undefined && { org_id: org }) },
    }),
  )

export const define = (command: Command, session: Session): void => {
  command
    .option('--count <devices>', 'number of codes, one for each device', numberFrom({ min: 1, max: 20 }), 1)
    .addOption(
      new Option('--platform <platform>', 'only a device of this platform may claim the code').choices(PLATFORMS),
    )
    .option('--org <org_id>', 'organization of the devices (default: that of the key)')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (options: InviteOptions) => {
      const { out } = session
      const connection = await session.signedIn({ apiBase: options.apiBase })
      const made = [await invite(connection, options)]
      while (made.length < options.count) made.push(await invite(connection, options))
      const { baseUrl } = connection
      const known = options.apiBase === undefined ? made[0]!.service_url : null
      const others = known ?? (isLoopback(new URL(baseUrl).hostname) ? await addressForOthers(baseUrl) : baseUrl)
      const invitations = made.map(({ code, pairing_id, expires_at }) => {
        const join = composeJoinCode({ baseUrl: others ?? baseUrl, code: typedCode(code)! })
        return { join, pairing_id, expires_at }
      })
      if (options.json) out.json({ invitations })
      else for (const { join } of invitations) out.line(`svc agent --join ${join}`)
      out.note(
        'Each code admits one device, once, within five minutes. The device only runs delivered models; ' +
          'for one that also trains, append --data and a CSV file. In Python, pass the code to tributary.run as join_code.',
      )
      if (others === null) {
        out.note(
          'Only this machine can reach that address. If the service has another, such as that of a proxy, set ' +
            'SERVICE_PUBLIC_URL, or give it with --api-base. Otherwise start the service with: svc up --host 0.0.0.0',
        )
      }
    })
}
