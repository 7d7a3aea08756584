/** Why a file could not be downloaded, with `advice` on what to do. */
export class TransferError extends Error {
  override readonly name = 'TransferError'
  readonly advice: string | undefined

  constructor(message: string, options: { readonly advice?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.advice = options.advice
  }
}

interface Refusal {
  readonly status: number
  readonly body: unknown
}

interface InterruptionOptions {
  readonly waitMs?: number | null
  readonly refusal?: Refusal
  readonly cause?: unknown
}

/** The connection broke or stalled, or the server is busy: worth retrying. */
export class Interruption extends Error {
  override readonly name = 'Interruption'
  /** The wait requested by Retry-After. */
  readonly waitMs: number | null
  /** The response that asks to retry: its status, and its body if that is JSON. Null without a response. */
  readonly refusal: Refusal | null

  constructor(message: string, options: InterruptionOptions = {}) {
    super(message, { cause: options.cause })
    this.waitMs = options.waitMs ?? null
    this.refusal = options.refusal ?? null
  }
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection lost',
  UND_ERR_SOCKET: 'connection lost',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'its name cannot be looked up',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'no network',
  EADDRNOTAVAIL: 'no local address',
  ETIMEDOUT: 'no response',
  UND_ERR_CONNECT_TIMEOUT: 'no response',
}

/** Codes that are less informative than their messages, about a proxy. */
const UNSPECIFIC = ['UND_ERR_INVALID_ARG', 'UND_ERR_ABORTED']

/** Returns an error's reason: fetch only says "fetch failed", and the reason is one or two causes down. */
export const reasonOf = (error: unknown): string => {
  let reason = ''
  for (let current = error; current instanceof Error; current = current.cause) {
    const code = (current as { readonly code?: unknown }).code
    reason =
      (typeof code === 'string' && !UNSPECIFIC.includes(code) && (WORDS[code] ?? code)) || current.message || reason
  }
  return reason || String(error)
}
