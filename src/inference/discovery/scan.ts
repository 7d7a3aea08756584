import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from 'bonjour-service'
import { closeMdns, LOOPBACK, openMdns, SERVICE_TYPE } from './mdns.ts'

/** A server that answered. */
export interface FoundServer {
  readonly name: string
  readonly url: string
  readonly model: string | null
  readonly engine: string | null
  readonly version: string | null
}

export interface ScanOptions {
  readonly timeoutMs: number
  /** The address of the only interface to use. If absent, the default network and this machine. */
  readonly interface?: string | undefined
  readonly signal?: AbortSignal | undefined
  readonly onFound?: (server: FoundServer) => void
}

export interface Scan {
  /** Sorted by name. */
  readonly servers: readonly FoundServer[]
  /** The errors of networks that could not be scanned. */
  readonly faults: readonly string[]
}

/** Queries sometimes get lost. */
const ASK_EVERY_MS = 1000

const present = (service: Service): FoundServer => {
  const text = (key: string): string | null => {
    const value: unknown = service.txt?.[key]
    return typeof value === 'string' && value !== '' ? value : null
  }
  // The sender's address is reachable; the listed addresses might not be.
  const address = service.referer?.address ?? service.addresses?.[0] ?? service.host
  const host = address.includes(':') ? `[${address}]` : address
  return {
    name: service.name,
    url: `http://${host}:${service.port}`,
    model: text('model'),
    engine: text('engine'),
    version: text('version'),
  }
}

/** Queries the local network for servers, and collects answers until the timeout. */
export const scan = async (options: ScanOptions): Promise<Scan> => {
  const found = new Map<string, FoundServer>()
  const faults = new Set<string>()
  const addresses = options.interface === undefined ? [null, LOOPBACK] : [options.interface]
  const listeners = addresses.map((address) => {
    const bonjour = openMdns(address, (error) => faults.add(error.message))
    const browser = bonjour.find({ type: SERVICE_TYPE }, (service) => {
      if (found.has(service.name)) return
      const server = present(service)
      found.set(service.name, server)
      options.onFound?.(server)
    })
    const again = setInterval(() => browser.update(), ASK_EVERY_MS)
    return async () => {
      clearInterval(again)
      browser.stop()
      await closeMdns(bonjour)
    }
  })
  // An interrupted scan returns what it has found.
  await sleep(options.timeoutMs, undefined, options.signal && { signal: options.signal }).catch(() => undefined)
  await Promise.all(listeners.map((close) => close()))
  const servers = [...found.values()].sort((one, other) => one.name.localeCompare(other.name, 'en'))
  return { servers, faults: [...faults] }
}
