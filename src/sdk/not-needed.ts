import { ApiError } from '../client/client.ts'
import { errorMessage } from '../domain/error-message.ts'
import { ServiceError } from '../domain/errors.ts'
import type { CallOptions, Device } from './device.ts'

/** The round closed with enough updates of other devices, before this device's arrived: neither has failed. */
export class NotNeeded extends Error {
  override readonly name = 'NotNeeded'
}

/** True for a round that stopped accepting updates because it had enough. */
export const hasEnough = (status: string | null): boolean => status === 'aggregating' || status === 'completed'

const isConflict = (error: unknown): boolean =>
  (error instanceof ApiError && error.status === 409) || (error instanceof ServiceError && error.code === 'conflict')

/** Returns NotNeeded for a conflict with a round that has enough updates; null for all other errors. */
export const notNeeded = async (
  device: Pick<Device, 'roundStatus' | 'secure'>,
  roundId: string,
  error: unknown,
  options: CallOptions,
): Promise<NotNeeded | null> => {
  if (!isConflict(error)) return null
  const status = await device.roundStatus(roundId, options).catch(() => null)
  // A secure round is active until its sum is unmasked.
  const secure = status === 'active' ? await device.secure.state(roundId, options).catch(() => null) : null
  return hasEnough(status) || secure?.status === 'unmasking'
    ? new NotNeeded(`This device's update is not needed: ${errorMessage(error)}`, { cause: error })
    : null
}

/** Whether the round is over, or continues without this device. */
export const endedByService = (error: unknown): boolean =>
  error instanceof NotNeeded || isConflict(error) || (error instanceof ApiError && error.status === 404)
