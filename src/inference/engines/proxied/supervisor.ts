import { setTimeout as sleep } from 'node:timers/promises'
import { InferenceError } from '../../errors.ts'
import { type ServerProcess, type ServerProcessOptions, startServerProcess } from './server-process.ts'

/** One that lived this long was healthy; one that did not may be dying of what it is given. */
const HEALTHY_MS = 10_000
const MAX_PAUSE_MS = 30_000

export interface Supervisor {
  /** The running server, waiting for one that is being started. @throws InferenceError engine_failed */
  server(): Promise<ServerProcess>
  restarts(): number
  close(): Promise<void>
}

/** Starts the server, starts it again whenever it ends (after growing pauses when that goes on), and ends it with `close`. */
export const superviseServer = async (options: Omit<ServerProcessOptions, 'signal'>): Promise<Supervisor> => {
  const stop = new AbortController()
  let restarts = 0
  let failures = 0
  let current: Promise<ServerProcess> | null = null

  const start = async (pauseMs: number): Promise<ServerProcess> => {
    await sleep(pauseMs, undefined, { signal: stop.signal }).catch(() => undefined)
    const server = await startServerProcess({ ...options, signal: stop.signal })
    const since = Date.now()
    void server.program.ended.then((reason) => {
      if (stop.signal.aborted) return
      options.log(`${options.program.name} ended (${reason}); it is started again.`)
      failures = Date.now() - since < HEALTHY_MS ? failures + 1 : 0
      restarts++
      current = null
      // Its failure is told to whoever asks next.
      ensure().catch(() => undefined)
    })
    return server
  }

  const ensure = (): Promise<ServerProcess> => {
    if (stop.signal.aborted) return Promise.reject(new InferenceError('engine_failed', 'The engine was closed.'))
    // The first restart is at once.
    const pauseMs = failures < 2 ? 0 : Math.min(MAX_PAUSE_MS, 500 * 2 ** (failures - 2))
    current ??= start(pauseMs).catch((error: unknown) => {
      failures++
      current = null
      throw error
    })
    return current
  }

  await ensure()
  return {
    server: ensure,
    restarts: () => restarts,
    async close() {
      const last = current
      stop.abort()
      await last?.then(
        ({ program }) => program.stop(),
        () => undefined,
      )
    },
  }
}
