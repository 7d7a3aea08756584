import { spawn } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InferenceError } from '../../errors.ts'
import { bytesUnder } from '../../models/copy-model.ts'
import { clearLeftovers, discard, growingIn, replace } from '../../whole-folder.ts'
import { type EngineState, engineState, faultOf, modulePathOf } from './installed-engine.ts'
import type { OptionalEngine } from './optional-engine.ts'

export interface ProgramRun {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

const KEPT = 3000

/** Runs a program to its end. @throws InferenceError engine_failed with what it last said */
export const runProgram = (program: string, argv: readonly string[], { cwd, env, signal }: ProgramRun): Promise<void> =>
  new Promise((resolve, reject) => {
    // npm is a script on Windows, which only a shell starts; no argument comes from a user.
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
 * Installs what package.json in `cwd` names. Without install scripts: what is used here needs none, and theirs fetch from
 * elsewhere than the registry.
 */
export const npmInstall = (run: ProgramRun): Promise<void> =>
  runProgram('npm', ['install', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error'], run)

export interface InstallOptions {
  /** The folder of all parts. */
  readonly engines: string
  /** What npm runs with. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  readonly note: (line: string) => void
}

/** Packages that lack a library of this system install well and fail when they are first used: they are tried now. */
const assertUsable = async (part: OptionalEngine, folder: string, options: InstallOptions): Promise<void> => {
  const fault = await faultOf(part, folder)
  if (fault !== null) {
    throw new InferenceError('engine_failed', `npm did not install what was requested: ${fault}.`)
  }
  const url = JSON.stringify(pathToFileURL(modulePathOf(part, folder)).href)
  const argv = ['--input-type=module', '-e', `await import(${url}); process.exit(0)`]
  await runProgram(process.execPath, argv, { cwd: folder, env: options.env, signal: options.signal })
}

const prepare = async (part: OptionalEngine, staging: string): Promise<void> => {
  await mkdir(staging)
  const manifest = { name: `svc-${part.folder}`, private: true, dependencies: part.packages }
  await writeFile(join(staging, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await writeFile(join(staging, '.npmrc'), part.npmrc.map((line) => `${line}\n`).join(''))
}

const install = async (part: OptionalEngine, options: InstallOptions): Promise<void> => {
  const { engines, env, signal, note } = options
  await mkdir(engines, { recursive: true })
  await clearLeftovers(engines, Date.now())
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
 * Installs a part, whole or not at all, unless it is there already.
 * @throws InferenceError engine_failed with what npm said; engine_missing where there is no npm
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

/** Removes a part. Whether it was there. */
export const removeEngine = (part: OptionalEngine, engines: string): Promise<boolean> =>
  discard(engines, join(engines, part.folder))
