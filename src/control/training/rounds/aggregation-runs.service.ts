import { randomUUID } from 'node:crypto'
import { ServiceError } from '../../../domain/errors.ts'
import { isUnavailable } from '../../../domain/outages.ts'
import type { Context } from '../../context.ts'
import { discardUnkept, type RoundAggregation } from './round-aggregation.service.ts'
import type { RoundEndings } from './round-endings.service.ts'
import { roundsStore, type ScreenedUpdate, type StoredRound } from './rounds.store.ts'
import { type DeliveredUpdate, updatesReport } from './updates.report.ts'

const RENEW_MS = 4000
/** After this many unfinished attempts, an aggregation probably crashes the process: the round fails with a reason. */
const MAX_ATTEMPTS = 5

const isOurs = (error: ServiceError): boolean => error.code === 'internal_error' || isUnavailable(error)

/** Aggregates the updates of collected rounds into new models; one process at a time handles a round. */
export const createAggregationRuns = (
  { database, log }: Context,
  {
    aggregation,
    endings,
  }: {
    readonly aggregation: RoundAggregation
    readonly endings: Pick<RoundEndings, 'complete' | 'fail'>
  },
) => {
  const owner = randomUUID()

  const fail = (round: StoredRound, reason: string): Promise<void> =>
    database.transaction(async (tx) => {
      const held = await roundsStore.lockHeld(tx, round.id, owner)
      if (held === null) return
      await endings.fail(tx, held, { event: 'fail', reason, reported: reason })
    })

  const aggregateRound = async (round: StoredRound): Promise<void> => {
    if (round.attempts > MAX_ATTEMPTS) {
      await fail(round, `The aggregation was started ${MAX_ATTEMPTS} times and never finished.`)
      return
    }
    const renewal = setInterval(() => void renew(round.id), RENEW_MS)
    try {
      const delivered = await updatesReport.delivered(database.sql, round.id)
      const screened = await screen(round, delivered)
      const aggregate = await aggregation.aggregate(round, delivered)
      const completed = await endings
        .complete(owner, round, { delivered, aggregate, screened })
        .finally(() => discardUnkept(aggregate))
      log.info({ round_id: round.id, updates: delivered.length, completed }, 'round aggregated')
    } catch (error) {
      if (error instanceof ServiceError && !isOurs(error)) {
        log.info({ round_id: round.id, reason: error.message }, 'round failed')
        await fail(round, error.message)
      } else {
        log.error({ round_id: round.id, err: error }, 'aggregation was interrupted; it will be retried')
        await roundsStore.releaseLease(database.sql, round.id, owner, { counts: !isUnavailable(error) })
        throw error
      }
    } finally {
      clearInterval(renewal)
    }
  }

  /** A failed screening never fails the round: if the updates cannot be aggregated either, aggregation reports it. */
  const screen = (round: StoredRound, delivered: readonly DeliveredUpdate[]): Promise<ScreenedUpdate[] | null> =>
    aggregation.screen(round, delivered).catch((error: unknown) => {
      if (error instanceof ServiceError && !isUnavailable(error)) return null
      throw error
    })

  const renew = (id: string): Promise<unknown> =>
    roundsStore
      .renewLease(database.sql, id, owner)
      .catch((error: unknown) => log.error({ round_id: id, err: error }, 'lease could not be renewed'))

  return {
    /** Aggregates every waiting round that no other process holds. A failure does not hold up other rounds. */
    async run(): Promise<void> {
      const failures: unknown[] = []
      for (;;) {
        const round = await roundsStore.claim(database.sql, owner)
        if (round === null) break
        await aggregateRound(round).catch((error: unknown) => failures.push(error))
      }
      if (failures.length > 0) throw failures[0]
    },

    /** Call at startup if only one process can open the database: frees what the previous process held. */
    forgetDeadHolders: (): Promise<void> => roundsStore.clearLeases(database.sql),
  }
}
