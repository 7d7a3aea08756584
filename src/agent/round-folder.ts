import { errorMessage } from '../domain/error-message.ts'
import { NetworkError } from '../sdk/api-error.ts'
import { diskFault } from './disk-fault.ts'

/** The model while it is being downloaded. */
export const PARTIAL = 'global.partial'

/** Ids are used as names of folders. */
export const requireRoundId = (roundId: string): string => {
  if (/^[\w-]{1,64}$/.test(roundId)) return roundId
  throw new NetworkError(`The service sent the round id '${roundId}', which is not a valid id.`)
}

/** What the service is told about a failure. */
export const failureReasonOf = (error: unknown): string => {
  const fault = diskFault(error)
  return fault === null ? errorMessage(error) : `${fault}: the round's files could not be written.`
}
