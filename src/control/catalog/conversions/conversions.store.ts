import { type Selectable, sql } from 'kysely'
import type { ConversionState, ConvertedFormat } from '../../../domain/model.ts'
import type { ConversionRow } from '../../../platform/db/catalog-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { FileReferences } from '../files/files.service.ts'

export interface ConversionId {
  readonly modelId: string
  readonly version: number
  readonly format: ConvertedFormat
}

export interface StoredConversion extends ConversionId {
  readonly state: ConversionState
  /** Why it failed; null otherwise. */
  readonly reason: string | null
  /** Null until it is ready. */
  readonly file: { readonly sha256: string; readonly size: number } | null
  readonly attempts: number
}

/** A file of a version, as a conversion needs it. */
export interface VersionFile {
  readonly fileName: string
  readonly sha256: string
  readonly size: number
}

/** The file to convert, and the architecture that its weights are put into if it has no graph. */
export interface ConversionInput {
  readonly version: VersionFile
  readonly architecture: VersionFile | null
}

/** The converted file, or why there is none. */
export type ConversionOutcome =
  | { readonly file: { readonly sha256: string; readonly size: number } }
  | { readonly reason: string }

/** A process that does not renew its lease for 15 seconds, by the database's clock, loses its conversion. */
const LEASE = sql<Date>`now() + interval '15 seconds'`
/** The pause after a failed attempt, so that other conversions get their turn first. */
const PAUSE = sql<Date>`now() + interval '2 seconds'`

export const inConversions: FileReferences = (sha256) =>
  sql<boolean>`exists (select from conversions c where c.sha256 = ${sha256})`

/** Conversions of versions: the requests, the process that works on each, and the results. */
export const conversionsStore = {
  /** Does nothing if it was requested before. */
  async request(db: Executor, { modelId, version, format }: ConversionId, now: Date): Promise<void> {
    await db
      .insertInto('conversions')
      .values({ model_id: modelId, version, format, state: 'pending', requested_at: now })
      .onConflict((conflict) => conflict.columns(['model_id', 'version', 'format']).doNothing())
      .execute()
  },

  async find(db: Executor, id: ConversionId): Promise<StoredConversion | null> {
    const row = await whereId(db.selectFrom('conversions').selectAll(), id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async ofModel(db: Executor, modelId: string): Promise<StoredConversion[]> {
    const rows = await db
      .selectFrom('conversions')
      .selectAll()
      .where('model_id', '=', modelId)
      .orderBy(sql`array_position(array['onnx', 'tflite', 'coreml'], format)`)
      .execute()
    return rows.map(fromRow)
  },

  /**
   * Returns the version's file, and the newest architecture of its model, or of the model that was trained first: preferably
   * one from before the version.
   */
  async input(db: Executor, { modelId, version }: ConversionId): Promise<ConversionInput | null> {
    const found = await db
      .selectFrom('model_versions')
      .select(['file_name', 'sha256', 'size', 'uploaded_at'])
      .where('model_id', '=', modelId)
      .where('version', '=', version)
      .executeTakeFirst()
    if (found === undefined) return null
    const { rows } = await sql<VersionFile>`
      select v.file_name as "fileName", v.sha256, v.size from model_versions v ${ofArchitectures(modelId)}
        and not (v.model_id = ${modelId} and v.version = ${version})
      order by v.uploaded_at <= ${found.uploaded_at} desc, v.uploaded_at desc, v.version desc limit 1`.execute(db)
    const { file_name: fileName, sha256, size } = found
    return { version: { fileName, sha256, size }, architecture: rows[0] ?? null }
  },

  async hasArchitecture(db: Executor, modelId: string): Promise<boolean> {
    const { rows } = await sql<{ found: boolean }>`
      select exists (select from model_versions v ${ofArchitectures(modelId)}) as found`.execute(db)
    return rows[0]!.found
  },

  /**
   * Starts conversions again that may lack an architecture: of this model, and of rounds that trained it. Also those that are
   * running, which have read their input before.
   */
  async restart(db: Executor, modelId: string, now: Date): Promise<void> {
    await sql`
      update conversions set state = 'pending', reason = null, ended_at = null, attempts = 0, requested_at = ${now},
        lease_owner = null, lease_until = null
      where state <> 'ready' and model_id in (
        select id from models where ${modelId}::uuid in (id, architecture_model_id))`.execute(db)
  },

  /** Claims a conversion that waits without a lease, or one with an expired lease. */
  async claim(db: Executor, owner: string): Promise<StoredConversion | null> {
    const { rows } = await sql<Selectable<ConversionRow>>`
      update conversions set state = 'running', lease_owner = ${owner}, lease_until = ${LEASE}, attempts = attempts + 1
      where (model_id, version, format) = (
        select model_id, version, format from conversions
        where state in ('pending', 'running') and (lease_until is null or lease_until < now())
        order by requested_at, model_id, version, format limit 1 for update skip locked)
      returning *`.execute(db)
    return rows[0] === undefined ? null : fromRow(rows[0])
  },

  /** True while the lease is still ours; false also if the version is gone. */
  async renew(db: Executor, id: ConversionId, owner: string): Promise<boolean> {
    const { numUpdatedRows } = await whereId(db.updateTable('conversions').set({ lease_until: LEASE }), id)
      .where('lease_owner', '=', owner)
      .executeTakeFirst()
    return numUpdatedRows === 1n
  },

  /** Lets another process have it: it waits again, and pauses if the attempt failed. The attempt counts or not. */
  async release(
    db: Executor,
    id: ConversionId,
    owner: string,
    attempt: { readonly counts: boolean; readonly failed: boolean },
  ): Promise<void> {
    const attempts = sql<number>`attempts - ${attempt.counts ? 0 : 1}::integer`
    const waiting = { state: 'pending', lease_owner: null, lease_until: attempt.failed ? PAUSE : null, attempts }
    await whereId(db.updateTable('conversions').set(waiting), id).where('lease_owner', '=', owner).execute()
  },

  /**
   * Ends it; returns its state and the model's organization. Null if another process has claimed it in the meantime, or the
   * version is gone.
   */
  async end(
    db: Executor,
    id: ConversionId,
    owner: string,
    outcome: ConversionOutcome,
    now: Date,
  ): Promise<{ readonly state: 'ready' | 'failed'; readonly orgId: string | null } | null> {
    const result =
      'file' in outcome
        ? ({ state: 'ready', sha256: outcome.file.sha256, size: outcome.file.size } as const)
        : ({ state: 'failed', reason: outcome.reason } as const)
    const row = await whereId(
      db.updateTable('conversions').set({ ...result, ended_at: now, lease_owner: null, lease_until: null }),
      id,
    )
      .where('lease_owner', '=', owner)
      .returning(sql<string | null>`(select org_id from models where id = conversions.model_id)`.as('org_id'))
      .executeTakeFirst()
    return row === undefined ? null : { state: result.state, orgId: row.org_id }
  },

  /** For a database that only one process can open: processes that held a conversion before this start are dead. */
  async releaseAll(db: Executor): Promise<void> {
    await db
      .updateTable('conversions')
      .set({ state: 'pending', lease_owner: null, lease_until: null })
      .where('state', '=', 'running')
      .execute()
  },
}

const ofArchitectures = (modelId: string) => sql`
  where v.model_id in (
      select unnest(array[id, architecture_model_id]) from models where id = ${modelId})
    and lower(v.file_name) similar to '%.(pt2|onnx|keras)'`

const whereId = <Query extends { where(column: string, operator: '=', value: unknown): Query }>(
  query: Query,
  { modelId, version, format }: ConversionId,
): Query => query.where('model_id', '=', modelId).where('version', '=', version).where('format', '=', format)

const fromRow = (row: Selectable<ConversionRow>): StoredConversion => ({
  modelId: row.model_id,
  version: row.version,
  format: row.format as ConvertedFormat,
  state: row.state as ConversionState,
  reason: row.reason,
  file: row.sha256 === null || row.size === null ? null : { sha256: row.sha256, size: row.size },
  attempts: row.attempts,
})
