import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { threadEntry } from '../../../platform/threads/start-thread.ts'
import { InferenceError } from '../../errors.ts'
import { engineEnvironment } from './engine-environment.ts'
import { endWithParent } from './process-side.ts'
import { errorOf, type Failure, failureOf } from './protocol.ts'

/** The response of the process. */
type Outcome<Result> = { readonly result: Result } | { readonly failure: Failure }

export interface RunOnceOptions {
  /** The engine's name, for messages. */
  readonly name: string
  readonly signal?: AbortSignal
  readonly timeoutMs: number
}

/**
 * Runs `<file>` next to `importMetaUrl` in a separate process, sends it one command, and ends it after the response.
 * @throws the InferenceError that the process sent; engine_failed if it dies or times out; the signal's reason on abort
 */
export const runOnce = <Command extends object, Result>(
  entry: { readonly importMetaUrl: string; readonly file: string },
  command: Command,
  { name, signal, timeoutMs }: RunOnceOptions,
): Promise<Result> => {
  signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(threadEntry(entry.importMetaUrl, entry.file)), [], {
      serialization: 'advanced',
      execArgv: [],
      env: engineEnvironment(process.env),
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const end = (settle: () => void): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      child.kill('SIGKILL')
      settle()
    }
    const fail = (error: unknown): void => end(() => reject(error))
    const failed = (why: string): void => fail(new InferenceError('engine_failed', `${name} ${why}.`))
    const abort = (): void => fail(signal?.reason)
    const timer = setTimeout(() => failed(`was stopped after ${Math.round(timeoutMs / 1000)} s`), timeoutMs)
    signal?.addEventListener('abort', abort, { once: true })
    child.once('error', (error) => failed(`could not be started: ${error.message}`))
    child.once('exit', (code, by) => failed(by === null ? `ended with code ${code}` : `was ended by ${by}`))
    child.once('message', (answer: Outcome<Result>) =>
      'result' in answer ? end(() => resolve(answer.result)) : fail(errorOf(answer.failure)),
    )
    child.send(command)
  })
}

/** The other side: responds to the single command that the process gets. */
export const serveOnce = <Command, Result>(run: (command: Command) => Promise<Result>): void => {
  endWithParent()
  process.on('message', (command: Command) => {
    void run(command)
      .then(
        (result): Outcome<Result> => ({ result }),
        (error: unknown): Outcome<Result> => ({ failure: failureOf(error) }),
      )
      .then((answer) => process.send?.(answer))
  })
}
