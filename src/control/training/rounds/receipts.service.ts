import type { Receipt } from '../../../aggregation/receipt.ts'
import type { Caller } from '../../../domain/access.ts'
import { conflict } from '../../../domain/errors.ts'
import { requireMayInspect } from '../../../domain/private-round.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { Combinations } from './combinations.service.ts'
import type { RoundsService } from './rounds.service.ts'
import type { RoundsStore, StoredRound } from './rounds.store.ts'
import type { UpdatesReport } from './updates.report.ts'

/** What a completed round was made of, and the proof that the same updates give the same bytes. */
export const createReceipts = (parts: {
  readonly database: Database
  readonly store: Pick<RoundsStore, 'records'>
  readonly updatesReport: Pick<UpdatesReport, 'of'>
  readonly combinations: Pick<Combinations, 'combine'>
  readonly rounds: Pick<RoundsService, 'get'>
}) => {
  const { database, store, updatesReport, combinations, rounds } = parts

  return {
    async receipt(caller: Caller, id: string): Promise<{ round: StoredRound; receipt: Receipt }> {
      const round = await rounds.get(caller, id)
      requireMayInspect(caller, round)
      const { receipt } = await store.records(database.sql, round.id)
      if (receipt === null) {
        throw conflict(`The round is ${round.status}; a receipt exists once it is completed.`)
      }
      return { round, receipt }
    },

    /** Adds the kept updates up once more and compares the bytes with the receipt. */
    async replay(caller: Caller, id: string): Promise<{ expected: string; replayed: string; matches: boolean }> {
      const { round, receipt } = await this.receipt(caller, id)
      if (round.updatesDeletedAt !== null) {
        throw conflict('The updates of this round were deleted after their retention period; it cannot be replayed.')
      }
      const { output, state, control } = await combinations.combine(
        round,
        await updatesReport.of(database.sql, round.id),
      )
      for (const file of [output, state, control]) await file?.discard()
      const matches =
        output.sha256 === receipt.output_sha256 &&
        (state?.sha256 ?? null) === (receipt.next_state_sha256 ?? null) &&
        (control?.sha256 ?? null) === (receipt.next_control_sha256 ?? null)
      return { expected: receipt.output_sha256, replayed: output.sha256, matches }
    },
  }
}

export type Receipts = ReturnType<typeof createReceipts>
