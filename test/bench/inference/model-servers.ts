import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildProgram } from '../built-program.ts'

export interface ModelServer {
  readonly port: number
  /** The server's name for its model. */
  readonly model: string
  readonly process: ChildProcess
  close(): Promise<void>
}

export interface ServerSettings {
  readonly model: string
  readonly threads: number
  readonly slots: number
  readonly contextTokens: number
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })

const start = async (program: string, args: readonly string[], port: number): Promise<ModelServer> => {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let complaints = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    complaints = (complaints + chunk.toString()).slice(-2000)
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${program} ended: ${complaints}`)
    const healthy = await fetch(`http://127.0.0.1:${port}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (healthy) break
    await sleep(100)
  }
  const listed = (await (await fetch(`http://127.0.0.1:${port}/v1/models`)).json()) as { data: { id: string }[] }
  return {
    port,
    model: listed.data[0]?.id ?? '',
    process: child,
    close: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Starts the compiled `svc serve`, as users run it. */
export const startOurs = async ({ model, threads, slots, contextTokens }: ServerSettings): Promise<ModelServer> => {
  const port = await freePort()
  const cli = join(dirname(buildProgram().service), 'cli/main.js')
  const args = ['serve', model, '--engine', 'llama.cpp', '--port', `${port}`, '--host', '127.0.0.1']
  const sizes = ['--threads', `${threads}`, '--slots', `${slots}`, '--context', `${contextTokens}`, '--max-queue', '64']
  return start(process.execPath, [cli, ...args, ...sizes], port)
}

/** Starts llama.cpp's own server. */
export const startLlamaServer = async (
  program: string,
  { model, threads, slots, contextTokens }: ServerSettings,
): Promise<ModelServer> => {
  const port = await freePort()
  const args = [
    '-m',
    model,
    '--port',
    `${port}`,
    '--host',
    '127.0.0.1',
    '-np',
    `${slots}`,
    '-c',
    `${slots * contextTokens}`,
  ]
  return start(program, [...args, '-t', `${threads}`, '-tb', `${threads}`, '--no-webui'], port)
}
