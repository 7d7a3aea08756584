import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InferenceError } from '../../errors.ts'
import { bytesUnder } from '../../models/copy-model.ts'
import { whileLocked } from './install-lock.ts'
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

const stagingPrefix = (part: Part): string => `.${part.folder}.`

/** The lock's owner is the only one who installs: what others left half done is rubbish. */
const removeLeftovers = async (part: Part, engines: string): Promise<void> => {
  for (const name of await readdir(engines)) {
    if (name.startsWith(stagingPrefix(part)) && !name.includes('.lock')) {
      await rm(join(engines, name), { recursive: true, force: true })
    }
  }
}

const replace = async (folder: string, staging: string, aside: string): Promise<void> => {
  await rename(folder, aside).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  await rename(staging, folder)
  await rm(aside, { recursive: true, force: true })
}

const install = async (part: Part, options: InstallOptions): Promise<void> => {
  const { engines, env, signal, note } = options
  await removeLeftovers(part, engines)
  const folder = join(engines, part.folder)
  const staging = join(engines, stagingPrefix(part) + randomBytes(6).toString('hex'))
  try {
    await prepare(part, staging)
    const packages = Object.entries(part.packages).map(([name, version]) => `${name}@${version}`)
    note(`npm installs ${packages.join(' ')} into ${folder} (about ${part.megabytes} MB).`)
    await npmInstall({ cwd: staging, env, signal })
    for (const name of part.unused) await rm(join(staging, 'node_modules', name), { recursive: true, force: true })
    await assertUsable(part, staging, options)
    const bytes = await bytesUnder(staging)
    await writeFile(join(staging, 'part.json'), `${JSON.stringify({ packages: part.packages, bytes }, null, 2)}\n`)
    await replace(folder, staging, `${staging}.old`)
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

const lockOf = (part: Part, engines: string): string => join(engines, `${stagingPrefix(part)}lock`)

/**
 * Installs a part, whole or not at all, unless it is there already. Others who want the same wait for it.
 * @throws InferenceError engine_failed with what npm said; engine_missing where there is no npm
 */
export const installPart = (
  part: Part,
  options: InstallOptions,
): Promise<Extract<PartState, { state: 'installed' }>> => {
  const { engines, signal, note } = options
  const onWait = (): void => note('Another svc is installing it; waiting for that.')
  return whileLocked(lockOf(part, engines), signal, onWait, async () => {
    const before = await partState(part, engines)
    if (before.state === 'installed') return before
    await install(part, options)
    const after = await partState(part, engines)
    if (after.state !== 'installed') throw new InferenceError('engine_failed', `${part.folder} is not there after all.`)
    return after
  })
}

/** Removes a part. Whether it was there. */
export const removePart = (part: Part, { engines, signal, note }: InstallOptions): Promise<boolean> =>
  whileLocked(
    lockOf(part, engines),
    signal,
    () => note('Another svc is installing it; waiting for that.'),
    async () => {
      const folder = join(engines, part.folder)
      const aside = join(engines, stagingPrefix(part) + randomBytes(6).toString('hex'))
      try {
        await rename(folder, aside)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
        throw error
      }
      await rm(aside, { recursive: true, force: true })
      return true
    },
  )
