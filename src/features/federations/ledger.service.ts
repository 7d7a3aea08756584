import type { Database, Executor } from '../../db/open.ts'
import { conflict } from '../../domain/errors.ts'
import { createAccounting, type PrivacyLoss } from '../../domain/privacy/accountant.ts'
import { grouped, type NoisySteps, requireNoisySteps } from '../../domain/privacy/mechanism.ts'
import { noiseForEpsilon, roundsLeft } from '../../domain/privacy/planning.ts'
import type { Budget, LedgerStore } from './ledger.store.ts'
import { createTurns } from './turns.ts'

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
  const accounting = createAccounting()
  const inTurns = createTurns()
  const kept = new Map<string, Promise<PrivacyLoss>>()

  const keep = (key: string, loss: Promise<PrivacyLoss>): void => {
    if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value!)
    kept.set(key, loss)
  }

  /** What `more` rounds on top of the `spent` ones cost together; with `enough`, whether that fits is all that is told. */
  const lossOf = async (
    { spent, more = [] }: { readonly spent: readonly NoisySteps[]; readonly more?: readonly NoisySteps[] },
    delta: number,
    enough?: number,
  ): Promise<PrivacyLoss> => {
    const key = JSON.stringify([grouped([...spent, ...more]).map((kind) => Object.values(kind)), delta])
    const known = kept.get(key)
    if (known !== undefined) return known
    const computed = inTurns(accounting.loss(more, delta, enough === undefined ? { spent } : { spent, enough }))
    if (enough === undefined) keep(key, computed)
    // What ended early is not the tightest that can be said.
    else if ((await computed).pld !== null) keep(key, computed)
    return computed
  }

  /** Throws conflict, with the numbers, where `more` on top of what is spent and reserved would exceed the budget. */
  const requireRoom = async (db: Executor, federationId: string, budget: Budget | null, more: NoisySteps) => {
    requireNoisySteps(more)
    if (budget === null) throw noBudget(federationId)
    const committed = await store.steps(db, federationId, ['settled', 'reserved'])
    const after = await lossOf({ spent: committed, more: [more] }, budget.delta, budget.epsilon)
    if (after.epsilon <= budget.epsilon) return
    const before = await lossOf({ spent: committed }, budget.delta)
    throw conflict(
      `The privacy budget does not allow this: epsilon ${show(before.epsilon)} of ${show(budget.epsilon)} is spent or ` +
        `reserved, and with it would be ${show(after.epsilon)} (delta ${budget.delta}, by ${after.accountant.toUpperCase()} ` +
        'accounting). Use more noise, sample fewer devices, run fewer rounds, or raise the budget.',
    )
  }

  return {
    lossOf,

    /** The least noise for a plan; null when none is enough. */
    noiseFor: (wanted: Parameters<typeof noiseForEpsilon>[0]): Promise<number | null> =>
      inTurns(noiseForEpsilon(wanted, accounting)),

    /** How many more such rounds fit an epsilon. */
    roundsLeft: (wanted: Parameters<typeof roundsLeft>[0]): Promise<number> => inTurns(roundsLeft(wanted, accounting)),

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
