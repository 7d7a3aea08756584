import { setTimeout as sleep } from 'node:timers/promises'
import { InferenceError } from '../../errors.ts'
import { type Environment, findProgram } from '../../find-program.ts'
import { freePort, HOST } from './free-port.ts'
import { listServed } from './openai-client.ts'
import type { Server } from './server-requests.ts'
import type { ServerProgram } from './servers.ts'
import { type SupervisedProgram, superviseProgram } from './supervised-program.ts'

const PROBE_MS = 100
/** After this time, a server that accepted the connection counts as hanging. */
const PROBE_TIMEOUT_MS = 5000
/** Loading a model of many gigabytes from a slow disk takes minutes. */
const READY_WITHIN_MS = 180_000
/** A server that ends sooner than this may die of its input, so it is restarted only on the next request. */
const HEALTHY_MS = 10_000

export interface StartOptions {
  /** The model's file or folder. */
  readonly path: string
  /** Its PATH is searched for the program, which inherits the whole environment. */
  readonly env: Environment
  readonly readyWithinMs?: number
  readonly log: (line: string) => void
}

export interface RunningServer extends Server {
  readonly program: SupervisedProgram
}

export const withWords = (what: string, program: SupervisedProgram): string => {
  const words = program.stderrTail()
  return words === '' ? `${what} It printed nothing.` : `${what} Its output:\n${words}`
}

/** Starts the program on a free local port and waits until it answers. */
const startOnce = async (
  { name, arguments: argumentsFor }: ServerProgram,
  path: string,
  options: StartOptions,
  signal: AbortSignal,
): Promise<RunningServer> => {
  const { readyWithinMs = READY_WITHIN_MS } = options
  const port = await freePort()
  const server = { baseUrl: `http://${HOST}:${port}/v1`, stallMs: PROBE_TIMEOUT_MS }
  const argv = [...argumentsFor(options.path), '--host', HOST, '--port', String(port)]
  const program = superviseProgram(path, argv, options)
  const deadline = performance.now() + readyWithinMs
  let ended: string | null = null
  void program.ended.then((reason) => {
    ended = reason
  })
  const failed = (what: string) => new InferenceError('engine_failed', withWords(`${name} ${what}.`, program))
  while (!signal.aborted) {
    const answers = await listServed(server, signal).then(
      () => true,
      () => false,
    )
    if (ended !== null) throw failed(`ended during startup (${ended})`)
    if (answers) return { baseUrl: server.baseUrl, program }
    if (performance.now() >= deadline) {
      await program.stop()
      throw failed(`was started but did not respond within ${readyWithinMs / 1000} s`)
    }
    await Promise.race([sleep(PROBE_MS), program.ended])
  }
  await program.stop()
  throw new InferenceError('engine_failed', `${name} was closed during startup.`)
}

/**
 * Starts a server that is restarted when it ends.
 * @throws InferenceError engine_missing if the program is not on PATH, engine_failed if it does not start
 */
export const startServer = async (program: ServerProgram, options: StartOptions) => {
  const path = await findProgram(program.program, options.env)
  if (path === null) {
    throw new InferenceError(
      'engine_missing',
      `${program.name} is not installed: there is no ${program.program} on the PATH. Install it: ${program.install}`,
    )
  }
  const stop = new AbortController()
  let restarts = 0
  let current: Promise<RunningServer> | null = null

  const start = async (): Promise<RunningServer> => {
    const running = await startOnce(program, path, options, stop.signal)
    const since = performance.now()
    void running.program.ended.then((reason) => {
      if (stop.signal.aborted) return
      options.log(`${program.name} ended (${reason}); it is being restarted.`)
      restarts++
      current = null
      // The next request reports a failure.
      if (performance.now() - since >= HEALTHY_MS) server().catch(() => undefined)
    })
    return running
  }
  /** Returns the running server, or waits for one that is starting. @throws InferenceError engine_failed */
  const server = (): Promise<RunningServer> => {
    if (stop.signal.aborted) return Promise.reject(new InferenceError('engine_failed', 'The engine was closed.'))
    current ??= start().catch((error: unknown) => {
      current = null
      throw error
    })
    return current
  }

  await server()
  return {
    server,
    restarts: (): number => restarts,
    async close(): Promise<void> {
      const last = current
      stop.abort()
      await last?.then(
        (running) => running.program.stop(),
        () => undefined,
      )
    },
  }
}
