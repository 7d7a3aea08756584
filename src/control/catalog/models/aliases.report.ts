import { sql } from 'kysely'
import { labelOf } from '../../../domain/model.ts'
import type { Executor } from '../../../platform/db/open.ts'

/** The id of the person or key that moved an alias, and their name while they exist. */
export interface Mover {
  readonly movedAt: Date
  readonly movedBy: string | null
  readonly movedByName: string | null
}

export interface AliasView extends Mover {
  readonly modelId: string
  readonly alias: string
  readonly version: number
  readonly versionLabel: string
}

export interface MoveView extends Mover {
  readonly alias: string
  readonly fromVersion: number | null
  readonly fromLabel: string | null
  readonly toVersion: number | null
  readonly toLabel: string | null
}

/** The columns of a `Mover`, from `m.moved_at` and `m.moved_by`. */
const MOVER = sql`m.moved_at as "movedAt", m.moved_by as "movedBy", coalesce(k.name, p.name, p.email) as "movedByName"`
const MOVERS = sql`left join keys k on k.id = m.moved_by left join people p on p.id = m.moved_by`

/** For a query's `from`: versions, also deleted ones, with their labels. */
const EVER = sql`(select model_id, version, version_label from model_versions
  union all select model_id, version, label from deleted_versions)`

/** Aliases with the labels of their versions, and the names of the people or keys that moved them. */
export const aliasesReport = {
  /** All, or the one with this name, in alphabetical order. */
  async list(db: Executor, modelId: string, alias?: string): Promise<AliasView[]> {
    const { rows } = await sql<Omit<AliasView, 'versionLabel'> & { readonly ownLabel: string | null }>`
      select m.model_id as "modelId", m.alias, m.version, v.version_label as "ownLabel", ${MOVER} from model_aliases m
      join model_versions v on v.model_id = m.model_id and v.version = m.version ${MOVERS}
      where m.model_id = ${modelId} ${alias === undefined ? sql`` : sql`and m.alias = ${alias}`} order by m.alias`.execute(
      db,
    )
    return rows.map(({ ownLabel, ...view }) => ({ ...view, versionLabel: labelOf(view.version, ownLabel) }))
  },

  /** The version in a message or a title, by its label, as people know it. */
  async named(db: Executor, modelId: string, version: number | null): Promise<string> {
    if (version === null) return 'none'
    const { rows } = await sql<{ label: string | null }>`
      select v.version_label as label from ${EVER} as v where v.model_id = ${modelId} and v.version = ${version}`.execute(
      db,
    )
    return `version ${labelOf(version, rows[0]?.label ?? null)}`
  },

  /** Newest first. */
  async history(
    db: Executor,
    modelId: string,
    alias: string | undefined,
    page: { limit: number; offset: number },
  ): Promise<{ moves: MoveView[]; total: number }> {
    const which =
      alias === undefined ? sql`m.model_id = ${modelId}` : sql`m.model_id = ${modelId} and m.alias = ${alias}`
    const { rows } = await sql<MoveView>`
      select m.alias, m.from_version as "fromVersion", f.version_label as "fromLabel",
        m.to_version as "toVersion", t.version_label as "toLabel", ${MOVER}
      from model_alias_moves m
      left join ${EVER} as f on f.model_id = m.model_id and f.version = m.from_version
      left join ${EVER} as t on t.model_id = m.model_id and t.version = m.to_version ${MOVERS}
      where ${which} order by m.ordinal desc limit ${page.limit} offset ${page.offset}`.execute(db)
    const { rows: totals } = await sql<{ total: number }>`
      select count(*) as total from model_alias_moves m where ${which}`.execute(db)
    const label = (version: number | null, own: string | null) => (version === null ? null : labelOf(version, own))
    const moves = rows.map((move) => ({
      ...move,
      fromLabel: label(move.fromVersion, move.fromLabel),
      toLabel: label(move.toVersion, move.toLabel),
    }))
    return { moves, total: totals[0]!.total }
  },
}
