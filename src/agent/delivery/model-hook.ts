import { createHash } from 'node:crypto'
import { jsonOrNull } from '../../domain/parse-json.ts'
import { isStorable } from '../../domain/text.ts'
import { runCommand } from '../run-command.ts'
import type { Metrics } from './model-state.ts'

export interface HookTask {
  /** null for names that the hook resolves, and if nothing is to run anymore. */
  readonly path: string | null
  readonly modelName: string | null
  readonly modelId: string | null
  /** null if nothing is to run anymore. */
  readonly version: string | null
  readonly format: string | null
  readonly previousPath: string | null
  readonly signal: AbortSignal
}

export interface ModelHook {
  /** The digest of the command line. With a different command, a failed version may succeed. */
  readonly digest: string
  /** Resolves with the reported metrics. @throws HookFailed */
  run(task: HookTask): Promise<Metrics | null>
}

export interface HookOptions {
  /** The user's command line, run in the shell. Nothing from the service becomes part of it. */
  readonly command: string
  readonly cwd?: string | undefined
  readonly timeoutSeconds: number
  readonly onLine: (line: string) => void
}

/** The command did not accept the version. The message is the last line of its output. */
export class HookFailed extends Error {
  override readonly name = 'HookFailed'
}

const MAX_METRICS = 100
const MAX_NAME_LENGTH = 100

/** True for names that the service accepts; it refuses a whole report because of any other. */
const isName = (name: string): boolean => name.length <= MAX_NAME_LENGTH && name !== '__proto__' && isStorable(name)

/** Returns the finite numbers of the JSON object in this line; null if there is none. */
export const metricsOf = (line: string | null): Metrics | null => {
  if (!line?.startsWith('{')) return null
  const numbers = Object.entries(jsonOrNull(line) ?? {}).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && Number.isFinite(entry[1]) && isName(entry[0]),
  )
  return numbers.length === 0 ? null : Object.fromEntries(numbers.slice(0, MAX_METRICS))
}

/**
 * Runs the user's command whenever another version is to run. Its environment contains MODEL_PATH, MODEL_NAME, MODEL_ID,
 * MODEL_VERSION, MODEL_FORMAT, and MODEL_PREVIOUS_PATH; those that do not apply are empty. It may run twice for the same
 * version, because the agent may be killed in between. Exit code 0 means that the version runs now. A JSON object of numbers on
 * its last line of output reports metrics.
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
