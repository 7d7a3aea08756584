/** Returns null instead of failing if the file or folder does not exist. */
export const nullIfMissing = <T>(operation: Promise<T>): Promise<T | null> =>
  operation.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
