/** Why a file could not be downloaded, and in `advice` what to do about it. */
export class TransferError extends Error {
  override readonly name = 'TransferError'
  readonly advice: string | undefined

  constructor(message: string, options: { readonly advice?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.advice = options.advice
  }
}

/** The connection broke, stalled, or the other side is busy: worth another try. */
export class Interruption extends Error {
  override readonly name = 'Interruption'
  /** What the other side asked for in Retry-After. */
  readonly waitMs: number | null

  constructor(message: string, options: { readonly waitMs?: number | null; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.waitMs = options.waitMs ?? null
  }
}

/** Codes that say less than their messages, about a proxy. */
const UNSPECIFIC = ['UND_ERR_INVALID_ARG', 'UND_ERR_ABORTED']

/** fetch says only "fetch failed"; the reason is one or two causes down. `words` say error codes for people. */
export const reasonOf = (error: unknown, words: Readonly<Record<string, string>> = {}): string => {
  let reason = ''
  for (let current = error; current instanceof Error; current = current.cause) {
    const code = (current as { readonly code?: unknown }).code
    reason =
      (typeof code === 'string' && !UNSPECIFIC.includes(code) && (words[code] ?? code)) || current.message || reason
  }
  return reason || String(error)
}
