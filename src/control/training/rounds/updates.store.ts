import { type Selectable, sql } from 'kysely'
import type { MetricReport, Metrics } from '../../../domain/metrics.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { UpdateRow } from '../../../platform/db/training-rows.ts'
import type { StoredRound } from './rounds.store.ts'

export interface StoredUpdate {
  readonly id: string
  readonly roundId: string
  readonly deviceId: string
  /** Null once retention has deleted the file; `fileHash` stays. */
  readonly sha256: string | null
  readonly fileHash: string
  readonly size: number
  /** The update is a raw float32 vector, either declared or assumed. */
  readonly rawVector: boolean
  readonly numSamples: number
  readonly localLoss: number | null
  readonly localAccuracy: number | null
  readonly trainingTimeSeconds: number | null
  /** Metrics of the trained model, in addition to loss and accuracy. */
  readonly metrics: Metrics | null
  /** Metrics of the received global model, on held-out data. */
  readonly evaluation: MetricReport | null
  readonly createdAt: Date
  /** SCAFFOLD: the change of the device's control variate. Also null once retention has deleted the file. */
  readonly controlSha256: string | null
  /** The earlier round whose model it was trained from; `staleness` is how many aggregates it is behind. */
  readonly baseRoundId: string | null
  readonly staleness: number | null
}

/** A round's counts after its latest updates. */
type Counted = Pick<StoredRound, 'id' | 'takingPart' | 'completedDevices' | 'participatedDevices' | 'quorumAt'>

/** Updates that participants delivered. */
export const updatesStore = {
  /** Inserts the updates, marks their devices as delivered, and stores the new counts of their rounds, which must be locked. */
  async recordAll(db: Executor, updates: readonly StoredUpdate[], rounds: readonly Counted[]): Promise<void> {
    const column = <Field extends keyof StoredUpdate>(field: Field) => updates.map((update) => update[field])
    const json = (field: 'metrics' | 'evaluation') =>
      updates.map(({ [field]: value }) => (value === null ? null : JSON.stringify(value)))
    await sql`
      with kept as (
        insert into updates (id, round_id, device_id, sha256, file_hash, size, num_samples, local_loss, local_accuracy,
          training_time_seconds, created_at, control_sha256, base_round_id, staleness, raw_vector, metrics, evaluation)
        select id, round_id, device_id, sha256, file_hash, size, num_samples, local_loss, local_accuracy,
          training_time_seconds, created_at, control_sha256, base_round_id, staleness, raw_vector, metrics::jsonb,
          evaluation::jsonb
        from unnest(${column('id')}::uuid[], ${column('roundId')}::uuid[], ${column('deviceId')}::uuid[],
          ${column('sha256')}::text[], ${column('fileHash')}::text[], ${column('size')}::bigint[],
          ${column('numSamples')}::bigint[], ${column('localLoss')}::float8[], ${column('localAccuracy')}::float8[],
          ${column('trainingTimeSeconds')}::integer[], ${column('createdAt')}::timestamptz[],
          ${column('controlSha256')}::text[], ${column('baseRoundId')}::uuid[], ${column('staleness')}::integer[],
          ${column('rawVector')}::boolean[], ${json('metrics')}::text[], ${json('evaluation')}::text[])
          as u (id, round_id, device_id, sha256, file_hash, size, num_samples, local_loss, local_accuracy,
            training_time_seconds, created_at, control_sha256, base_round_id, staleness, raw_vector, metrics, evaluation)
        returning round_id, device_id, created_at
      ), delivered as (
        update round_participants p set state = 'delivered', failure_reason = null, reported_at = kept.created_at,
          acknowledged_at = coalesce(p.acknowledged_at, kept.created_at)
        from kept where p.round_id = kept.round_id and p.device_id = kept.device_id
      )
      update rounds r set taking_part = counted.taking_part, completed_devices = counted.completed, participated_devices = counted.participated,
        quorum_at = coalesce(r.quorum_at, counted.quorum_at)
      from unnest(${rounds.map(({ id }) => id)}::uuid[], ${rounds.map((round) => round.takingPart)}::integer[], ${rounds.map((round) => round.completedDevices)}::integer[],
        ${rounds.map((round) => round.participatedDevices)}::integer[],
        ${rounds.map((round) => round.quorumAt)}::timestamptz[])
        as counted (id, taking_part, completed, participated, quorum_at)
      where r.id = counted.id`.execute(db)
  },

  /** The update that the device trained from this round's model, whichever round of the job counted it. */
  async find(db: Executor, roundId: string, deviceId: string): Promise<StoredUpdate | null> {
    const row = await db
      .selectFrom('updates')
      .selectAll()
      .where('device_id', '=', deviceId)
      .where((eb) => eb.or([eb('round_id', '=', roundId), eb('base_round_id', '=', roundId)]))
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },
}

export const fromRow = (row: Selectable<UpdateRow>): StoredUpdate => ({
  id: row.id,
  roundId: row.round_id,
  deviceId: row.device_id,
  sha256: row.sha256,
  fileHash: row.file_hash,
  size: row.size,
  rawVector: row.raw_vector,
  numSamples: row.num_samples,
  localLoss: row.local_loss,
  localAccuracy: row.local_accuracy,
  trainingTimeSeconds: row.training_time_seconds,
  metrics: row.metrics,
  evaluation: row.evaluation as unknown as MetricReport | null,
  createdAt: row.created_at,
  controlSha256: row.control_sha256,
  baseRoundId: row.base_round_id,
  staleness: row.staleness,
})
