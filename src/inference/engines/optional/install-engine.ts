import { spawn } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { makeFolder } from '../../../platform/files/make-folder.ts'
import { InferenceError } from '../../errors.ts'
import { bytesUnder } from '../../models/copy-model.ts'
import { clearLeftovers, discard, growingIn, replace } from '../../whole-folder.ts'
import { engineEnvironment } from '../child/engine-environment.ts'
import { type EngineState, engineState, faultOf, modulePathOf } from './installed-engine.ts'
import type { OptionalEngine } from './optional-engine.ts'

export interface ProgramRun {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

const KEPT = 3000

/** Runs a program until it exits. @throws InferenceError engine_failed with its last output */
export const runProgram = (program: string, argv: readonly string[], { cwd, env, signal }: ProgramRun): Promise<void> =>
  new Promise((resolve, reject) => {
    // On Windows, npm is a script, which needs a shell. No argument comes from a user.
    const shell = process.platform === 'win32' && program === 'npm'
    const child = spawn(program, argv, { cwd, env: env as NodeJS.ProcessEnv, shell, stdio: ['ignore', 'pipe', 'pipe'] })
    let words = ''
    const hear = (chunk: Buffer): void => {
      words = (words + chunk.toString()).slice(-KEPT)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    const stop = (): void => void child.kill()
    signal.addEventListener('abort', stop, { once: true })
    const fail = (how: string, cause?: unknown): void => {
      const output = words.trim() === '' ? 'It printed nothing.' : `Its output:\n${words.trim()}`
      reject(new InferenceError('engine_failed', `${[program, ...argv].join(' ')} ${how}. ${output}`, { cause }))
    }
    child.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT'
        ? reject(new InferenceError('engine_missing', `${program} is needed for this, but is not on PATH.`))
        : fail('could not be started', error),
    )
    child.once('close', (code, by) => {
      signal.removeEventListener('abort', stop)
      if (signal.aborted) reject(signal.reason)
      else if (code === 0) resolve()
      else fail(by === null ? `ended with code ${code}` : `was ended by ${by}`)
    })
  })

/**
 * Installs the packages of package.json in `cwd`, without install scripts: the packages used here do not need them, and theirs
 * download files from outside the registry.
 */
const npmInstall = (run: ProgramRun): Promise<void> =>
  runProgram('npm', ['install', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error'], run)

export interface InstallOptions {
  /** The folder of optional engines. */
  readonly engines: string
  /** The environment for npm. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  readonly note: (line: string) => void
}

/** Imports the engine, because packages that lack a system library install without errors and fail on first use. */
const assertUsable = async (part: OptionalEngine, folder: string, options: InstallOptions): Promise<void> => {
  const fault = await faultOf(part, folder)
  if (fault !== null) {
    throw new InferenceError('engine_failed', `npm did not install what was requested: ${fault}.`)
  }
  const url = JSON.stringify(pathToFileURL(modulePathOf(part, folder)).href)
  const argv = ['--input-type=module', '-e', `await import(${url}); process.exit(0)`]
  await runProgram(process.execPath, argv, { cwd: folder, env: engineEnvironment(options.env), signal: options.signal })
}

const prepare = async (part: OptionalEngine, staging: string): Promise<void> => {
  await mkdir(staging)
  const manifest = { name: `svc-${part.folder}`, private: true, dependencies: part.packages }
  await writeFile(join(staging, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await writeFile(join(staging, '.npmrc'), part.npmrc.map((line) => `${line}\n`).join(''))
}

const install = async (part: OptionalEngine, options: InstallOptions): Promise<void> => {
  const { engines, env, signal, note } = options
  await makeFolder(engines, 0o700)
  await clearLeftovers(engines)
  const folder = join(engines, part.folder)
  const staging = growingIn(engines)
  try {
    await prepare(part, staging)
    const packages = Object.entries(part.packages).map(([name, version]) => `${name}@${version}`)
    note(`npm installs ${packages.join(' ')} into ${folder} (about ${part.megabytes} MB).`)
    await npmInstall({ cwd: staging, env, signal })
    for (const name of part.unused) await rm(join(staging, 'node_modules', name), { recursive: true, force: true })
    await assertUsable(part, staging, options)
    const bytes = await bytesUnder(staging)
    await writeFile(join(staging, 'part.json'), `${JSON.stringify({ packages: part.packages, bytes }, null, 2)}\n`)
    await replace(engines, staging, folder, async () => (await engineState(part, engines)).state === 'installed')
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

/**
 * Installs an engine atomically, unless it is already installed.
 * @throws InferenceError engine_failed with npm's output; engine_missing if npm is not available
 */
export const installEngine = async (
  part: OptionalEngine,
  options: InstallOptions,
): Promise<Extract<EngineState, { state: 'installed' }>> => {
  const before = await engineState(part, options.engines)
  if (before.state === 'installed') return before
  await install(part, options)
  const after = await engineState(part, options.engines)
  if (after.state !== 'installed')
    throw new InferenceError('engine_failed', `${part.folder} is missing after the installation.`)
  return after
}

/** Removes an engine. Returns whether it existed. */
export const removeEngine = (part: OptionalEngine, engines: string): Promise<boolean> =>
  discard(engines, join(engines, part.folder))
