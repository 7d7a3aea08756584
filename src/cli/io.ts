/** A destination for text: a process stream, or a collector in tests. */
export interface TextSink {
  readonly isTTY?: boolean
  /** Of a terminal: its size in characters. */
  readonly columns?: number
  readonly rows?: number
  /** Returns false if its buffer is full: wait for `drain` before writing more. */
  write(text: string): unknown
  once?(event: 'drain', listener: () => void): unknown
}

/** All of `svc`'s access to its environment. */
export interface Io {
  readonly stdout: TextSink
  readonly stderr: TextSink
  /** Used only by commands that read input; undefined if there is none. */
  readonly stdin?: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Opens an address for the user; the system's browser if undefined. */
  readonly openBrowser?: (address: string) => void
  /** Shows a long text page by page. Returns false if no pager is available. */
  readonly pager?: (text: string) => Promise<boolean>
  /** Prints requests and their durations to stderr. */
  readonly verbose?: boolean
  /** Aborted with an `Interrupted` by Ctrl-C, SIGTERM, and SIGHUP. */
  readonly signal?: AbortSignal
  readonly now?: () => Date
}

/** Its signal may be one that is never aborted. */
export type SessionIo = Io & { readonly signal: AbortSignal }

const SIGNAL_NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const

export type StopSignal = keyof typeof SIGNAL_NUMBERS

/** `svc` was asked to stop. The exit code follows the shell's convention: 128 + the signal's number. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly signal: StopSignal
  readonly exitCode: number

  constructor(signal: StopSignal) {
    super(`svc was stopped (${signal}).`)
    this.signal = signal
    this.exitCode = 128 + SIGNAL_NUMBERS[signal]
  }
}

export const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
