import { setMaxListeners } from 'node:events'
import { plural } from '../domain/plural.ts'
import { type Connection, type ConnectionSettings, connect, otherProgram } from './connection.ts'
import { Failure, wrongUsage } from './failure.ts'
import { type Home, openHome } from './home.ts'
import type { Io, SessionIo } from './io.ts'
import { createOutput, type Output } from './output.ts'
import { DEFAULT_API_BASE, parseApiBase } from './service-address.ts'

/** The context of every command. */
export interface Session {
  readonly io: SessionIo
  readonly out: Output
  readonly home: Home
  now(): Date
  /** --api-base, else SERVICE_API_BASE, else config.json, else credentials.json, else the service on this machine. */
  apiBase(option: string | undefined): Promise<string>
  /** Returns the key for that service and where it was read; null if there is none. */
  apiKey(apiBase: string): Promise<{ readonly key: string; readonly source: string } | null>
  /** Connects until the command is aborted. Other programs at the address are recognized by `toUserError`. */
  connectTo(settings: Omit<ConnectionSettings, 'signal' | 'onUnidentified'>): Connection
  /** Connects with a key. @throws Failure with advice on how to get a key, if there is none */
  signedIn(options: ConnectOptions): Promise<Connection>
  /** Replaces errors that come from missing fields if the response that lacked them may be from another program. */
  toUserError(error: unknown): unknown
}

export interface ConnectOptions {
  readonly apiBase?: string | undefined
  readonly timeoutMs?: number
}

/** Checks that a header can hold the key: fetch's own error for a line break would show the key. */
const requireHeaderText = (key: string, source: string): string => {
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw wrongUsage(
    `The key in ${source} contains characters that are not allowed in a key, such as a line break or a space.`,
    'Copy the whole key and nothing else: sk_live_ and 32 letters or digits.',
  )
}

export const createSession = (given: Io): Session => {
  const io: SessionIo = { ...given, signal: given.signal ?? new AbortController().signal }
  // Node would warn that the many parallel requests and waits of a command are a leak.
  setMaxListeners(0, io.signal)
  const home = openHome(io)
  const out = createOutput(io)
  const { env } = io
  let unidentified: string | null = null

  const connectTo: Session['connectTo'] = (settings) =>
    connect({
      ...settings,
      signal: io.signal,
      onUnidentified: () => {
        unidentified = settings.baseUrl
      },
    })

  const apiBase: Session['apiBase'] = async (option) => {
    if (option !== undefined) return parseApiBase(option, '--api-base')
    if (env.SERVICE_API_BASE) return parseApiBase(env.SERVICE_API_BASE, 'SERVICE_API_BASE')
    return (await home.config())?.apiBase ?? (await home.signedInTo())[0] ?? DEFAULT_API_BASE
  }

  const apiKey: Session['apiKey'] = async (base) => {
    const given = env.SERVICE_API_KEY?.trim()
    if (given) return { key: requireHeaderText(given, 'SERVICE_API_KEY'), source: 'SERVICE_API_KEY' }
    // A stored key is sent only to the service that issued it.
    const kept = await home.credentials(base)
    if (kept === null) return null
    return { key: requireHeaderText(kept.apiKey, home.credentialsPath), source: home.credentialsPath }
  }

  return {
    io,
    out,
    home,
    now: io.now ?? (() => new Date()),
    apiBase,
    apiKey,
    connectTo,
    async signedIn(options) {
      const baseUrl = await apiBase(options.apiBase)
      const found = await apiKey(baseUrl)
      if (found === null) {
        const elsewhere = (await home.signedInTo()).filter((address) => address !== baseUrl).join(', ')
        const [where, to] = elsewhere === '' ? ['', ''] : [` there, but to ${elsewhere}`, ` --api-base ${baseUrl}`]
        throw new Failure(`This needs an API key for ${baseUrl}, and you are not signed in${where}.`, {
          advice: `Sign in with: svc login${to}. Or set SERVICE_API_KEY.`,
        })
      }
      return connectTo({
        baseUrl,
        apiKey: found.key,
        keySource: found.source,
        timeoutMs: options.timeoutMs,
        warn: out.warn,
        onWait: (seconds) => out.note(`Too many requests: waiting for ${plural(seconds, 'second')}.`),
        ...(io.verbose === true && { trace: out.note }),
      })
    },
    toUserError: (error) =>
      unidentified !== null && (error instanceof TypeError || error instanceof RangeError)
        ? otherProgram(unidentified)
        : error,
  }
}
