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

const makeOne = async (path: string, mode: number): Promise<boolean> => {
  try {
    await mkdir(path, { mode })
    return true
  } catch (error) {
    if ((await stat(path).catch(() => null))?.isDirectory()) return false
    throw error
  }
}

/**
 * Like mkdir with `recursive`, which in Node 20 never returns if the kernel answers ENOENT, as below /proc, and reports a full
 * or read-only disk as ENOENT. True if the folder is new. @throws the system's error for the first folder that cannot be created
 */
export const makeFolder = async (path: string, mode = 0o777): Promise<boolean> => {
  try {
    return await makeOne(path, mode)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error
    await makeFolder(dirname(path), mode)
    return makeOne(path, mode)
  }
}

const explained = (error: unknown): string => {
  const { path } = error as NodeJS.ErrnoException
  if (codeOf(error) === 'EEXIST') return `${path} is not a folder`
  return codeOf(error) === 'ENOTDIR' ? 'a part of its path is a file' : `${path} cannot be created (${faultOf(error)})`
}

/** Like makeFolder, for folders that only their owner may read. @throws Error with a message for people */
export const requireFolder = (path: string): Promise<boolean> =>
  makeFolder(path, 0o700).catch((error: unknown) => {
    throw new Error(explained(error), { cause: error })
  })
