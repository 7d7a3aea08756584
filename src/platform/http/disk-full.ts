import { ServiceError } from '../../domain/errors.ts'

/** Of the file system: no space, or the user's quota is used up. Of PostgreSQL: disk_full. */
const CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', '53100'])
/** PostgreSQL tells a quota, and what it meets outside its tables, in words only. */
const WORDS = /no space left on device|disk quota exceeded|could not extend file/i

/** The answer to a request that failed because the disk is full, in whatever layer; undefined for other errors. */
export const asDiskFull = (error: unknown): ServiceError | undefined => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!CODES.has((cause as NodeJS.ErrnoException).code) && !WORDS.test(cause.message)) continue
    return new ServiceError(
      'insufficient_storage',
      'The disk of the service is full: nothing was stored. Try again once its operator has freed space.',
      { cause: error },
    )
  }
  return undefined
}
