/** Why a file could not be downloaded, with `advice` on what to do. */
export class TransferError extends Error {
  override readonly name = 'TransferError'
  readonly advice: string | undefined

  constructor(message: string, options: { readonly advice?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.advice = options.advice
  }
}

/** The connection broke or stalled, or the server is busy: worth retrying. */
export class Interruption extends Error {
  override readonly name = 'Interruption'
  /** The wait requested by Retry-After. */
  readonly waitMs: number | null

  constructor(message: string, options: { readonly waitMs?: number | null; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.waitMs = options.waitMs ?? null
  }
}

/** Codes that are less informative than their messages, about a proxy. */
const UNSPECIFIC = ['UND_ERR_INVALID_ARG', 'UND_ERR_ABORTED']

/**
 * Returns an error's reason: fetch only says "fetch failed", and the reason is one or two causes down. `words` translates
 * codes.
 */
export const reasonOf = (error: unknown, words: Readonly<Record<string, string>> = {}): string => {
  let reason = ''
  for (let current = error; current instanceof Error; current = current.cause) {
    const code = (current as { readonly code?: unknown }).code
    reason =
      (typeof code === 'string' && !UNSPECIFIC.includes(code) && (words[code] ?? code)) || current.message || reason
  }
  return reason || String(error)
}
