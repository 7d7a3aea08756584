import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { closeMdns, LOOPBACK, openMdns, SERVICE_TYPE } from './mdns.ts'

/** What a server tells the local network of itself. */
export interface Announcement {
  /** The address that it listens on: one that only this machine reaches is told to this machine only. */
  readonly host: string
  readonly port: number
  readonly model: string
  readonly engine: string
  readonly version: string
}

export interface Announced {
  /** Says goodbye, so that nobody looks for it any more. */
  stop(): Promise<void>
}

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.')

/** A text record holds 255 bytes, its key included. */
const short = (text: string): string =>
  Buffer.from(text)
    .subarray(0, 200)
    .toString('utf8')
    .replace(/\ufffd$/, '')

/** Announces a server by mDNS until it is stopped. A network that takes none is told to `log` once and harms nothing. */
export const announce = (server: Announcement, log: (line: string) => void): Announced => {
  let isReported = false
  const bonjour = openMdns(isLoopback(server.host) ? LOOPBACK : null, (error) => {
    if (!isReported) log(`The server cannot be announced on the local network: ${error.message}`)
    isReported = true
  })
  const { port, model, engine, version } = server
  bonjour.publish({
    // A dot would end the name. The rest keeps two servers apart, on this machine and on others of its name.
    name: `${hostname().replaceAll('.', '-')}-${port}-${randomBytes(2).toString('hex')}`,
    type: SERVICE_TYPE,
    port,
    txt: { model: short(model), engine, version },
    probe: false,
  })
  return {
    stop: async () => {
      await new Promise<void>((resolve) => {
        bonjour.unpublishAll(() => resolve())
        // The goodbye may be lost, and then so may its callback.
        setTimeout(resolve, 500).unref()
      })
      await closeMdns(bonjour)
    },
  }
}
