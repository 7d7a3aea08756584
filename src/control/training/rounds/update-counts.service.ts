import { ServiceError } from '../../../domain/errors.ts'

/** Reasons for refused updates, in addition to the codes of errors: see `GET /metrics`. */
export const REFUSALS = {
  no_device: 'the key belongs to no device',
  duplicate: 'the device has submitted one already',
  round_over: 'the round is no longer active',
  not_participant: 'the round does not include the device',
  failed_before: 'the device has failed in the round',
  tensors: 'its tensors are not those of the model, or it cannot be read',
} as const
export type Refusal = keyof typeof REFUSALS

/** The same error, with its reason for metrics. */
export const refusedAs = (reason: Refusal, { code, message }: ServiceError): ServiceError =>
  new ServiceError(code, message, { reason })

/** Counts the updates that this process has accepted, and those it has refused, by reason. */
export const createUpdateCounts = () => {
  const refused = new Map<string, number>()
  let accepted = 0
  return {
    accept(): void {
      accepted++
    },
    refuse(error: unknown): void {
      const reason = error instanceof ServiceError ? (error.reason ?? error.code) : 'internal_error'
      refused.set(reason, (refused.get(reason) ?? 0) + 1)
    },
    accepted: (): number => accepted,
    refused: (): ReadonlyMap<string, number> => refused,
  }
}

export type UpdateCounts = ReturnType<typeof createUpdateCounts>
