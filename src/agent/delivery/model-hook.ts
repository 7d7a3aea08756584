import { createHash } from 'node:crypto'
import { isStorable } from '../../domain/text.ts'
import { runCommand } from '../run-command.ts'
import type { Metrics } from './model-state.ts'

export interface HookTask {
  /** Null for names that the hook resolves itself, and when nothing is to run any more. */
  readonly path: string | null
  readonly modelName: string | null
  readonly modelId: string | null
  /** Null when nothing is to run any more. */
  readonly version: string | null
  readonly format: string | null
  readonly previousPath: string | null
  readonly signal: AbortSignal
}

export interface ModelHook {
  /** Digest of the command line: with another one, what failed before may succeed. */
  readonly digest: string
  /** Resolves with what it measured. Throws HookFailed. */
  run(task: HookTask): Promise<Metrics | null>
}

export interface HookOptions {
  /** A command line of the user's own, run in the shell. Nothing that the service sends becomes part of it. */
  readonly command: string
  readonly cwd?: string | undefined
  readonly timeoutSeconds: number
  readonly onLine: (line: string) => void
}

/** The command did not take the version; the message is what it said last. */
export class HookFailed extends Error {
  override readonly name = 'HookFailed'
}

const MAX_METRICS = 100
const MAX_NAME_LENGTH = 100

/** The service refuses a whole report because of another name. */
const isName = (name: string): boolean => name.length <= MAX_NAME_LENGTH && name !== '__proto__' && isStorable(name)

/** The finite numbers of a JSON object in this line; null when it is none. */
export const metricsOf = (line: string | null): Metrics | null => {
  if (!line?.startsWith('{')) return null
  let found: unknown
  try {
    found = JSON.parse(line)
  } catch {
    return null
  }
  const numbers = Object.entries(found as object).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && Number.isFinite(entry[1]) && isName(entry[0]),
  )
  return numbers.length === 0 ? null : Object.fromEntries(numbers.slice(0, MAX_METRICS))
}

/**
 * Runs the user's command whenever another version is to run. It finds MODEL_PATH, MODEL_NAME, MODEL_ID, MODEL_VERSION,
 * MODEL_FORMAT and MODEL_PREVIOUS_PATH in its environment; what does not apply is empty. It may be run twice with the same
 * version, because the agent may be killed while it runs. Exit code 0 says that the version runs now; a JSON object of
 * numbers on its last line of output is what it measured.
 */
export const commandHook = ({ command, cwd, timeoutSeconds, onLine }: HookOptions): ModelHook => ({
  digest: createHash('sha256').update(command).digest('hex'),
  run: async ({ path, modelName, modelId, version, format, previousPath, signal }) => {
    const run = await runCommand(command, {
      env: {
        MODEL_PATH: path ?? '',
        MODEL_NAME: modelName ?? '',
        MODEL_ID: modelId ?? '',
        MODEL_VERSION: version ?? '',
        MODEL_FORMAT: format ?? '',
        MODEL_PREVIOUS_PATH: previousPath ?? '',
      },
      cwd,
      timeoutMs: timeoutSeconds * 1000,
      signal,
      onLine,
    })
    signal.throwIfAborted()
    if (run.stopped === 'timeout') throw new HookFailed(`The --on-model command was stopped after ${timeoutSeconds} s.`)
    if (run.exitCode !== 0) {
      const lastLine = run.lastLines.findLast((line) => line.trim() !== '')?.trim()
      throw new HookFailed(
        lastLine ?? `The --on-model command ended with ${run.signal ?? `exit code ${run.exitCode}`}.`,
      )
    }
    return metricsOf(run.lastOutput)
  },
})
