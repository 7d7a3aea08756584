/** Why a model could not be had from somewhere else, for people: what was wrong and, in `advice`, what to do about it. */
export class SourceError extends Error {
  override readonly name = 'SourceError'
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

/** fetch says only "fetch failed"; the reason is one or two causes down. */
export const reasonOf = (error: unknown): string => {
  let reason = String(error)
  for (let current = error; current instanceof Error; current = current.cause) {
    const { code } = current as NodeJS.ErrnoException
    reason = (typeof code === 'string' && code) || current.message || reason
  }
  return reason
}
