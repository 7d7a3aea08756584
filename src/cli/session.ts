import { type Connection, connect } from './connection.ts'
import { Failure } from './failure.ts'
import { type Home, openHome } from './home.ts'
import type { Io } from './io.ts'
import { createOutput, type Output } from './output.ts'
import { DEFAULT_API_BASE, isSameService, parseApiBase } from './service-address.ts'

/** What every command has at hand. */
export interface Session {
  readonly io: Io
  readonly out: Output
  readonly home: Home
  now(): Date
  /** --api-base, else SERVICE_API_BASE, else config.json, else credentials.json, else the service on this machine. */
  apiBase(option: string | undefined): Promise<string>
  /** The key for that service and where it was read; null when there is none. */
  apiKey(apiBase: string): Promise<{ readonly key: string; readonly source: string } | null>
  /** A connection with a key. @throws Failure, which says how to get one, when there is none. */
  signedIn(options: ConnectOptions): Promise<Connection>
}

export interface ConnectOptions {
  readonly apiBase?: string | undefined
  readonly patienceMs?: number
}

export const createSession = (io: Io): Session => {
  const home = openHome(io)
  const out = createOutput(io)
  const { env } = io

  const apiBase: Session['apiBase'] = async (option) => {
    if (option !== undefined) return parseApiBase(option, '--api-base')
    if (env.SERVICE_API_BASE) return parseApiBase(env.SERVICE_API_BASE, 'SERVICE_API_BASE')
    return (await home.config())?.apiBase ?? (await home.credentials())?.apiBase ?? DEFAULT_API_BASE
  }

  const apiKey: Session['apiKey'] = async (base) => {
    if (env.SERVICE_API_KEY) return { key: env.SERVICE_API_KEY.trim(), source: 'SERVICE_API_KEY' }
    const kept = await home.credentials()
    if (kept === null) return null
    // A key is never sent to another service than the one that made it.
    if (kept.apiBase !== null && !isSameService(kept.apiBase, base)) return null
    return { key: kept.apiKey, source: home.credentialsPath }
  }

  return {
    io,
    out,
    home,
    now: io.now ?? (() => new Date()),
    apiBase,
    apiKey,
    async signedIn(options) {
      const baseUrl = await apiBase(options.apiBase)
      const found = await apiKey(baseUrl)
      if (found === null) {
        const elsewhere = (await home.credentials())?.apiBase ?? null
        const [where, to] = elsewhere === null ? ['', ''] : [` there, but to ${elsewhere}`, ` --api-base ${baseUrl}`]
        throw new Failure(`This needs an API key of ${baseUrl}, and you are not signed in${where}.`, {
          advice: `Sign in with: svc login${to}. Or set SERVICE_API_KEY.`,
        })
      }
      return connect({
        baseUrl,
        apiKey: found.key,
        keySource: found.source,
        signal: io.signal,
        patienceMs: options.patienceMs,
        warn: out.warn,
      })
    },
  }
}
