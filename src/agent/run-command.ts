import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { readLines } from './bounded-lines.ts'

export interface CommandRun {
  /** null if a signal ended it. */
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
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
/** Time between asking the command to stop and killing it. */
const GRACE_MS = 5000
/** Time between the end of the command and the end of its output. */
const OUTPUT_GRACE_MS = 2000
const MAX_OUTPUT_LENGTH = 64 * 1024
const MAX_LINE_LENGTH = 500
/** Node fires timers longer than this immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1

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

/** Signals the command's process group, which includes everything that it started. */
const signalGroup = (child: ChildProcess, signal: NodeJS.Signals): void => {
  try {
    if (process.platform === 'win32') child.kill(signal)
    else if (child.pid !== undefined) process.kill(-child.pid, signal)
  } catch {
    // The group has already ended.
  }
}

/**
 * Runs a command line in the user's shell until it and its output have ended. It does not wait for output of a process that the
 * command left in another session. After `timeoutMs`, or when aborted, it asks the command to stop (SIGTERM to its process
 * group), and kills it after a grace period. Processes left in its group are killed, too.
 * Rejects only if the shell cannot be started.
 */
export const runCommand = (command: string, options: CommandOptions): Promise<CommandRun> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, {
      shell: true,
      // A separate process group, so that a stop reaches its children, and Ctrl-C reaches only this process.
      detached: process.platform !== 'win32',
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      windowsHide: true,
    })
    let lastOutput: string | null = null
    const output = collect(child.stdout, (line) => {
      if (line.trim() !== '') lastOutput = line.length > MAX_OUTPUT_LENGTH ? null : line.trim()
      options.onLine(line)
    })
    const errors = collect(child.stderr, options.onLine)
    let stopped: CommandRun['stopped'] = null
    let killTimer: NodeJS.Timeout | undefined
    let outputTimer: NodeJS.Timeout | undefined
    const stop = (reason: 'timeout' | 'aborted'): void => {
      if (stopped !== null) return
      stopped = reason
      signalGroup(child, 'SIGTERM')
      killTimer = setTimeout(() => signalGroup(child, 'SIGKILL'), GRACE_MS)
    }
    const onAbort = (): void => stop('aborted')
    const timer = setTimeout(() => stop('timeout'), Math.min(options.timeoutMs, MAX_TIMER_MS))
    options.signal.addEventListener('abort', onAbort, { once: true })
    if (options.signal.aborted) onAbort()
    const finish = (): void => {
      clearTimeout(timer)
      clearTimeout(killTimer)
      clearTimeout(outputTimer)
      options.signal.removeEventListener('abort', onAbort)
    }
    child.once('error', (error) => {
      finish()
      reject(error)
    })
    // A background process would hold the pipes open, and `close` would never come. A process in another session is not
    // killed with the group: `close` comes once the pipes are destroyed.
    child.once('exit', () => {
      finish()
      signalGroup(child, 'SIGKILL')
      outputTimer = setTimeout(() => {
        child.stdout.destroy()
        child.stderr.destroy()
      }, OUTPUT_GRACE_MS)
    })
    child.once('close', (exitCode, signal) => {
      finish()
      resolve({ exitCode, signal, stopped, lastLines: errors.length > 0 ? errors : output, lastOutput })
    })
  })
