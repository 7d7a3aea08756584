import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { askToEnd } from '../platform/threads/ask-to-end.ts'
import { threadEntry } from '../platform/threads/start-thread.ts'

/** Runs `npm start` on a free port: the real service in a separate process, with its data in `dataDir`. */
export const startService = async (dataDir: string) => {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(threadEntry(import.meta.url, '../main'))], {
    env: {
      ...withoutSettings(process.env),
      SERVICE_DATA_DIR: dataDir,
      SERVICE_PORT: '0',
      SERVICE_LOG_LEVEL: 'warn',
      // The operator polls its round several times a second.
      SERVICE_RATE_LIMIT_PER_MINUTE: '1000',
    },
    // The service stops when the channel closes, however the demo ends.
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    // Ctrl-C must reach only the demo, which then stops the service.
    detached: true,
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const baseUrl = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const address = /listening on (\S+)/.exec(line)?.[1]
      if (address !== undefined) resolve(address)
      else if (line.startsWith('{')) console.error(line)
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`The service ended with code ${code} before it listened.`)))
  })
  return {
    baseUrl,
    /** Resolves once the service has finished requests in flight. */
    async stop(): Promise<void> {
      askToEnd(child)
      await ended
    },
  }
}

const withoutSettings = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('SERVICE_')))
