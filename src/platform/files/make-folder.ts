import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

const FAULTS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'the file system does not allow new files there',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  ENAMETOOLONG: 'the name is too long',
}

export const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error)

/** Describes why a file or folder could not be created, for people. */
export const faultOf = (error: unknown): string => FAULTS[codeOf(error)] ?? codeOf(error)

/** Returns whether the folder exists; throws if it is not a folder or cannot be checked. */
const isFolder = async (path: string): Promise<boolean> => {
  const found = await stat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null
    if (codeOf(error) === 'ENOTDIR') throw new Error('a part of its path is a file')
    throw new Error(faultOf(error), { cause: error })
  })
  if (found?.isDirectory() === false) throw new Error(`${path} is not a folder`)
  return found !== null
}

/**
 * Like mkdir with `recursive`, which in Node 20 never returns if the kernel answers ENOENT, as below /proc. True if it is new.
 */
export const makeFolder = async (path: string): Promise<boolean> => {
  if (await isFolder(path)) return false
  await makeFolder(dirname(path))
  await mkdir(path, { mode: 0o700 }).catch(async (error: unknown) => {
    if (codeOf(error) !== 'EEXIST' || !(await isFolder(path))) {
      throw new Error(`${path} cannot be created (${faultOf(error)})`, { cause: error })
    }
  })
  return true
}
