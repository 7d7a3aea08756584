import { lookup as lookUp } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'

const listOf = (subnets: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [network, bits] = subnet.split('/') as [string, string]
    list.addSubnet(network, Number(bits), network.includes(':') ? 'ipv6' : 'ipv4')
  }
  return list
}

/** Link-local with cloud metadata services, multicast, unspecified, and reserved addresses: no receiver has these. */
const NEVER = listOf([
  '169.254.0.0/16',
  '0.0.0.0/8',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.0/24',
  'fe80::/10',
  'ff00::/8',
  'fd00:ec2::/32',
  // Those that contain an IPv4 address, which a gateway may extract: compatible, translated (RFC 2765, 6052, 8215), 6to4, Teredo.
  '::/96',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '2002::/16',
  '2001::/32',
])
/** RFC 1918, RFC 6598, RFC 2544, RFC 4193, site-local (RFC 3879), and this machine. */
const PRIVATE = listOf([
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '198.18.0.0/15',
  '127.0.0.0/8',
  '::1/128',
  'fc00::/7',
  'fec0::/10',
])

const LOOPBACK = '::1'

export class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress'
}

/** The current addresses of this machine, which may be public. */
const ownAddresses = (): BlockList =>
  listOf(
    Object.values(networkInterfaces()).flatMap((found) =>
      (found ?? []).map(({ address, family }) => `${address.split('%')[0]}/${family === 'IPv6' ? 128 : 32}`),
    ),
  )

const requireAllowed = (found: string, host: string, allowPrivate: boolean): void => {
  const address = found.split('%')[0]!
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  const shown = host === address ? host : `${host} (${address})`
  if (address !== LOOPBACK && NEVER.check(address, family))
    throw new RefusedAddress(`${shown} is a link-local, metadata, or reserved address, to which nothing is sent.`)
  if (!allowPrivate && (PRIVATE.check(address, family) || ownAddresses().check(address, family))) {
    throw new RefusedAddress(
      `${shown} is a private address or one of this machine. SERVICE_INTEGRATIONS_PRIVATE=allow lets integrations send there.`,
    )
  }
}

/**
 * For sockets: looks up a name, and refuses addresses that an external request must not reach through this service. The
 * socket connects to the address that was checked, so that the name cannot change in between.
 */
export const guardedLookup =
  (allowPrivate: boolean): LookupFunction =>
  (host, options, callback) => {
    lookUp(host, { ...options, all: true }, (error, found) => {
      try {
        if (error !== null) throw error
        for (const { address } of found) requireAllowed(address, host, allowPrivate)
      } catch (refused) {
        callback(refused as Error, '', 0)
        return
      }
      const first = found[0]!
      if (options.all === true) (callback as (error: null, addresses: typeof found) => void)(null, found)
      else callback(null, first.address, first.family)
    })
  }

/** The same for a host that is an IP address, which sockets do not look up. */
export const requireAllowedHost = (hostname: string, allowPrivate: boolean): void => {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) requireAllowed(host, host, allowPrivate)
}
