import { type RawBuilder, sql } from 'kysely'
import { type Offer, type Target, targetKey } from '../../../domain/delivery-plan.ts'
import { labelOf } from '../../../domain/model.ts'
import type { Executor } from '../../../platform/db/open.ts'

/** True if this text is the label or number of a version `v`, or `n.0.0` for number n without a label. Each uses an index. */
const namesVersion = (text: RawBuilder<unknown>) => {
  const number = sql`case when ${text} ~ '^[1-9][0-9]{0,8}$' then (${text})::integer end`
  const whole = sql`case when ${text} ~ '^[1-9][0-9]{0,8}[.]0[.]0$' then split_part(${text}, '.', 1)::integer end`
  return sql<boolean>`(
    v.version_label = ${text} or v.version = ${number} or (v.version_label is null and v.version = ${whole}))`
}

const isUploadedAs = (modelId: RawBuilder<unknown>, version: RawBuilder<unknown>) => sql<boolean>`
  exists (select from model_versions v where v.model_id = ${modelId} and ${namesVersion(version)})`

const lastToAll = sql`(
  select org_id, model_id, started_revision from (
    select distinct on (org_id, model_id) org_id, model_id, version, started_revision from rollouts
    where status = 'completed' and percentage >= 100 and group_id is null and started_revision is not null
    order by org_id, model_id, started_revision desc
  ) as r where ${isUploadedAs(sql`r.model_id`, sql`r.version`)})`

/** What plans need from the catalog: the versions that they offer. */
export const plansReport = {
  /** True if an upload of the model with this id has the version that this text names. */
  isUploadedAs,

  /**
   * For a query's `from`: by organization and model, the newest completed rollout to all devices, if its version is
   * uploaded. Older settled plans (with a lower `started_revision`) reach no device while it is in force.
   */
  lastToAll,

  /**
   * Returns the uploads that these targets name, by `targetKey`. The number decides. Without it, a version's own label takes
   * precedence over the `n.0.0` of another one; only models of earlier releases can have both.
   */
  async offers(db: Executor, targets: readonly Target[]): Promise<Map<string, Offer>> {
    const { rows } = await sql<{
      model_id: string
      requested: string
      number: number | null
      name: string | null
      version: number
      version_label: string | null
      format: string
      size: number
      sha256: string
    }>`
      select w.model_id, w.version as requested, w.number, m.name, v.version, v.version_label, v.format, v.size, v.sha256
      from unnest(
        ${targets.map((target) => target.modelId)}::uuid[], ${targets.map((target) => target.version)}::text[],
        ${targets.map((target) => target.versionNumber ?? null)}::integer[]
      ) as w (model_id, version, number)
      join models m on m.id = w.model_id
      join lateral (
        select * from model_versions v where v.model_id = w.model_id and v.version = w.number
        union all (
          select * from model_versions v
          where w.number is null and v.model_id = w.model_id and ${namesVersion(sql`w.version`)}
          order by v.version_label is null limit 1)
      ) as v on true`.execute(db)
    return new Map(
      rows.map((row) => [
        targetKey({ modelId: row.model_id, modelName: null, version: row.requested, versionNumber: row.number }),
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
}

export type PlansReport = typeof plansReport
