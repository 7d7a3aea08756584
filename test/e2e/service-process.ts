import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { freshPostgresUrl, hasPostgres } from '../databases.ts'
import { builtFile } from './built-program.ts'

export interface RunningService {
  readonly baseUrl: string
  /** Everything printed so far. */
  output(): string
  /** Like a power failure: no handler runs. */
  kill(): Promise<void>
  /** Asks it to stop; resolves with its exit code. */
  terminate(): Promise<number | null>
  /** Ends what the program that started it, such as `svc up`, holds open; resolves with its exit code. */
  abandon(): Promise<number | null>
}

/** Runs the program like `npm start`, on a data folder and a free port. */
export const runService = async (
  dataDir: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<RunningService> => {
  // The optimizing second compilation of the database takes longer than a service lives here.
  const child: ChildProcess = spawn(process.execPath, ['--liftoff-only', await builtFile('main.js')], {
    env: {
      PATH: process.env.PATH,
      SERVICE_DATA_DIR: dataDir,
      SERVICE_PORT: '0',
      SERVICE_LOG_LEVEL: 'warn',
      SERVICE_RATE_LIMIT_PER_MINUTE: '1000000',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  child.stderr!.on('data', (chunk: Buffer) => lines.push(chunk.toString()))
  const ended = once(child, 'exit') as Promise<[number | null]>
  const baseUrl = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      lines.push(line)
      const address = /listening on (\S+)/.exec(line)?.[1]
      if (address !== undefined) resolve(address)
    })
    ended.then(([code]) => reject(new Error(`ended with code ${code}:\n${lines.join('\n')}`)), reject)
  })
  return {
    baseUrl,
    output: () => lines.join('\n'),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async terminate() {
      child.kill('SIGTERM')
      return (await ended)[0]
    },
    async abandon() {
      for (const stream of [child.stdout!, child.stderr!]) stream.destroy()
      child.disconnect()
      return (await ended)[0]
    },
  }
}

/** For services whose embedded database is not the subject: one on the PostgreSQL server starts in half the CPU time. */
export const onServer = async (): Promise<Readonly<Record<string, string>>> =>
  hasPostgres() ? { SERVICE_DATABASE_URL: await freshPostgresUrl() } : {}

/** Repeats `look`, often a request, until `wanted` accepts its result; fails with the last result. */
export const until = async <Seen>(
  look: () => Promise<Seen>,
  wanted: (seen: Seen) => boolean,
  ms = 120_000,
): Promise<Seen> => {
  const deadline = Date.now() + ms
  for (;;) {
    const seen = await look()
    if (wanted(seen)) return seen
    if (Date.now() > deadline) throw new Error(`waited in vain; last seen: ${JSON.stringify(seen)}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
