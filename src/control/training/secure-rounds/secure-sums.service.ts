import type { UnmaskingJob } from '../../../aggregation/aggregation-messages.ts'
import { conflict } from '../../../domain/errors.ts'
import type { SumTotals } from '../../../secure-aggregation/fixed-point.ts'
import { requireNames } from '../../../secure-aggregation/messages.ts'
import type { Context } from '../../context.ts'
import { secureRoundsStore } from './secure-rounds.store.ts'

export interface MaskedFile {
  /** The device's internal id. */
  readonly deviceId: string
  readonly path: string
}

type Files = Pick<UnmaskingJob, 'globalPath' | 'rawVector' | 'output' | 'outputPath'>

/** Turns the masked updates of a round into one update, their mean, which is all that the service ever learns. */
export const createSecureSums = ({ database, workers }: Context) => {
  return {
    /** Writes the mean of the updates to `outputPath`. @throws conflict if a share turns out to be wrong */
    async unmask(roundId: string, delivered: readonly MaskedFile[], files: Files): Promise<SumTotals> {
      const stored = await secureRoundsStore.find(database.sql, roundId)
      if (stored?.status !== 'done') throw conflict('The sum of this round has not been unmasked.')
      const { words, deadlineAt: _, ...round } = stored
      const devices = delivered.map(({ deviceId }) => deviceId)
      requireNames(round.delivered, devices, 'The list of masked updates')
      const received = {
        keys: await secureRoundsStore.messages(database.sql, roundId, 'keys'),
        shares: await secureRoundsStore.seedCommitments(database.sql, roundId),
        responses: await secureRoundsStore.messages(database.sql, roundId, 'unmask'),
      }
      const isErased = (device: string) => ![received.keys, received.shares].every((of) => Object.hasOwn(of, device))
      if (round.dealt.some(isErased)) {
        throw conflict(
          'A device of this secure round was erased, and its keys with it: the masks of the others cannot be removed again.',
        )
      }
      return workers.unmask({ round, received, words, paths: delivered.map(({ path }) => path), ...files })
    },
  }
}

export type SecureSums = ReturnType<typeof createSecureSums>
