import { spawn } from 'node:child_process'
import { extname, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Failure } from '../failure.ts'
import type { Session } from '../session.ts'

/** Returns the path of the service's program: main.js in the package, main.ts when run from source. */
export const serviceProgram = (): string => {
  const here = fileURLToPath(import.meta.url)
  return fileURLToPath(new URL(`../../main${extname(here)}`, import.meta.url))
}

/** Settings of the command line, which the service does not know. */
const OWN = ['SERVICE_API_KEY', 'SERVICE_API_BASE', 'SERVICE_DASHBOARD_URL']

/**
 * The environment for the service's programs: all settings except those of the command line. MALLOC_TRIM_THRESHOLD_ makes glibc
 * return memory that V8's compilers have freed: 20 to 30 MB of an idle service.
 */
export const serviceSettings = ({ env }: Session['io'], changed: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  SERVICE_LOG_LEVEL: 'warn',
  MALLOC_TRIM_THRESHOLD_: '131072',
  ...Object.fromEntries(Object.entries(env).filter(([name]) => !OWN.includes(name))),
  ...changed,
})

/** `backups` -> `/home/me/backups`; URLs such as s3://bucket are unchanged. */
export const targetFrom = ({ cwd }: Session['io'], target: string): string =>
  /^[a-z][a-z0-9]+:\/\//i.test(target) ? target : resolve(cwd, target)

/**
 * Runs one of the service's programs for use while it is stopped, and shows its output. Ctrl-C stops it.
 * @throws Failure with its last message
 */
export const runServiceProgram = async (
  session: Session,
  argv: readonly string[],
  options: { readonly dataDir?: string | undefined; readonly json?: true | undefined } = {},
): Promise<void> => {
  const { io, out } = session
  const { dataDir, json } = options
  const child = spawn(process.execPath, [...process.execArgv, serviceProgram(), ...argv, ...(json ? ['--json'] : [])], {
    cwd: io.cwd,
    env: serviceSettings(io, dataDir === undefined ? {} : { SERVICE_DATA_DIR: resolve(io.cwd, dataDir) }),
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: io.signal,
  })
  let last = ''
  createInterface({ input: child.stdout }).on('line', (line) => (json ? out.json(JSON.parse(line)) : out.line(line)))
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (last !== '') out.note(last)
    last = line
  })
  const code = await new Promise<number | null>((done, fail) => {
    child.once('close', done)
    child.once('error', (error) => (io.signal.aborted ? done(null) : fail(error)))
  })
  io.signal.throwIfAborted()
  if (code !== 0) throw new Failure(last || `The program ended with exit code ${code}.`)
  if (last !== '') out.note(last)
}
