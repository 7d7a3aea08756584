import { errorMessage } from '../domain/error-message.ts'
import { backOffMs, DEFAULT_POLICY, isTransient, retryNote, sleep } from '../sdk/retry.ts'

export const isFullDisk = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException | null)?.code ?? '')

/** Explains an error of this device's disk without the file's path, which is private; null for other errors. */
export const diskFault = (error: unknown): string | null => {
  if (isFullDisk(error)) return 'The disk is full'
  if (!(error instanceof Error) || !('code' in error && 'syscall' in error && 'path' in error)) return null
  if (String(error.syscall).startsWith('spawn')) return null
  if (error.code === 'EROFS') return 'The disk is read-only'
  if (error.code === 'EACCES' || error.code === 'EPERM') return 'The agent has no permission to write to its folder'
  return `The disk reported '${error.message.replace(/, \w+ '.*$/s, '')}'`
}

const WAITS = { ...DEFAULT_POLICY, firstWaitMs: 2000, longestWaitMs: 60_000 }

/**
 * Repeats an operation until the disk and the service allow it, and logs why they do not
 * @throws other errors, and the reason of the signal
 */
export const untilPossible = async (
  operation: () => Promise<void>,
  notDone: string,
  signal: AbortSignal,
  log: (message: string) => void,
): Promise<void> => {
  for (let failures = 1; ; failures++) {
    try {
      return await operation()
    } catch (error) {
      const fault = diskFault(error)
      if (signal.aborted || (fault === null && !isTransient(error))) throw error
      log(`${notDone}: ${retryNote(fault === null ? errorMessage(error) : `${fault}.`)}.`)
      await sleep(backOffMs(failures, WAITS, Math.random), signal)
    }
  }
}
