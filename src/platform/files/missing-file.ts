import { stat } from 'node:fs/promises'

const nullIf =
  (...codes: readonly string[]) =>
  <T>(operation: Promise<T>): Promise<T | null> =>
    operation.catch((error: NodeJS.ErrnoException) => {
      if (codes.includes(error.code ?? '')) return null
      throw error
    })

/** Returns null instead of failing if the file or folder does not exist. */
export const nullIfMissing = nullIf('ENOENT')

/** Returns null also if a part of the path is a file. */
export const nullIfNoPath = nullIf('ENOENT', 'ENOTDIR')

/** False also if the path cannot be examined. */
export const exists = async (path: string): Promise<boolean> => (await stat(path).catch(() => null)) !== null
