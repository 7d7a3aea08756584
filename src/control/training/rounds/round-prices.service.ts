import { requireLikelyDraw, samplingOf } from '../../../domain/poisson-sampling.ts'
import type { PrivacyLoss } from '../../../domain/privacy/accountant.ts'
import { DEFAULT_DELTA, type NoisySteps, stepsOf } from '../../../domain/privacy/mechanism.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { Asker } from '../../federations/accounting/accounting.ts'
import type { Ledger, Quote } from '../../federations/ledger.service.ts'
import type { PrivateDraws } from '../../fleet/selection/selection.service.ts'
import type { RoundRequest } from './opening-round.service.ts'
import type { RoundsReport } from './rounds.report.ts'
import type { RoundPrivacy } from './rounds.store.ts'

/** What of a round its price depends on. */
export type ToPrice = Pick<
  RoundRequest,
  'orgId' | 'federationId' | 'scope' | 'privacy' | 'minDevices' | 'wantedUpdates' | 'targetDevices' | 'starter'
>

/** What a private round's noise costs, known before the transaction that opens the round. */
export interface Price {
  readonly privacy: RoundPrivacy
  /** N, among which it draws. */
  readonly population: number
  /** Null where no federation's budget pays for it. */
  readonly quote: Quote | null
}

/** What a job has spent, with or without a federation's budget. */
export interface JobSpending extends Pick<PrivacyLoss, 'epsilon' | 'accountant'> {
  readonly delta: number
  readonly rounds: number
}

/** What private rounds cost: one that is about to start, and those of a job together. */
export const createRoundPrices = (parts: {
  readonly database: Database
  readonly roundsReport: Pick<RoundsReport, 'noisySteps'>
  readonly draws: Pick<PrivateDraws, 'countEligible'>
  readonly ledger: Pick<Ledger, 'withQuote' | 'lossOf' | 'roundsLeft'>
}) => {
  const { database, roundsReport, draws, ledger } = parts

  return {
    /** What a job's rounds, up to one's number, cost together, however they ended: they are composed, and converted once. */
    async spentBy(
      asker: Asker,
      jobId: string,
      delta = DEFAULT_DELTA,
      upTo: number | null = null,
    ): Promise<JobSpending> {
      const spent = await roundsReport.noisySteps(database.sql, jobId, upTo)
      const { epsilon, accountant } = await ledger.lossOf(asker, { spent }, delta)
      return { epsilon, accountant, delta, rounds: stepsOf(spent) }
    },

    /** How many such rounds a job has left of the epsilon that it was given for all of its rounds. */
    async roundsLeft(
      asker: Asker,
      jobId: string,
      { epsilon, delta = DEFAULT_DELTA, round }: { epsilon: number; delta: number | undefined; round: NoisySteps },
    ): Promise<number> {
      return ledger.roundsLeft(asker, {
        epsilon,
        delta,
        round,
        spent: await roundsReport.noisySteps(database.sql, jobId),
      })
    },

    /**
     * Fixes N and q of a private round, computes what its noise costs, and then runs `work`, the transaction that opens the round at that price; it is
     * run again at a new price where the federation booked something else in between. The price is null without noise.
     * Throws bad_request where the draw would too often be smaller than min_devices, and BudgetRefused when the federation's
     * privacy budget would be exceeded.
     */
    async priced<T>(requested: ToPrice, work: (price: Price | null) => Promise<T>): Promise<T> {
      if (requested.privacy === null) return work(null)
      const population = await draws.countEligible(database.sql, requested.scope)
      requireLikelyDraw(requested, population)
      const { sampleRate } = samplingOf(requested.targetDevices, population)
      const { noiseMultiplier, delta = DEFAULT_DELTA } = requested.privacy
      const steps = { noiseMultiplier, sampleRate, steps: 1 }
      // The cost of this round alone: without a federation's ledger, a round shows only that.
      const { epsilon, accountant } = await ledger.lossOf(requested, { spent: [], more: [steps] }, delta)
      const sampling = { sampling: 'poisson', population, sampleRate, denominator: requested.targetDevices } as const
      const privacy = { ...requested.privacy, ...sampling, noise: 'sum-of-four', delta, epsilon, accountant } as const
      if (requested.federationId === null) return work({ privacy, population, quote: null })
      return ledger.withQuote(requested, requested.federationId, steps, (quote) => work({ privacy, population, quote }))
    },
  }
}

export type RoundPrices = ReturnType<typeof createRoundPrices>
