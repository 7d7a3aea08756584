import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { threadEntry } from './start-thread.ts'

export interface KeptProgramOptions {
  readonly env: NodeJS.ProcessEnv
  readonly cwd?: string | undefined
  readonly stdout: 'ignore' | 'pipe'
}

export interface Ending {
  /** null if a signal ended it. */
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
}

/** A program that ends with everything that it started when this process ends in any way, even by SIGKILL. */
export interface KeptProgram {
  /** Has the output of the program. Its `close` event never comes after `stop`. */
  readonly keeper: ChildProcess
  /** Resolves when the program has ended. Rejects if no process can be started. */
  readonly ended: Promise<Ending>
  /** Asks the program and everything that it started to end (SIGTERM to its process group), and kills it after five seconds. */
  stop(): void
}

/** Starts a program with arguments, or a command line in the user's shell. */
export const startKept = (
  what: { readonly program: string; readonly argv: readonly string[] } | { readonly shell: string },
  { env, cwd, stdout }: KeptProgramOptions,
): KeptProgram => {
  const argv = 'shell' in what ? ['shell', what.shell] : ['program', what.program, ...what.argv]
  const keeper = fork(fileURLToPath(threadEntry(import.meta.url, 'keeper.process')), argv, {
    execArgv: [],
    stdio: ['ignore', stdout, 'pipe', 'ipc'],
    env,
    cwd,
    // Ctrl-C reaches only this process.
    detached: process.platform !== 'win32',
  })
  let reported: Ending | null = null
  keeper.on('message', (message) => {
    reported = message as Ending
  })
  // The message may arrive after the process has ended, but not after its channel has.
  const gone = Promise.all([once(keeper, 'exit'), once(keeper, 'disconnect')])
  return {
    keeper,
    ended: gone.then(([[exitCode, signal]]) => reported ?? { exitCode, signal }),
    stop: () => {
      if (keeper.connected) keeper.disconnect()
    },
  }
}
