// Files that a command writes: either complete or absent, and never replacing their sources.
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { renameDurably } from '../platform/files/durable-file.ts'
import { nullIfNoPath } from '../platform/files/missing-file.ts'
import { Failure, wrongUsage } from './failure.ts'

const stateOf = (path: string) => nullIfNoPath(stat(path, { bigint: true }))

/** True if both paths lead to the same file, including through links. */
export const isSameFile = async (one: string, other: string): Promise<boolean> => {
  if (one === other) return true
  const [first, second] = await Promise.all([stateOf(one), stateOf(other)])
  return first !== null && second !== null && first.ino === second.ino && first.dev === second.dev
}

/**
 * Returns the nearest existing ancestor of `folder`. Called before doing any work.
 * @throws Failure if it is a file or not writable
 */
export const requireWritableFolder = async (folder: string): Promise<string> => {
  let nearest = folder
  let found = await stateOf(nearest)
  while (found === null) {
    nearest = dirname(nearest)
    found = await stateOf(nearest)
  }
  const advice = 'Choose another folder with --output.'
  if (!found.isDirectory()) throw new Failure(`Cannot use ${nearest}: it is a file, not a folder.`, { advice })
  await access(nearest, constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw new Failure(`Cannot write to the folder ${nearest}.`, { advice, cause: error })
  })
  return nearest
}

export interface ResultFile {
  readonly path: string
  readonly content: Parameters<typeof writeFile>[1]
}

/** Errors name a path that the user knows: the folder if a temporary file cannot be created, otherwise the result. */
const naming = (path: string) => (error: NodeJS.ErrnoException) => {
  const isOfFolder = error.syscall === 'open' && error.code !== 'ENAMETOOLONG'
  throw Object.assign(error, { path: isOfFolder ? dirname(path) : path })
}

/** Writes all files or none: existing files stay until all new ones are complete. */
export const writeResults = async (files: readonly ResultFile[]): Promise<void> => {
  const parts = files.map((file) => ({ ...file, part: `${file.path}.${randomBytes(6).toString('hex')}.tmp` }))
  try {
    for (const { path, content, part } of parts) await writeFile(part, content, { flag: 'wx' }).catch(naming(path))
    for (const { path, part } of parts) await renameDurably(part, path).catch(naming(path))
  } finally {
    for (const { part } of parts) await rm(part, { force: true })
  }
}

/** Writes one file, or keeps the existing one. Writes directly to devices and pipes. */
export const writeResult = async (path: string, content: ResultFile['content']): Promise<void> => {
  const found = await stateOf(path)
  if (found === null || found.isFile())
    await writeResults([{ path: found === null ? path : await realpath(path), content }])
  else await writeFile(path, content).catch((error) => Promise.reject(Object.assign(error, { path })))
}

export const REPORTS = ['report.json', 'report.txt'] as const

/** @throws Failure if a result would replace one of its sources */
export const requireNoSource = async (
  folder: string,
  names: readonly string[],
  sources: readonly { readonly path: string; readonly given: string }[],
): Promise<void> => {
  for (const { path, given } of sources) {
    for (const name of names) {
      if (await isSameFile(join(folder, name), path))
        throw wrongUsage(`The result ${name} would replace ${given}.`, 'Choose another folder with --output.')
    }
  }
}
