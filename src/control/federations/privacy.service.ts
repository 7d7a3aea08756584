import type { Caller } from '../../domain/access.ts'
import type { Accountant } from '../../domain/privacy/accountant.ts'
import { requireDelta } from '../../domain/privacy/mechanism.ts'
import { auditNote } from '../audit-note.ts'
import type { Context } from '../context.ts'
import type { Requester } from './accounting/accounting.ts'
import type { FederationChanges } from './federation-changes.service.ts'
import type { FederationsService } from './federations.service.ts'
import type { Ledger } from './ledger.service.ts'
import { type Budget, type LedgerEntry, ledgerStore } from './ledger.store.ts'

/** The budget until the owner sets one: nothing can be spent. */
export const NO_BUDGET: Budget = { epsilon: 0, delta: 1e-5 }

export interface BudgetState {
  readonly federationId: string
  /** Null until the owner has set one. */
  readonly budget: Budget | null
  readonly delta: number
  readonly epsilonSpent: number
  /** What is spent once every round in progress has ended. */
  readonly epsilonCommitted: number
  readonly accountant: Accountant
  readonly roundsTracked: number
}

export interface HistoryEntry extends LedgerEntry {
  /** What the entry added to the total; null while it is only reserved. */
  readonly epsilonCost: number | null
}

/** A caller; its signal withdraws computations in progress. */
export type RequestingCaller = Caller & Requester

/** A federation's privacy budget, and how much of it is spent. */
export const createPrivacyService = (
  { database, now }: Pick<Context, 'database' | 'now'>,
  {
    ledger,
    federations,
    changed,
  }: {
    readonly ledger: Pick<Ledger, 'lossOf'>
    readonly federations: Pick<FederationsService, 'getAsMember' | 'getAsOwner'>
    readonly changed: FederationChanges
  },
) => {
  const stateOf = async (requester: Requester, federationId: string): Promise<BudgetState> => {
    const budget = await ledgerStore.budget(database.sql, federationId)
    const { delta } = budget ?? NO_BUDGET
    const settled = await ledgerStore.steps(database.sql, federationId, ['settled'])
    const committed = await ledgerStore.steps(database.sql, federationId, ['settled', 'reserved'])
    const spent = await ledger.lossOf(requester, { spent: settled }, delta)
    return {
      federationId,
      budget,
      delta,
      epsilonSpent: spent.epsilon,
      // Both are bounds accurate to a thousandth: the bound for more rounds may come out slightly below the other.
      epsilonCommitted: Math.max(spent.epsilon, (await ledger.lossOf(requester, { spent: committed }, delta)).epsilon),
      accountant: spent.accountant,
      roundsTracked: await ledgerStore.count(database.sql, federationId, 'settled'),
    }
  }

  /** Adds the costs of entries; computes missing ones entry by entry, and stores them. */
  const withCosts = async (
    requester: Requester,
    federationId: string,
    entries: readonly LedgerEntry[],
    { delta, offset }: { readonly delta: number; readonly offset: number },
  ): Promise<HistoryEntry[]> => {
    const before = async (count: number) => ledgerStore.firstSteps(database.sql, federationId, count)
    let previous = (await ledger.lossOf(requester, { spent: await before(offset) }, delta)).epsilon
    const priced: HistoryEntry[] = []
    for (const [at, entry] of entries.entries()) {
      if (entry.status !== 'settled') {
        priced.push({ ...entry, epsilonCost: null })
        continue
      }
      let { epsilonAfter, accountant } = entry
      if (epsilonAfter === null) {
        const loss = await ledger.lossOf(requester, { spent: await before(offset + at + 1) }, delta)
        epsilonAfter = Math.max(previous, loss.epsilon)
        accountant = loss.accountant
        await ledgerStore.keepCost(database.sql, entry, { epsilon: epsilonAfter, accountant, delta })
      }
      priced.push({ ...entry, epsilonAfter, accountant, epsilonCost: Math.max(0, epsilonAfter - previous) })
      previous = epsilonAfter
    }
    return priced
  }

  return {
    async state(caller: RequestingCaller, federationId: string): Promise<BudgetState> {
      return stateOf(caller, (await federations.getAsMember(caller, federationId)).id)
    },

    /** The epsilon that is spent or reserved, for metrics: their reader needs no membership. */
    async committed(requester: Requester, federationId: string): Promise<number> {
      return Math.min(Number.MAX_VALUE, (await stateOf(requester, federationId)).epsilonCommitted)
    },

    /** The budget may be lower than what is spent: then nothing more can be. Another delta means costs are computed again. */
    async setBudget(
      caller: RequestingCaller,
      federationId: string,
      budget: Budget,
    ): Promise<BudgetState & { readonly formerDelta: number | null }> {
      const federation = await federations.getAsOwner(caller, federationId)
      requireDelta(budget.delta)
      const former = await database.transaction(async (tx) => {
        const before = await ledgerStore.lockBudget(tx, federation.id)
        await ledgerStore.setBudget(tx, federation.id, budget, now())
        auditNote({ kind: 'federation', ...federation, before, after: budget, onlyIfChanged: true })
        await changed(tx, federation.id)
        if (before !== null && before.delta !== budget.delta) await ledgerStore.forgetCosts(tx, federation.id)
        return before
      })
      return { ...(await stateOf(caller, federation.id)), formerDelta: former?.delta ?? null }
    },

    async history(caller: RequestingCaller, federationId: string, page: { limit: number; offset: number }) {
      const federation = await federations.getAsMember(caller, federationId)
      const { delta } = (await ledgerStore.budget(database.sql, federation.id)) ?? NO_BUDGET
      const { entries, total } = await ledgerStore.history(database.sql, federation.id, page)
      return { entries: await withCosts(caller, federation.id, entries, { delta, offset: page.offset }), total, delta }
    },
  }
}

export type PrivacyService = ReturnType<typeof createPrivacyService>
