export const isFullDisk = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException | null)?.code ?? '')

/** Explains an error of this device's disk without the file's path, which is private; null for other errors. */
export const diskFault = (error: unknown): string | null => {
  if (isFullDisk(error)) return 'The disk is full'
  if (!(error instanceof Error) || !('code' in error && 'syscall' in error && 'path' in error)) return null
  if (String(error.syscall).startsWith('spawn')) return null
  if (error.code === 'EROFS') return 'The disk is read-only'
  if (error.code === 'EACCES' || error.code === 'EPERM') return 'The agent may not write to its folder'
  return `The disk reported '${error.message.replace(/, \w+ '.*$/s, '')}'`
}
