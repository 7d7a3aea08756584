import { sql } from 'kysely'
import { EVALUATION_PREFIX, type Evaluation, type MetricSummaries } from '../../../domain/metrics.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { fromRow, ROUND_COLUMNS, type StoredRound } from './stored-round.store.ts'

const meansOf = (summaries: MetricSummaries | null, prefix: string): Record<string, number> =>
  Object.fromEntries(Object.entries(summaries ?? {}).map(([name, { mean }]) => [prefix + name, mean]))

/** What rounds are to others: to the members of a federation, and in files. */
export const createRoundsReport = () => ({
  /** The completed round that made this model. */
  async thatMade(db: Executor, modelId: string) {
    const row = await db
      .selectFrom('rounds')
      .select(['id', 'round_number as roundNumber', 'loss', 'accuracy', 'metrics', 'evaluation'])
      .where('aggregated_model_id', '=', modelId)
      .executeTakeFirst()
    if (row === undefined) return null
    const { id, roundNumber, loss, accuracy, evaluation } = row
    const metrics = {
      ...(loss !== null && { loss }),
      ...(accuracy !== null && { accuracy }),
      ...meansOf(row.metrics as MetricSummaries | null, ''),
      ...meansOf((evaluation as Evaluation | null)?.metrics ?? null, EVALUATION_PREFIX),
    }
    return { id, roundNumber, metrics }
  },

  /** Those of the organization and of the federations it is an active member of; all of them for an unbound key. */
  async list(
    db: Executor,
    orgId: string | null,
    page: { limit: number; offset: number },
  ): Promise<{ rounds: StoredRound[]; total: number }> {
    const visible =
      orgId === null
        ? sql<boolean>`true`
        : sql<boolean>`(org_id = ${orgId} or federation_id in (
            select m.federation_id from federation_members m where m.org_id = ${orgId} and m.status = 'active'))`
    const rows = await db
      .selectFrom('rounds')
      .select(ROUND_COLUMNS)
      .where(visible)
      .orderBy('created_at', 'desc')
      .orderBy('round_number', 'desc')
      .limit(page.limit)
      .offset(page.offset)
      .execute()
    const { total } = await db
      .selectFrom('rounds')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where(visible)
      .executeTakeFirstOrThrow()
    return { rounds: rows.map(fromRow), total }
  },

  /** Size of a file that a round refers to. */
  async sizeOf(db: Executor, sha256: string): Promise<number> {
    const row = await db.selectFrom('blobs').select('size').where('sha256', '=', sha256).executeTakeFirstOrThrow()
    return row.size
  },
})

export type RoundsReport = ReturnType<typeof createRoundsReport>
