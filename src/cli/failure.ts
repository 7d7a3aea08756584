/** A command failed: `message` says what and why, `advice` what to do about it. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly advice: string | undefined
  /** 1: the command failed. 2: wrong usage. */
  readonly exitCode: 1 | 2

  constructor(
    message: string,
    options: { readonly advice?: string; readonly exitCode?: 1 | 2; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.advice = options.advice
    this.exitCode = options.exitCode ?? 1
  }
}

export const wrongUsage = (message: string, advice?: string): Failure =>
  new Failure(message, { exitCode: 2, ...(advice !== undefined && { advice }) })
