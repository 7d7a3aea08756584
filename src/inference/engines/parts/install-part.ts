import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InferenceError } from '../../errors.ts'
import { bytesUnder } from '../../models/copy-model.ts'
import { clearLeftovers, discard, growingIn, replace } from '../../whole-folder.ts'
import { faultOf, modulePathOf, type PartState, partState } from './installed-part.ts'
import type { Part } from './part.ts'
import { npmInstall, runProgram } from './run-npm.ts'

export interface InstallOptions {
  /** The folder of all parts. */
  readonly engines: string
  /** What npm runs with. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  readonly note: (line: string) => void
}

/** Packages that lack a library of this system install well and fail when they are first used: they are tried now. */
const assertUsable = async (part: Part, folder: string, options: InstallOptions): Promise<void> => {
  const fault = await faultOf(part, folder)
  if (fault !== null) {
    throw new InferenceError('engine_failed', `npm did not install what was asked for: ${fault}.`)
  }
  const url = JSON.stringify(pathToFileURL(modulePathOf(part, folder)).href)
  const argv = ['--input-type=module', '-e', `await import(${url}); process.exit(0)`]
  await runProgram(process.execPath, argv, { cwd: folder, env: options.env, signal: options.signal })
}

const prepare = async (part: Part, staging: string): Promise<void> => {
  await mkdir(staging)
  const manifest = { name: `svc-${part.folder}`, private: true, dependencies: part.packages }
  await writeFile(join(staging, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await writeFile(join(staging, '.npmrc'), part.npmrc.map((line) => `${line}\n`).join(''))
}

const install = async (part: Part, options: InstallOptions): Promise<void> => {
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
    await replace(engines, staging, folder, async () => (await partState(part, engines)).state === 'installed')
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

/**
 * Installs a part, whole or not at all, unless it is there already.
 * @throws InferenceError engine_failed with what npm said; engine_missing where there is no npm
 */
export const installPart = async (
  part: Part,
  options: InstallOptions,
): Promise<Extract<PartState, { state: 'installed' }>> => {
  const before = await partState(part, options.engines)
  if (before.state === 'installed') return before
  await install(part, options)
  const after = await partState(part, options.engines)
  if (after.state !== 'installed') throw new InferenceError('engine_failed', `${part.folder} is not there after all.`)
  return after
}

/** Removes a part. Whether it was there. */
export const removePart = (part: Part, engines: string): Promise<boolean> =>
  discard(engines, join(engines, part.folder))
