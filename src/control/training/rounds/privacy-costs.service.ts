import { requireLikelyDraw, samplingOf } from '../../../domain/poisson-sampling.ts'
import type { PrivacyLoss } from '../../../domain/privacy/accountant.ts'
import { DEFAULT_DELTA, type NoisySteps, stepsOf } from '../../../domain/privacy/mechanism.ts'
import type { Context } from '../../context.ts'
import type { Requester } from '../../federations/accounting/accounting.ts'
import { BudgetRefused, type Ledger, type Quote } from '../../federations/ledger.service.ts'
import type { PrivateDraws } from '../../fleet/selection/selection.service.ts'
import type { RoundRequest } from './new-round.service.ts'
import { roundsReport } from './rounds.report.ts'
import type { RoundPrivacy } from './rounds.store.ts'

/** The properties of a round that determine its price. */
export type CostInputs = Pick<
  RoundRequest,
  'orgId' | 'federationId' | 'scope' | 'privacy' | 'minDevices' | 'wantedUpdates' | 'targetDevices' | 'starter'
>

/** The cost of a private round's noise, computed before the transaction that opens the round. */
export interface PrivacyCost {
  readonly privacy: RoundPrivacy
  /** N, the number of devices that the round draws from. */
  readonly population: number
  /** Null if no federation's budget is charged. */
  readonly quote: Quote | null
}

/** What a job has spent, with or without a federation's budget. */
export interface JobSpending extends Pick<PrivacyLoss, 'epsilon' | 'accountant'> {
  readonly delta: number
  readonly rounds: number
}

/** Tolerance: noise is found on a coarser grid; what fits there may exceed the limit on the finer grid, by less than this. */
const PRECISION = 1e-4

/** What all rounds of a job may cost in total. */
interface JobLimit {
  readonly jobId: string
  readonly epsilon: number
}

/** Computes what private rounds cost: one that is about to start, and those of a job in total. */
export const createPrivacyCosts = (
  { database }: Context,
  {
    draws,
    ledger,
  }: {
    readonly draws: Pick<PrivateDraws, 'countEligible'>
    readonly ledger: Pick<Ledger, 'withQuote' | 'lossOf' | 'roundsLeft'>
  },
) => {
  /** @throws BudgetRefused, with the numbers, if another such round would exceed the job's limit */
  const requireWithin = async (
    requester: Requester,
    { jobId, epsilon: limit }: JobLimit,
    round: NoisySteps,
    delta: number,
  ): Promise<void> => {
    const spent = await roundsReport.noisySteps(database.sql, jobId)
    const atMost = limit + PRECISION * Math.max(1, limit)
    const after = await ledger.lossOf(requester, { spent, more: [round] }, delta, atMost)
    if (after.epsilon <= atMost) return
    const before = await ledger.lossOf(requester, { spent }, delta)
    const rounds = stepsOf(spent)
    throw new BudgetRefused(
      'conflict',
      `The job's target_epsilon ${limit} does not allow another round: ${rounds} ${rounds === 1 ? 'round has' : 'rounds have'} ` +
        `spent epsilon ${shown(before.epsilon)}, and another one at sample rate ${shown(round.sampleRate)} would make it ` +
        `${shown(after.epsilon)} (delta ${delta}, by ${after.accountant.toUpperCase()} accounting). Rounds that failed or were ` +
        'stopped count too. To train more, start another job from the result, with a new budget.',
    )
  }

  return {
    /** The total cost of a job's rounds up to round number `upTo`, however they ended: composed, then converted once. */
    async spentBy(
      requester: Requester,
      jobId: string,
      delta = DEFAULT_DELTA,
      upTo: number | null = null,
    ): Promise<JobSpending> {
      const spent = await roundsReport.noisySteps(database.sql, jobId, upTo)
      const { epsilon, accountant } = await ledger.lossOf(requester, { spent }, delta)
      return { epsilon, accountant, delta, rounds: stepsOf(spent) }
    },

    /** How many more such rounds fit the epsilon that the job has for all of its rounds. */
    async roundsLeft(
      requester: Requester,
      jobId: string,
      { epsilon, delta = DEFAULT_DELTA, round }: { epsilon: number; delta: number | undefined; round: NoisySteps },
    ): Promise<number> {
      return ledger.roundsLeft(requester, {
        epsilon,
        delta,
        round,
        spent: await roundsReport.noisySteps(database.sql, jobId),
      })
    },

    /**
     * Fixes N and q of a private round, computes the cost of its noise, and runs `work`, the transaction that opens the round
     * at that price. Runs it again at a new price if the federation booked something else in the meantime. The price is null
     * without noise.
     * @throws bad_request if the draw would be smaller than min_devices too often; BudgetRefused if the round would exceed the
     * job's limit or the federation's privacy budget
     */
    async priced<T>(
      requested: CostInputs,
      work: (price: PrivacyCost | null) => Promise<T>,
      limit: JobLimit | null = null,
    ): Promise<T> {
      if (requested.privacy === null) return work(null)
      const population = await draws.countEligible(database.sql, requested.scope)
      requireLikelyDraw(requested, population)
      const { sampleRate } = samplingOf(requested.targetDevices, population)
      const { noiseMultiplier, delta = DEFAULT_DELTA } = requested.privacy
      const steps = { noiseMultiplier, sampleRate, steps: 1 }
      if (limit !== null) await requireWithin(requested, limit, steps, delta)
      // The cost of this round alone; a round outside a federation's ledger shows only that.
      const { epsilon, accountant } = await ledger.lossOf(requested, { spent: [], more: [steps] }, delta)
      const sampling = { sampling: 'poisson', population, sampleRate, denominator: requested.targetDevices } as const
      const privacy = { ...requested.privacy, ...sampling, noise: 'of-updates', delta, epsilon, accountant } as const
      if (requested.federationId === null) return work({ privacy, population, quote: null })
      return ledger.withQuote(requested, requested.federationId, steps, (quote) => work({ privacy, population, quote }))
    },
  }
}

const shown = (number: number): string => String(Number(number.toPrecision(6)))

export type PrivacyCosts = ReturnType<typeof createPrivacyCosts>
