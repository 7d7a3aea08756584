import { sql } from 'kysely'
import { type Offer, type Target, targetKey } from '../../../domain/delivery-plan.ts'
import { labelOf } from '../../../domain/model.ts'
import type { Executor } from '../../../platform/db/open.ts'

/** What plans are made of in other modules: the versions that they offer, and the members of groups. */
export const createPlansReport = () => ({
  /** By `targetKey`: the uploads that these targets name. A version's own label goes before the `n.0.0` of another. */
  async offers(db: Executor, targets: readonly Target[]): Promise<Map<string, Offer>> {
    const { rows } = await sql<{
      model_id: string
      requested: string
      name: string | null
      version: number
      version_label: string | null
      format: string
      size: number
      sha256: string
    }>`
      select w.model_id, w.version as requested, m.name, v.version, v.version_label, v.format, v.size, v.sha256
      from unnest(
        ${targets.map((target) => target.modelId)}::uuid[], ${targets.map((target) => target.version)}::text[]
      ) as w (model_id, version)
      join models m on m.id = w.model_id
      join lateral (
        select * from model_versions v
        where v.model_id = w.model_id and (
          v.version_label = w.version or v.version::text = w.version
          or (v.version_label is null and v.version || '.0.0' = w.version))
        order by v.version_label is null limit 1
      ) as v on true`.execute(db)
    return new Map(
      rows.map((row) => [
        targetKey({ modelId: row.model_id, modelName: null, version: row.requested }),
        {
          modelId: row.model_id,
          modelName: row.name,
          version: labelOf(row.version, row.version_label),
          versionNumber: row.version,
          format: row.format,
          size: row.size,
          sha256: row.sha256,
        },
      ]),
    )
  },

  /** The internal ids of the devices in each of these groups. */
  async members(db: Executor, groupIds: readonly string[]): Promise<Map<string, ReadonlySet<string>>> {
    const { rows } = await sql<{ group_id: string; devices: string[] }>`
      select group_id, array_agg(device_id::text) as devices from device_group_members
      where group_id = any(${[...groupIds]}::uuid[]) group by group_id`.execute(db)
    return new Map(rows.map((row) => [row.group_id, new Set(row.devices)]))
  },
})

export type PlansReport = ReturnType<typeof createPlansReport>
