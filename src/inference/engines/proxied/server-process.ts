import { setTimeout as sleep } from 'node:timers/promises'
import { InferenceError } from '../../errors.ts'
import type { Environment } from '../../find-program.ts'
import type { ModelFile } from '../../models/model-file.ts'
import { freePort, HOST } from './free-port.ts'
import { type KeptProgram, keepProgram } from './kept-program.ts'
import type { ProxiedProgram } from './program.ts'

const PROBE_MS = 100
/** Beyond it a server that has taken the connection is taken for hanging. */
const PROBE_TIMEOUT_MS = 5000

export interface ServerProcess {
  readonly baseUrl: string
  readonly program: KeptProgram
}

export interface ServerProcessOptions {
  readonly program: ProxiedProgram
  readonly path: string
  readonly model: ModelFile
  readonly env: Environment
  /** Loading a model of many gigabytes from a slow disk takes minutes. */
  readonly readyWithinMs: number
  readonly log: (line: string) => void
  readonly signal: AbortSignal
}

const answers = async (baseUrl: string, signal: AbortSignal): Promise<boolean> => {
  try {
    const timeout = AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)])
    const response = await fetch(`${baseUrl}/v1/models`, { signal: timeout })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

export const withWords = (what: string, program: KeptProgram): string => {
  const words = program.stderrTail()
  return words === '' ? `${what} It said nothing.` : `${what} It said:\n${words}`
}

/**
 * Starts the program on a free port of this machine and waits until it answers.
 * @throws InferenceError engine_failed, with what it said, when it ends or does not answer in time.
 */
export const startServerProcess = async (options: ServerProcessOptions): Promise<ServerProcess> => {
  const { name } = options.program
  const port = await freePort()
  const baseUrl = `http://${HOST}:${port}`
  const program = keepProgram(options.path, options.program.arguments(options.model, HOST, port), options)
  const deadline = Date.now() + options.readyWithinMs
  let ended: string | null = null
  void program.ended.then((reason) => {
    ended = reason
  })
  while (!options.signal.aborted) {
    if (ended === null && (await answers(baseUrl, options.signal))) return { baseUrl, program }
    if (ended !== null) {
      throw new InferenceError('engine_failed', withWords(`${name} ended while it started (${ended}).`, program))
    }
    if (Date.now() >= deadline) {
      await program.stop()
      const seconds = options.readyWithinMs / 1000
      throw new InferenceError(
        'engine_failed',
        withWords(`${name} was started but did not answer within ${seconds} s.`, program),
      )
    }
    await Promise.race([sleep(PROBE_MS), program.ended])
  }
  await program.stop()
  throw new InferenceError('engine_failed', `${name} was closed while it started.`)
}
