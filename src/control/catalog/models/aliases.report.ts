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

interface MoverRow {
  moved_at: Date
  moved_by: string | null
  mover_name: string | null
}

const moverName = sql`coalesce(k.name, p.name, p.email)`

const moverFrom = ({ moved_at, moved_by, mover_name }: MoverRow): Mover => ({
  movedAt: moved_at,
  movedBy: moved_by,
  movedByName: mover_name,
})

/** Aliases with the labels of their versions, and the names of the people or keys that moved them. */
export const aliasesReport = {
  /** All, or the one with this name, in alphabetical order. */
  async list(db: Executor, modelId: string, alias?: string): Promise<AliasView[]> {
    const { rows } = await sql<
      MoverRow & { model_id: string; alias: string; version: number; version_label: string | null }
    >`
      select a.*, v.version_label, ${moverName} as mover_name from model_aliases a
      join model_versions v on v.model_id = a.model_id and v.version = a.version
      left join keys k on k.id = a.moved_by
      left join people p on p.id = a.moved_by
      where a.model_id = ${modelId} ${alias === undefined ? sql`` : sql`and a.alias = ${alias}`} order by a.alias`.execute(
      db,
    )
    return rows.map((row) => ({
      modelId: row.model_id,
      alias: row.alias,
      version: row.version,
      versionLabel: labelOf(row.version, row.version_label),
      ...moverFrom(row),
    }))
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
    const { rows } = await sql<
      MoverRow & { alias: string } & Record<'from_version' | 'to_version', number | null> &
        Record<'from_label' | 'to_label', string | null>
    >`
      select m.*, f.version_label as from_label, t.version_label as to_label, ${moverName} as mover_name
      from model_alias_moves m
      left join model_versions f on f.model_id = m.model_id and f.version = m.from_version
      left join model_versions t on t.model_id = m.model_id and t.version = m.to_version
      left join keys k on k.id = m.moved_by
      left join people p on p.id = m.moved_by
      where ${which} order by m.ordinal desc limit ${page.limit} offset ${page.offset}`.execute(db)
    const { rows: totals } = await sql<{ total: number }>`
      select count(*) as total from model_alias_moves m where ${which}`.execute(db)
    const label = (version: number | null, own: string | null) => (version === null ? null : labelOf(version, own))
    return {
      moves: rows.map((row) => ({
        alias: row.alias,
        fromVersion: row.from_version,
        fromLabel: label(row.from_version, row.from_label),
        toVersion: row.to_version,
        toLabel: label(row.to_version, row.to_label),
        ...moverFrom(row),
      })),
      total: totals[0]!.total,
    }
  },
}
