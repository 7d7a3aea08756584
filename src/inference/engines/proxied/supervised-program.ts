import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorMessage } from '../../../domain/error-message.ts'
import { startKept } from '../../../platform/threads/kept-program.ts'
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
  const program = startKept({ program: path, argv }, { env: engineEnvironment(env), cwd, stdout: 'ignore' })
  const lines: string[] = []
  const words = createInterface({ input: program.keeper.stderr! }).on('line', (line) => {
    lines.push(line.slice(0, MAX_LINE_LENGTH))
    if (lines.length > KEPT_LINES) lines.shift()
    log(line)
  })
  const stderrClosed = once(words, 'close')
  const gone = program.ended.then(
    ({ exitCode, signal }) => signal ?? `exit code ${exitCode}`,
    (error: unknown) => {
      lines.push(errorMessage(error))
      return 'it could not be started'
    },
  )
  // The program's descendants may still hold its stderr open.
  const drained = () => Promise.race([stderrClosed, sleep(STDERR_DRAIN_MS, undefined, { ref: false })])
  const ended = gone.then((reason) => drained().then(() => reason))
  return {
    ended,
    stderrTail: () => lines.join('\n'),
    async stop() {
      program.stop()
      await ended
    },
  }
}
