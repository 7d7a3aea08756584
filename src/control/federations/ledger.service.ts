import { ServiceError } from '../../domain/errors.ts'
import { type PrivacyLoss, privacyLoss } from '../../domain/privacy/accountant.ts'
import { grouped, type NoisySteps, requireDelta, requireNoisySteps } from '../../domain/privacy/mechanism.ts'
import type { Executor } from '../../platform/db/open.ts'
import type { Context } from '../context.ts'
import type { RoundFacts } from '../events.ts'
import type { Requester } from './accounting/accounting.ts'
import { ledgerStore } from './ledger.store.ts'

/** Steps that fit into a federation's budget, on top of everything booked at this revision of its ledger. */
export interface Quote extends NoisySteps {
  readonly federationId: string
  readonly revision: number
}

/** The round that a reservation is for. */
interface Booked {
  readonly roundId: string
  readonly jobId: string | null
  readonly clipNorm: number | null
}

/** The federation's budget, or a job's limit, does not allow the steps. */
export class BudgetRefused extends ServiceError {
  override readonly name = 'BudgetRefused'
}

/** Something else was booked since the quote was made, so it may no longer fit. */
export class LedgerMoved extends ServiceError {
  override readonly name = 'LedgerMoved'
}

/** One of several concurrent reservations always succeeds; the others try again, at most this many times. */
const MAX_ATTEMPTS = 20

/**
 * The privacy ledger: rounds reserve their cost before they start, and it is spent however they end. The cost of a round is
 * computed before its transaction, which only compares revisions. This detects everything that was booked in the meantime,
 * without holding a lock during the computation.
 */
export const createLedger = ({
  database,
  accounting,
  events,
  now,
  newId,
}: Pick<Context, 'database' | 'accounting' | 'events' | 'now' | 'newId'>) => {
  /** The total cost of the `more` rounds on top of the `spent` ones; with `enough`, exact only above that value. */
  const lossOf = (
    requester: Requester,
    { spent, more = [] }: { readonly spent: readonly NoisySteps[]; readonly more?: readonly NoisySteps[] },
    delta: number,
    enough: number | null = null,
  ): Promise<PrivacyLoss> => {
    requireDelta(delta)
    for (const steps of more) requireNoisySteps(steps)
    if (spent.length + more.length === 0) return Promise.resolve(privacyLoss([], delta))
    return accounting.ask<'loss'>(requester, {
      kind: 'loss',
      spent: grouped(spent),
      more: grouped(more),
      delta,
      enough,
    })
  }

  /** @throws conflict, with the numbers, if the steps on top of what is spent and reserved would exceed the budget */
  const quote = async (requester: Requester, federationId: string, more: NoisySteps): Promise<Quote> => {
    const { noiseMultiplier, sampleRate, steps } = more
    // Reads the budget first: anything booked after this changes its revision.
    const budget = await ledgerStore.budget(database.sql, federationId)
    if (budget === null) throw noBudget(federationId)
    const committed = await ledgerStore.steps(database.sql, federationId, ['settled', 'reserved'])
    const after = await lossOf(requester, { spent: committed, more: [more] }, budget.delta, budget.epsilon)
    if (after.epsilon <= budget.epsilon) {
      return { noiseMultiplier, sampleRate, steps, federationId, revision: budget.revision }
    }
    const before = await lossOf(requester, { spent: committed }, budget.delta)
    throw new BudgetRefused(
      'conflict',
      `The privacy budget does not allow this: epsilon ${show(before.epsilon)} of ${show(budget.epsilon)} is spent or ` +
        `reserved, and this would make it ${show(after.epsilon)} (delta ${budget.delta}, by ${after.accountant.toUpperCase()} ` +
        'accounting). Use more noise, sample fewer devices, run fewer rounds, or raise the budget.',
    )
  }

  /** Spends what a round has reserved when it ends, even if it fails: that may reveal who was drawn and what was delivered. */
  const settle = async (tx: Executor, { id, federationId, isPrivate }: RoundFacts): Promise<void> => {
    if (federationId !== null && isPrivate) await ledgerStore.settle(tx, id, now())
  }
  events.inTransaction('round.completed', settle)
  events.inTransaction('round.failed', settle)

  return {
    lossOf,
    quote,

    /** The minimum noise with which this many steps fit into an epsilon; null if no amount is enough. */
    noiseFor: (
      requester: Requester,
      requested: {
        readonly epsilon: number
        readonly delta: number
        readonly sampleRate: number
        readonly steps: number
        readonly spent?: readonly NoisySteps[]
      },
    ): Promise<number | null> => {
      const { epsilon, delta, sampleRate, steps, spent = [] } = requested
      requireDelta(delta)
      requireNoisySteps({ noiseMultiplier: 1, sampleRate, steps })
      return accounting.ask<'noise'>(requester, {
        kind: 'noise',
        spent: grouped(spent),
        epsilon,
        delta,
        sampleRate,
        steps,
      })
    },

    /** How many more such rounds fit into an epsilon. */
    roundsLeft: (
      requester: Requester,
      requested: {
        readonly epsilon: number
        readonly delta: number
        readonly round: NoisySteps
        readonly spent: readonly NoisySteps[]
      },
    ): Promise<number> => {
      const { epsilon, delta, round, spent } = requested
      requireDelta(delta)
      requireNoisySteps(round)
      return accounting.ask<'rounds'>(requester, { kind: 'rounds', spent: grouped(spent), epsilon, delta, round })
    },

    /**
     * Books a quote, in the transaction that starts the round.
     * @throws LedgerMoved if something else was booked since the quote: make another quote and try again
     */
    async reserve(tx: Executor, { federationId, revision, ...steps }: Quote, booked: Booked): Promise<void> {
      if (!(await ledgerStore.advance(tx, federationId, revision))) {
        throw new LedgerMoved(
          'conflict',
          'Other private rounds of this federation started at the same moment. Try again.',
        )
      }
      await ledgerStore.insert(tx, { ...steps, ...booked, federationId, id: newId(), reservedAt: now() })
    },

    /**
     * Runs `work`, a transaction that reserves the quote it gets. Runs it again with a new quote if something else was booked
     * in the meantime. @throws conflict, with the numbers, if the budget does not allow it
     */
    async withQuote<T>(
      requester: Requester,
      federationId: string,
      more: NoisySteps,
      work: (quote: Quote) => Promise<T>,
    ): Promise<T> {
      for (let attempt = 1; ; attempt++) {
        try {
          return await work(await quote(requester, federationId, more))
        } catch (error) {
          if (!(error instanceof LedgerMoved) || attempt === MAX_ATTEMPTS) throw error
        }
      }
    },
  }
}

/** The error for a federation whose owner has not set a budget, so that no private round can start. */
export const noBudget = (federationId: string) =>
  new BudgetRefused(
    'conflict',
    `Federation ${federationId} has no privacy budget, so no private round can start. Set one first: ` +
      `PUT /api/v1/federations/${federationId}/privacy/budget.`,
  )

/** Six digits are enough to see which side of the budget a round is on. */
const show = (epsilon: number): string => String(Number(epsilon.toPrecision(6)))

export type Ledger = ReturnType<typeof createLedger>
