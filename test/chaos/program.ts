import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

export interface ProgramOptions {
  readonly name: string
  readonly command: string
  readonly argv: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
  readonly cwd: string
  readonly log: string
  /** True if it exits when its standard input closes, and therefore needs one. */
  readonly hasInput?: boolean
}

/** Runs a program that is restarted one second after it exits, like systemd, unless it is held down. */
export const superviseProgram = (options: ProgramOptions) => {
  const { name, command, argv, env, user, cwd, log, hasInput = false } = options
  let child: ChildProcess | null = null
  let isHeld = false
  let isOver = false
  let starts = 0
  let exits = 0

  const start = (): void => {
    if (isOver || isHeld || isRunning()) return
    const file = openSync(log, 'a')
    const started = spawn(command, argv, {
      cwd,
      ...user,
      env: { PATH: process.env.PATH, ...env },
      stdio: [hasInput ? 'pipe' : 'ignore', file, file],
    })
    closeSync(file)
    child = started
    starts++
    started.once('exit', () => {
      if (child === started) child = null
      if (isHeld || isOver) return
      exits++
      setTimeout(start, 1000).unref()
    })
  }

  const isRunning = (): boolean => child !== null && child.exitCode === null && child.signalCode === null

  /** Ends it with this signal, and starts it again after this time. */
  const endBy = async (signal: NodeJS.Signals, downMs: number): Promise<void> => {
    isHeld = true
    try {
      if (isRunning()) {
        const ended = once(child!, 'exit')
        child!.kill(signal)
        // A stopped process would not receive the signal.
        child?.kill('SIGCONT')
        await ended
      }
      await wait(downMs)
    } finally {
      isHeld = false
      start()
    }
  }

  start()
  return {
    name,
    log,
    endBy,
    pid: () => child?.pid ?? null,
    isRunning,
    /** The number of times that it exited by itself. */
    exits: () => exits,
    starts: () => starts,
    signal: (signal: NodeJS.Signals): void => void child?.kill(signal),
    memory: (): { residentBytes: number; descriptors: number } | null => {
      if (child?.pid === undefined) return null
      try {
        const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
        const residentBytes = 1024 * Number(/VmRSS:\s+(\d+)/.exec(status)?.[1])
        return { residentBytes, descriptors: readdirSync(`/proc/${child.pid}/fd`).length }
      } catch {
        return null
      }
    },
    close: async (signal: NodeJS.Signals): Promise<void> => {
      isOver = true
      if (!isRunning()) return
      const ended = once(child!, 'exit')
      child!.kill('SIGCONT')
      child!.kill(signal)
      await Promise.race([ended, wait(15_000).then(() => child?.kill('SIGKILL'))])
    },
  }
}

export type Program = ReturnType<typeof superviseProgram>
