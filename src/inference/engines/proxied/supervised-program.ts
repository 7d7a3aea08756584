import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { threadEntry } from '../../../platform/threads/start-thread.ts'
import type { Environment } from '../../find-program.ts'
import { engineEnvironment } from '../child/engine-environment.ts'

/** A child program that ends when this process ends. */
export interface SupervisedProgram {
  /** Resolves when it has ended, with the reason in words: `exit code 1`. */
  readonly ended: Promise<string>
  /** Its last output on stderr, which shows why it failed. */
  stderrTail(): string
  stop(): Promise<void>
}

const KEPT_LINES = 12
const MAX_LINE_LENGTH = 300
const STDERR_DRAIN_MS = 1000

export const superviseProgram = (
  path: string,
  argv: readonly string[],
  { env, log, cwd }: { readonly env: Environment; readonly log: (line: string) => void; readonly cwd?: string },
): SupervisedProgram => {
  const keeper = fork(fileURLToPath(threadEntry(import.meta.url, 'keeper.process')), [path, ...argv], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: engineEnvironment(env),
    detached: process.platform !== 'win32',
    ...(cwd !== undefined && { cwd }),
  })
  const lines: string[] = []
  const words = createInterface({ input: keeper.stderr! }).on('line', (line) => {
    lines.push(line.slice(0, MAX_LINE_LENGTH))
    if (lines.length > KEPT_LINES) lines.shift()
    log(line)
  })
  let reason = 'it was ended'
  keeper.on('message', (message) => {
    const { code, signal } = message as { readonly code: number | null; readonly signal: string | null }
    reason = signal === null ? `exit code ${code}` : signal
  })
  const stderrClosed = once(words, 'close')
  const gone = new Promise<void>((resolve) => {
    keeper.once('exit', () => resolve())
    keeper.once('error', (error) => {
      lines.push(error.message)
      resolve()
    })
  })
  // The keeper's `close` event never comes after a disconnect. Its descendants may still hold its stderr open.
  const closed = gone.then(() => Promise.race([stderrClosed, sleep(STDERR_DRAIN_MS, undefined, { ref: false })]))
  return {
    ended: closed.then(() => reason),
    stderrTail: () => lines.join('\n'),
    async stop() {
      if (keeper.connected) keeper.disconnect()
      await closed
    },
  }
}
