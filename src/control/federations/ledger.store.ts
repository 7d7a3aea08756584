import { type Selectable, sql } from 'kysely'
import { conflict } from '../../domain/errors.ts'
import type { Accountant } from '../../domain/privacy/accountant.ts'
import type { NoisySteps } from '../../domain/privacy/mechanism.ts'
import type { PrivacyLedgerRow } from '../../platform/db/federations-rows.ts'
import type { Executor } from '../../platform/db/open.ts'
import { isUniqueViolation } from '../../platform/db/violations.ts'

export interface Budget {
  readonly epsilon: number
  readonly delta: number
}

/** The current budget; its revision changes whenever something is booked against it. */
interface StoredBudget extends Budget {
  readonly revision: number
}

/** Until version 1.1, a failed round was released and cost nothing; now every round is settled when it ends. */
type EntryStatus = 'reserved' | 'settled' | 'released'

export interface LedgerEntry extends NoisySteps {
  readonly id: string
  readonly federationId: string
  readonly roundId: string
  readonly jobId: string | null
  readonly status: EntryStatus
  readonly clipNorm: number | null
  /** The total cost of this entry and all that were settled before it; computed at the first request. */
  readonly epsilonAfter: number | null
  readonly accountant: Accountant | null
  readonly reservedAt: Date
  readonly settledAt: Date | null
}

type NewEntry = Omit<LedgerEntry, 'status' | 'epsilonAfter' | 'accountant' | 'settledAt'>

/** Sorts settled entries by when they were settled; reserved ones come last. */
const inOrder = sql`settled_at nulls last, ordinal`

export const ledgerStore = {
  async budget(db: Executor, federationId: string): Promise<StoredBudget | null> {
    const row = await db
      .selectFrom('privacy_budgets')
      .selectAll()
      .where('federation_id', '=', federationId)
      .executeTakeFirst()
    return row === undefined ? null : { epsilon: row.total_epsilon, delta: row.total_delta, revision: row.revision }
  },

  /** The budget, locked until the transaction ends. */
  async lockBudget(tx: Executor, federationId: string): Promise<Budget | null> {
    const row = await tx
      .selectFrom('privacy_budgets')
      .selectAll()
      .where('federation_id', '=', federationId)
      .forUpdate()
      .executeTakeFirst()
    return row === undefined ? null : { epsilon: row.total_epsilon, delta: row.total_delta }
  },

  /**
   * Increments the ledger's revision; does nothing and returns false if it is no longer `revision`. If two transactions call it
   * with the same revision, the second waits for the first and gets false.
   */
  async advance(tx: Executor, federationId: string, revision: number): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('privacy_budgets')
      .set({ revision: revision + 1 })
      .where('federation_id', '=', federationId)
      .where('revision', '=', revision)
      .executeTakeFirstOrThrow()
    return numUpdatedRows > 0n
  },

  async setBudget(tx: Executor, federationId: string, { epsilon, delta }: Budget, at: Date): Promise<void> {
    await sql`
      insert into privacy_budgets as b (federation_id, total_epsilon, total_delta, updated_at)
      values (${federationId}, ${epsilon}, ${delta}, ${at})
      on conflict (federation_id) do update set total_epsilon = ${epsilon}, total_delta = ${delta}, updated_at = ${at},
        revision = b.revision + 1`.execute(tx)
  },

  /** Deletes the cached costs of entries, which were computed for another delta. */
  async forgetCosts(tx: Executor, federationId: string): Promise<void> {
    await tx
      .updateTable('privacy_ledger')
      .set({ epsilon_after: null, accountant: null })
      .where('federation_id', '=', federationId)
      .execute()
  },

  /** All steps with these statuses, with equal steps combined. */
  async steps(db: Executor, federationId: string, statuses: readonly EntryStatus[]): Promise<NoisySteps[]> {
    const { rows } = await sql<{ noise_multiplier: number; sample_rate: number; steps: number }>`
      select noise_multiplier, sample_rate, sum(steps)::bigint as steps from privacy_ledger
      where federation_id = ${federationId} and status = any(${[...statuses]}::text[])
      group by noise_multiplier, sample_rate order by noise_multiplier, sample_rate`.execute(db)
    return rows.map(toSteps)
  },

  async count(db: Executor, federationId: string, status: EntryStatus): Promise<number> {
    const { total } = await db
      .selectFrom('privacy_ledger')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where('federation_id', '=', federationId)
      .where('status', '=', status)
      .executeTakeFirstOrThrow()
    return total
  },

  async insert(tx: Executor, entry: NewEntry): Promise<void> {
    await tx
      .insertInto('privacy_ledger')
      .values({
        id: entry.id,
        federation_id: entry.federationId,
        round_id: entry.roundId,
        job_id: entry.jobId,
        status: 'reserved',
        noise_multiplier: entry.noiseMultiplier,
        sample_rate: entry.sampleRate,
        steps: entry.steps,
        clip_norm: entry.clipNorm,
        reserved_at: entry.reservedAt,
      })
      .execute()
      .catch((error: unknown) => {
        if (isUniqueViolation(error)) throw conflict(`Round ${entry.roundId} is already in the privacy ledger.`)
        throw error
      })
  },

  /** Settles the round's entry if it is reserved. */
  async settle(tx: Executor, roundId: string, at: Date): Promise<void> {
    await sql`
      update privacy_ledger set status = 'settled', settled_at = ${at}::timestamptz
      where round_id = ${roundId} and status = 'reserved'`.execute(tx)
  },

  /** Settled entries in the order in which they were settled, then reserved ones. */
  async history(
    db: Executor,
    federationId: string,
    page: { limit: number; offset: number },
  ): Promise<{ entries: LedgerEntry[]; total: number }> {
    const { rows } = await sql<Selectable<PrivacyLedgerRow>>`
      select * from privacy_ledger where federation_id = ${federationId} and status <> 'released'
      order by ${inOrder} limit ${page.limit} offset ${page.offset}`.execute(db)
    const { rows: totals } = await sql<{ total: number }>`
      select count(*) as total from privacy_ledger
      where federation_id = ${federationId} and status <> 'released'`.execute(db)
    return { entries: rows.map(fromRow), total: totals[0]!.total }
  },

  /** The steps of the first `count` settled entries. */
  async firstSteps(db: Executor, federationId: string, count: number): Promise<NoisySteps[]> {
    const { rows } = await sql<{ noise_multiplier: number; sample_rate: number; steps: number }>`
      select noise_multiplier, sample_rate, sum(steps)::bigint as steps from (
        select * from privacy_ledger where federation_id = ${federationId} and status = 'settled'
        order by ${inOrder} limit ${count}) as first
      group by noise_multiplier, sample_rate order by noise_multiplier, sample_rate`.execute(db)
    return rows.map(toSteps)
  },

  /** Stores the computed cost of an entry at a delta, unless the budget's delta has changed since. */
  async keepCost(
    db: Executor,
    entry: Pick<LedgerEntry, 'id' | 'federationId'>,
    cost: { readonly epsilon: number; readonly accountant: Accountant; readonly delta: number },
  ): Promise<void> {
    // The column holds finite numbers only, so infinite costs are computed again for each request.
    if (!Number.isFinite(cost.epsilon)) return
    await sql`
      update privacy_ledger set epsilon_after = ${cost.epsilon}, accountant = ${cost.accountant}
      where id = ${entry.id} and exists (
        select from privacy_budgets where federation_id = ${entry.federationId} and total_delta = ${cost.delta})`.execute(
      db,
    )
  },
}

const toSteps = (row: { noise_multiplier: number; sample_rate: number; steps: number }): NoisySteps => ({
  noiseMultiplier: row.noise_multiplier,
  sampleRate: row.sample_rate,
  steps: row.steps,
})

const fromRow = (row: Selectable<PrivacyLedgerRow>): LedgerEntry => ({
  ...toSteps(row),
  id: row.id,
  federationId: row.federation_id,
  roundId: row.round_id,
  jobId: row.job_id,
  status: row.status as EntryStatus,
  clipNorm: row.clip_norm,
  epsilonAfter: row.epsilon_after,
  accountant: row.accountant as Accountant | null,
  reservedAt: row.reserved_at,
  settledAt: row.settled_at,
})
