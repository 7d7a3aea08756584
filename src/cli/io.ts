/** Where text goes. Process streams fit, and so does whatever a test collects in. */
export interface TextSink {
  readonly isTTY?: boolean
  /** Of a terminal: its width and height in characters. */
  readonly columns?: number
  readonly rows?: number
  /** False where it holds so much that more is to wait for `drain`. */
  write(text: string): unknown
  once?(event: 'drain', listener: () => void): unknown
}

/** Everything that `svc` touches of the world it runs in. */
export interface Io {
  readonly stdout: TextSink
  readonly stderr: TextSink
  /** Asked only where a command reads an answer; absent means that there is nobody to ask. */
  readonly stdin?: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Shows an address to the person in front of the machine. The system's browser when absent. */
  readonly openBrowser?: (address: string) => void
  /** Shows a long text page by page; false where there is no such program. */
  readonly pager?: (text: string) => Promise<boolean>
  /** Requests and their times are told on stderr. */
  readonly verbose?: boolean
  /** Aborted, with an `Interrupted`, by Ctrl-C and by SIGTERM. */
  readonly signal?: AbortSignal
  readonly now?: () => Date
}

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const

export type StopSignal = keyof typeof SIGNAL_NUMBERS

/** Somebody asked `svc` to stop: the shell's convention is 128 + the signal's number. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly exitCode: number

  constructor(signal: StopSignal) {
    super(`svc was stopped (${signal}).`)
    this.exitCode = 128 + SIGNAL_NUMBERS[signal]
  }
}
