import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { isLoopback } from '../../domain/loopback.ts'
import { closeMdns, LOOPBACK, openMdns, SERVICE_TYPE } from './mdns.ts'

/** What a server announces about itself on the local network. */
export interface Announcement {
  /** The address that the server listens on. A loopback address is announced only on this machine. */
  readonly host: string
  readonly port: number
  readonly model: string
  readonly engine: string
  readonly version: string
}

export interface ServiceAnnouncement {
  /** Sends a goodbye so that clients forget the server. */
  stop(): Promise<void>
}

/** Shortens a value, because a text record holds 255 bytes including its key. */
const short = (text: string): string =>
  Buffer.from(text)
    .subarray(0, 200)
    .toString('utf8')
    .replace(/\ufffd$/, '')

/** Announces a server by mDNS until stopped. If the network does not allow it, that is logged once and otherwise ignored. */
export const announce = (server: Announcement, log: (line: string) => void): ServiceAnnouncement => {
  let isReported = false
  const bonjour = openMdns(isLoopback(server.host) ? LOOPBACK : null, (error) => {
    if (!isReported) log(`The server cannot be announced on the local network: ${error.message}`)
    isReported = true
  })
  const { port, model, engine, version } = server
  bonjour.publish({
    // A dot would end the name. The suffix tells servers apart, on this machine and on others with the same name.
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
        // The goodbye may get lost, and with it the callback.
        setTimeout(resolve, 500).unref()
      })
      await closeMdns(bonjour)
    },
  }
}
