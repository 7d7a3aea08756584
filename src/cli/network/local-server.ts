import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { superviseProgram } from '../../inference/engines/proxied/supervised-program.ts'
import { Failure } from '../failure.ts'
import type { Session } from '../session.ts'
import { NoResponse, type RunningServer, serverAt } from './running-server.ts'

/** A server: either already running, or started by svc and stopped with it. */
export interface LocalServer extends RunningServer {
  stop(): Promise<void>
}

const HOST = '127.0.0.1'
const PROBE_MS = 150
/** Enough to load a large model from a slow disk. */
const READY_WITHIN_MS = 300_000

const MAIN = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../main.ts' : '../main.js', import.meta.url))

const nullIfNoResponse = (error: unknown): null => {
  if (error instanceof NoResponse) return null
  throw error
}

/** Starts `svc serve` as a child process that always exits with svc. @throws Failure with its output */
export const startServer = async (
  { io, out }: Session,
  model: string,
  port: number,
  options: readonly string[] = [],
): Promise<LocalServer> => {
  const url = `http://${HOST}:${port}`
  out.note(`Starting a server with ${model} on port ${port} ...`)
  const serve = ['serve', model, '--host', HOST, '--port', String(port), '--no-announce', ...options]
  const program = superviseProgram(process.execPath, [...process.execArgv, MAIN, ...serve], {
    env: io.env,
    log: () => undefined,
    cwd: io.cwd,
  })
  let ended = false
  void program.ended.then(() => {
    ended = true
  })
  const deadline = performance.now() + READY_WITHIN_MS
  try {
    while (!ended && performance.now() < deadline) {
      io.signal.throwIfAborted()
      const found = await serverAt(url, { io }).catch(nullIfNoResponse)
      if (found !== null && !ended) return { ...found, stop: program.stop }
      await Promise.race([sleep(PROBE_MS), program.ended])
    }
  } catch (error) {
    await program.stop()
    throw error
  }
  await program.stop()
  const words = program.stderrTail().replace(/^svc: /, '')
  throw new Failure(
    ended ? `The server exited during startup. ${words}`.trimEnd() : `The server did not start in time. ${words}`,
  )
}

/** Returns the requested model, or the server's first one. @throws Failure if the requested model is missing */
export const modelOf = ({ url, models }: RunningServer, requested: string | null): string => {
  if (requested === null) return models[0]!
  const found = models.find((name) => name === requested)
  if (found !== undefined) return found
  throw new Failure(`The server at ${url} has no model '${requested}'. It has: ${models.join(', ')}.`, {
    advice: `Choose one of them with --model, or choose another --port to start a server with '${requested}'.`,
  })
}
