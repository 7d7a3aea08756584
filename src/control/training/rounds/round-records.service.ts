import type { Receipt } from '../../../aggregation/receipt.ts'
import { type Caller, sees } from '../../../domain/access.ts'
import { conflict, forbidden } from '../../../domain/errors.ts'
import { reasonForOthers } from '../../../domain/failure-reasons.ts'
import { requireMayInspect } from '../../../domain/private-round.ts'
import type { Context } from '../../context.ts'
import { participantsReport } from './participants.report.ts'
import { discardUnkept, type RoundAggregation } from './round-aggregation.service.ts'
import type { RoundsService } from './rounds.service.ts'
import { roundsStore, type StoredRound } from './rounds.store.ts'
import { updatesReport } from './updates.report.ts'

/** Figures of a single device. */
const HIDDEN = {
  localLoss: null,
  localAccuracy: null,
  metrics: null,
  evaluation: null,
  trainingTimeSeconds: null,
} as const

/** Shows a round's devices and updates, and proves that the same updates give the same bytes. */
export const createRoundRecords = (
  { database }: Context,
  {
    aggregation,
    rounds,
  }: {
    readonly aggregation: Pick<RoundAggregation, 'aggregate'>
    readonly rounds: Pick<RoundsService, 'get'>
  },
) => {
  /**
   * The round. Epsilon assumes that nobody knows which devices were drawn, so the organization of a federation's private round
   * sees them only if they are all its own. @throws forbidden
   */
  const inspected = async (caller: Caller, id: string): Promise<StoredRound> => {
    const round = await rounds.get(caller, id)
    requireMayInspect(caller, round)
    if (round.privacy === null || round.federationId === null || caller.orgId === null) return round
    if (!(await participantsReport.hasOthers(database.sql, round.id, caller.orgId))) return round
    throw forbidden(
      'Devices of other members take part in this private round. Its participants and updates can be seen only with an ' +
        "'admin' key that is not bound to an organization: epsilon assumes that no member knows which devices were drawn.",
    )
  }

  return {
    /**
     * All devices selected for the round, and their outcomes; for a private round, admins only. A device's description of a
     * failure is shown to its own organization only.
     */
    async participants(caller: Caller, id: string, page: { limit: number; offset: number }) {
      const round = await inspected(caller, id)
      const found = await participantsReport.page(database.sql, round.id, page)
      const participants = found.participants.map((one) => {
        const { failureReason: reason } = one
        if (reason === null || sees(caller, one.orgId)) return one
        return { ...one, failureReason: reasonForOthers(reason, round.failureReason) }
      })
      return { ...found, participants }
    },

    /**
     * The updates delivered to the round; once it is completed, with their weights and screening. What a device reported, and what
     * follows from its weights, is hidden in private rounds, and shown only to its own organization in a federation's.
     */
    async updates(caller: Caller, id: string, page: { limit: number; offset: number }) {
      const round = await inspected(caller, id)
      const { receipt, screening } = await roundsStore.records(database.sql, round.id)
      const screened = new Map(screening?.map((one) => [one.update_id, one]))
      const weights = new Map(receipt?.updates.map((one) => [one.update_id, one.weight]))
      const found = await updatesReport.page(database.sql, id, page)
      return {
        total: found.total,
        updates: found.updates.map(({ update, deviceName, orgId }) => {
          const isShown = round.privacy === null && sees(caller, orgId)
          return {
            update: isShown ? update : { ...update, ...HIDDEN },
            deviceName,
            screened: (isShown && screened.get(update.id)) || null,
            weight: weights.get(update.id) ?? null,
          }
        }),
      }
    },

    async receipt(caller: Caller, id: string): Promise<{ round: StoredRound; receipt: Receipt }> {
      const round = await inspected(caller, id)
      const { receipt } = await roundsStore.records(database.sql, round.id)
      if (receipt === null) {
        throw conflict(`The round is ${round.status}; a receipt exists once it is completed.`)
      }
      return { round, receipt }
    },

    /** Aggregates the stored updates again and compares the bytes with the receipt. */
    async replay(caller: Caller, id: string): Promise<{ expected: string; replayed: string; matches: boolean }> {
      const { round, receipt } = await this.receipt(caller, id)
      if (round.updatesDeletedAt !== null) {
        throw conflict('The updates of this round were deleted after their retention period; it cannot be replayed.')
      }
      const delivered = await updatesReport.delivered(database.sql, round.id)
      const stored = new Set(delivered.map(({ update }) => update.id))
      if (receipt.updates.some(({ update_id }) => !stored.has(update_id))) {
        throw conflict('A device whose update is in the receipt was erased; the round cannot be replayed.')
      }
      const aggregate = await aggregation.aggregate(round, delivered)
      await discardUnkept(aggregate)
      const { output, state, control } = aggregate
      const matches =
        output.sha256 === receipt.output_sha256 &&
        (state?.sha256 ?? null) === (receipt.next_state_sha256 ?? null) &&
        (control?.sha256 ?? null) === (receipt.next_control_sha256 ?? null)
      return { expected: receipt.output_sha256, replayed: output.sha256, matches }
    },
  }
}

export type RoundRecords = ReturnType<typeof createRoundRecords>
