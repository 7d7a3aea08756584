import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { type Ending, startKept } from '../platform/threads/kept-program.ts'

export interface CommandRun extends Ending {
  /** The reason that this process stopped it; null if it did not. */
  readonly stopped: 'timeout' | 'aborted' | null
  /** The last lines of its error output, or of its output if there were none. */
  readonly lastLines: readonly string[]
  /** The last line of its output that is not blank; null if it is too long to be useful. */
  readonly lastOutput: string | null
}

export interface CommandOptions {
  /** Added to this process's environment; undefined removes a variable. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly onLine: (line: string) => void
}

const KEPT_LINES = 20
/** Time between the end of the command and the end of its output. */
const OUTPUT_GRACE_MS = 2000
const MAX_OUTPUT_LENGTH = 64 * 1024
const MAX_LINE_LENGTH = 500
/** Node fires timers longer than this immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Calls `onLine` with each line as it arrives, without what exceeds `maxLength` characters. */
export const readLines = (stream: Readable, maxLength: number, onLine: (line: string) => void): void => {
  let line = ''
  let hasBegun = false
  let endedWithReturn = false
  const end = (): void => {
    const whole = line
    line = ''
    hasBegun = false
    onLine(whole)
  }
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    // A \r\n may be split between two chunks.
    const rest = endedWithReturn && text.startsWith('\n') ? text.slice(1) : text
    endedWithReturn = text.endsWith('\r')
    const parts = rest.split(/\r\n|\n|\r/)
    for (const [index, part] of parts.entries()) {
      line += part.slice(0, maxLength - line.length)
      hasBegun ||= part !== ''
      if (index < parts.length - 1) end()
    }
  })
  stream.once('end', () => hasBegun && end())
}

/** Reads lines as they arrive, truncates long ones, and keeps the last lines. */
const collect = (stream: Readable, onLine: (line: string) => void): string[] => {
  const kept: string[] = []
  readLines(stream, MAX_OUTPUT_LENGTH + 1, (line) => {
    kept.push(line.slice(0, MAX_LINE_LENGTH))
    if (kept.length > KEPT_LINES) kept.shift()
    onLine(line)
  })
  return kept
}

/**
 * Runs a command line in the user's shell until it and its output have ended. It does not wait for output of a process that the
 * command left in another session. After `timeoutMs`, or when aborted, it asks the command to stop (SIGTERM to its process
 * group), and kills it after a grace period. Processes left in its group are killed, too, and all of them if this process is killed.
 * Rejects only if no process can be started.
 */
export const runCommand = async (command: string, options: CommandOptions): Promise<CommandRun> => {
  const { env, cwd, timeoutMs, signal: abort, onLine } = options
  const program = startKept({ shell: command }, { env: { ...process.env, ...env }, cwd, stdout: 'pipe' })
  const streams = [program.keeper.stdout!, program.keeper.stderr!] as const
  const closed = Promise.all(streams.map((stream) => once(stream, 'close')))
  let lastOutput: string | null = null
  const output = collect(streams[0], (line) => {
    if (line.trim() !== '') lastOutput = line.length > MAX_OUTPUT_LENGTH ? null : line.trim()
    onLine(line)
  })
  const errors = collect(streams[1], onLine)
  let stopped: CommandRun['stopped'] = null
  const stop = (reason: 'timeout' | 'aborted'): void => {
    stopped ??= reason
    program.stop()
  }
  const onAbort = (): void => stop('aborted')
  const timer = setTimeout(() => stop('timeout'), Math.min(timeoutMs, MAX_TIMER_MS))
  abort.addEventListener('abort', onAbort, { once: true })
  if (abort.aborted) onAbort()
  const ending = await program.ended.finally(() => {
    clearTimeout(timer)
    abort.removeEventListener('abort', onAbort)
  })
  // A process in another session may hold the output open.
  const outputTimer = setTimeout(() => {
    for (const stream of streams) stream.destroy()
  }, OUTPUT_GRACE_MS)
  await closed
  clearTimeout(outputTimer)
  return { ...ending, stopped, lastLines: errors.length > 0 ? errors : output, lastOutput }
}
