import type { Database, Executor } from '../../db/open.ts'
import { conflict } from '../../domain/errors.ts'
import { type PrivacyLoss, privacyLoss } from '../../domain/privacy/accountant.ts'
import { grouped, type NoisySteps, requireNoisySteps } from '../../domain/privacy/mechanism.ts'
import type { Budget, LedgerStore } from './ledger.store.ts'

/** What a private round costs, before it starts. */
export interface Reservation extends NoisySteps {
  readonly federationId: string
  readonly roundId: string
  readonly jobId: string | null
  readonly clipNorm: number | null
}

/** Computed losses are kept: the same sums are asked for again and again. */
const MOST_KEPT = 200

/**
 * The privacy ledger: rounds reserve what they will cost before they start, and it is spent when their result is out.
 * Reserving locks the federation's budget until the transaction ends, so that concurrent rounds cannot overdraw it.
 */
export const createLedger = (parts: {
  readonly store: LedgerStore
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { store, now, newId } = parts
  const kept = new Map<string, PrivacyLoss>()

  const lossOf = (rounds: readonly NoisySteps[], delta: number, enough?: number): PrivacyLoss => {
    const key = JSON.stringify([grouped(rounds).map((kind) => Object.values(kind)), delta])
    const known = kept.get(key)
    if (known !== undefined) return known
    const loss = privacyLoss(rounds, delta, enough === undefined ? {} : { enough })
    // What ended early is not the tightest that can be said.
    if (loss.pld === null && enough !== undefined) return loss
    if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value!)
    kept.set(key, loss)
    return loss
  }

  /** Throws conflict, with the numbers, where `more` on top of what is spent and reserved would exceed the budget. */
  const requireRoom = async (db: Executor, federationId: string, budget: Budget | null, more: NoisySteps) => {
    requireNoisySteps(more)
    if (budget === null) throw noBudget(federationId)
    const committed = await store.steps(db, federationId, ['settled', 'reserved'])
    const after = lossOf([...committed, more], budget.delta, budget.epsilon)
    if (after.epsilon <= budget.epsilon) return
    const before = lossOf(committed, budget.delta)
    throw conflict(
      `The privacy budget does not allow this: epsilon ${show(before.epsilon)} of ${show(budget.epsilon)} is spent or ` +
        `reserved, and with it would be ${show(after.epsilon)} (delta ${budget.delta}, by ${after.accountant.toUpperCase()} ` +
        'accounting). Use more noise, sample fewer devices, run fewer rounds, or raise the budget.',
    )
  }

  return {
    lossOf,

    /** Books what a round will cost. Call it in the transaction that starts the round. @throws conflict when too much */
    async reserve(tx: Executor, wanted: Reservation): Promise<void> {
      await requireRoom(tx, wanted.federationId, await store.lockBudget(tx, wanted.federationId), wanted)
      await store.insert(tx, { ...wanted, id: newId(), reservedAt: now() })
    },

    /** The round's noised result is out: what it reserved is spent. Does nothing for a round that reserved nothing. */
    settle: async (tx: Executor, roundId: string): Promise<void> => {
      await store.end(tx, roundId, 'settled', now())
    },

    /** The round ended before anything of it was published: it cost nothing. */
    release: async (tx: Executor, roundId: string): Promise<void> => {
      await store.end(tx, roundId, 'released', now())
    },

    /** For a job that plans several rounds: throws conflict, with the numbers, where they would exceed the budget. */
    async requireRoomFor(database: Database, federationId: string, planned: NoisySteps): Promise<void> {
      await requireRoom(database.sql, federationId, await store.budget(database.sql, federationId), planned)
    },
  }
}

const noBudget = (federationId: string) =>
  conflict(
    `Federation ${federationId} has no privacy budget, so no private round can be booked. Set one first: ` +
      `PUT /api/v1/federations/${federationId}/privacy/budget.`,
  )

/** Six digits: enough to see which side of the budget a round is on. */
const show = (epsilon: number): string => String(Number(epsilon.toPrecision(6)))

export type Ledger = ReturnType<typeof createLedger>
