import type { Caller } from '../../domain/access.ts'
import type { Accountant } from '../../domain/privacy/accountant.ts'
import { type NoisySteps, requireDelta } from '../../domain/privacy/mechanism.ts'
import type { Context } from '../context.ts'
import type { FederationsService } from './federations.service.ts'
import { type Ledger, noBudget } from './ledger.service.ts'
import { ledgerStore } from './ledger.store.ts'
import { NO_BUDGET, type RequestingCaller } from './privacy.service.ts'

export interface Estimate {
  readonly currentEpsilon: number
  readonly projectedEpsilon: number
  readonly budgetEpsilon: number
  readonly wouldExceed: boolean
  /** A warning if there is no budget; null otherwise. */
  readonly warning: string | null
  readonly delta: number
  readonly accountant: Accountant
  readonly rdp: number
  readonly pld: number | null
}

/** Estimates what further private rounds would cost a federation, on top of what is spent and reserved. Changes nothing. */
export const createPrivacyForecasts = (
  { database }: Pick<Context, 'database'>,
  {
    ledger,
    federations,
  }: {
    readonly ledger: Pick<Ledger, 'lossOf' | 'noiseFor' | 'roundsLeft'>
    readonly federations: Pick<FederationsService, 'getAsMember'>
  },
) => {
  /** The federation's budget, and what is spent or reserved. */
  const standing = async (caller: Caller, federationId: string, wantedDelta?: number) => {
    const federation = await federations.getAsMember(caller, federationId)
    const budget = await ledgerStore.budget(database.sql, federation.id)
    const delta = wantedDelta ?? (budget ?? NO_BUDGET).delta
    requireDelta(delta)
    const committed = await ledgerStore.steps(database.sql, federation.id, ['settled', 'reserved'])
    return { budget, delta, committed, none: noBudget(federation.id) }
  }

  return {
    /** The cost of a round on top of what is spent and reserved. */
    async estimate(
      caller: RequestingCaller,
      federationId: string,
      round: NoisySteps,
      wantedDelta: number | undefined,
    ): Promise<Estimate> {
      const { budget, delta, committed, none } = await standing(caller, federationId, wantedDelta)
      const current = await ledger.lossOf(caller, { spent: committed }, delta)
      const projected = await ledger.lossOf(caller, { spent: committed, more: [round] }, delta)
      return {
        currentEpsilon: current.epsilon,
        projectedEpsilon: Math.max(current.epsilon, projected.epsilon),
        budgetEpsilon: (budget ?? NO_BUDGET).epsilon,
        wouldExceed: budget === null || projected.epsilon > budget.epsilon,
        warning: budget === null ? none.message : null,
        delta,
        accountant: projected.accountant,
        rdp: projected.rdp,
        pld: projected.pld,
      }
    },

    /**
     * The minimum noise with which this many steps still fit into an epsilon: the requested one, or the budget's.
     * @throws conflict if there is neither
     */
    async noiseFor(
      caller: RequestingCaller,
      federationId: string,
      requested: { sampleRate: number; steps: number; epsilon: number | undefined; delta: number | undefined },
    ) {
      const { budget, delta, committed, none } = await standing(caller, federationId, requested.delta)
      const epsilon = requested.epsilon ?? budget?.epsilon
      if (epsilon === undefined) throw none
      const noiseMultiplier = await ledger.noiseFor(caller, {
        epsilon,
        delta,
        sampleRate: requested.sampleRate,
        steps: requested.steps,
        spent: committed,
      })
      return {
        noiseMultiplier,
        epsilon,
        delta,
        currentEpsilon: (await ledger.lossOf(caller, { spent: committed }, delta)).epsilon,
      }
    },

    /** How many more such rounds fit into the budget. @throws conflict if there is none */
    async roundsLeft(
      caller: RequestingCaller,
      federationId: string,
      round: NoisySteps,
      wantedDelta: number | undefined,
    ) {
      const { budget, delta, committed, none } = await standing(caller, federationId, wantedDelta)
      if (budget === null) throw none
      const rounds = await ledger.roundsLeft(caller, { epsilon: budget.epsilon, delta, round, spent: committed })
      return {
        rounds,
        epsilon: budget.epsilon,
        delta,
        currentEpsilon: (await ledger.lossOf(caller, { spent: committed }, delta)).epsilon,
      }
    },
  }
}

export type PrivacyForecasts = ReturnType<typeof createPrivacyForecasts>
