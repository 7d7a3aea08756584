import type { Executor } from '../../../platform/db/open.ts'

/** One step in the history of an alias; `from` is null where it began, `to` where it ended. */
export interface AliasMove {
  readonly modelId: string
  readonly alias: string
  readonly from: number | null
  readonly to: number | null
  readonly movedAt: Date
  /** The person or key that requested it. */
  readonly movedBy: string
}

export const aliasesStore = {
  /** Returns the version that the alias names, or null if the model has no such alias. */
  async find(db: Executor, modelId: string, alias: string): Promise<number | null> {
    const row = await db
      .selectFrom('model_aliases')
      .select('version')
      .where('model_id', '=', modelId)
      .where('alias', '=', alias)
      .executeTakeFirst()
    return row?.version ?? null
  },

  /** In alphabetical order. */
  list: (db: Executor, modelId: string): Promise<{ readonly alias: string; readonly version: number }[]> =>
    db
      .selectFrom('model_aliases')
      .select(['alias', 'version'])
      .where('model_id', '=', modelId)
      .orderBy('alias')
      .execute(),

  /** Prevents other transactions from moving an alias of the model: the alias may not have a row to lock yet. */
  async lock(tx: Executor, modelId: string): Promise<void> {
    await tx.selectFrom('models').select('id').where('id', '=', modelId).forNoKeyUpdate().execute()
  },

  /** Records a move and applies it. */
  async move(tx: Executor, { modelId, alias, from, to, movedAt, movedBy }: AliasMove): Promise<void> {
    const by = { moved_at: movedAt, moved_by: movedBy }
    await tx
      .insertInto('model_alias_moves')
      .values({ model_id: modelId, alias, from_version: from, to_version: to, ...by })
      .execute()
    if (to === null) {
      await tx.deleteFrom('model_aliases').where('model_id', '=', modelId).where('alias', '=', alias).execute()
      return
    }
    await tx
      .insertInto('model_aliases')
      .values({ model_id: modelId, alias, version: to, ...by })
      .onConflict((conflict) => conflict.columns(['model_id', 'alias']).doUpdateSet({ version: to, ...by }))
      .execute()
  },
}
