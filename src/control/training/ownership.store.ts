import { type RawBuilder, sql } from 'kysely'
import { conflict } from '../../domain/errors.ts'
import { REPORTED_REASON } from '../../domain/failure-reasons.ts'
import type { Executor } from '../../platform/db/open.ts'
import type { RowsOfDevice } from '../fleet/erasures/erasures.store.ts'

type NamedDevice = Parameters<RowsOfDevice>[0]

/** A device's rows in the tables of training. */
export const trainingRowsOf: RowsOfDevice = ({ id }) => ({
  rounds: sql`from round_participants t where t.device_id = ${id}`,
  updates: sql`from updates t where t.device_id = ${id}`,
  evaluations: sql`from evaluations t where t.device_id = ${id}`,
  secure_messages: sql`from secure_messages t where t.device_id = ${id}`,
})

/** Puts the device's internal id in the place of its name in the receipts and failures of its rounds. */
const forgetName = async (tx: Executor, { id, deviceId }: NamedDevice): Promise<void> => {
  await sql`
    with entries as (
      select r.id, (entry.at - 1)::text as at from updates u join rounds r on r.id = u.round_id
      cross join lateral jsonb_array_elements(r.receipt -> 'updates') with ordinality as entry (receipt, at)
      where u.device_id = ${id} and entry.receipt ->> 'update_id' = u.id::text
    )
    update rounds r set receipt = jsonb_set(r.receipt, array['updates', e.at, 'device_id'], to_jsonb(${id}::text))
    from entries e where e.id = r.id`.execute(tx)
  // As errors of the aggregation name it; the second form is for rounds with devices of the same name.
  const forms = [`device '${deviceId}'`, `device '${deviceId} (${id})'`]
  const named = (text: RawBuilder<unknown>) =>
    forms.reduce((inner, form) => sql`replace(${inner}, ${form}, ${`device '${id}'`})`, text)
  const isNamed = (text: RawBuilder<unknown>) => sql`strpos(${text}, ${`device '${deviceId}`}) > 0`
  // Errors name only devices with updates: in other rounds, the name is another organization's device.
  const own = sql`select r.id, r.job_id from rounds r join updates u on u.round_id = r.id where u.device_id = ${id}`
  await sql`
    update rounds t set failure_reason = ${named(sql`t.failure_reason`)}
    from (${own}) own where t.id = own.id and ${isNamed(sql`t.failure_reason`)}`.execute(tx)
  await sql`
    update training_jobs t set reason = ${named(sql`t.reason`)}
    where t.id in (select job_id from (${own}) own) and ${isNamed(sql`t.reason`)}`.execute(tx)
}

/** Removes what devices wrote from the reasons of rounds in which the device has failed: it may have written it. */
const redactReasons = async (tx: Executor, { id }: NamedDevice): Promise<void> => {
  // The reasons of a federation's rounds contain nothing that devices wrote.
  const rounds = sql`
    select r.id from rounds r join round_participants p on p.round_id = r.id
    where p.device_id = ${id} and p.state = 'failed' and r.federation_id is null`
  const jobs = sql`select job_id from rounds where id in (${rounds})`
  const hasWords = (text: RawBuilder<unknown>) => sql`${text} ~ ${REPORTED_REASON}`
  const cut = (text: RawBuilder<unknown>) => sql`regexp_replace(${text}, ${REPORTED_REASON}, '\\1(erased)')`
  const [failure, reason] = [sql`failure_reason`, sql`reason`]
  await sql`update rounds set failure_reason = ${cut(failure)} where id in (${rounds}) and ${hasWords(failure)}`.execute(
    tx,
  )
  // Devices that still trained, and secure rounds, have the reason of the round.
  await sql`
    update round_participants set failure_reason = ${cut(failure)}
    where round_id in (${rounds}) and ${hasWords(failure)}`.execute(tx)
  await sql`
    update secure_rounds set reason = ${cut(reason)} where round_id in (${rounds}) and ${hasWords(reason)}`.execute(tx)
  await sql`update training_jobs set reason = ${cut(reason)} where id in (${jobs}) and ${hasWords(reason)}`.execute(tx)
}

/**
 * Removes a device and its update from open rounds, and its name from those that have ended.
 * @throws conflict while a round still needs it: its update is being aggregated, or others have used its key to mask theirs
 */
export const withdrawFromRounds =
  (now: () => Date) =>
  async (tx: Executor, device: NamedDevice): Promise<void> => {
    const { id } = device
    const { rows } = await sql<{ id: string; is_fixed: boolean }>`
      select r.id, (r.status = 'aggregating' and p.state = 'delivered')
        or exists (select from secure_rounds s where s.round_id = r.id and s.status <> 'advertising') as is_fixed
      from rounds r join round_participants p on p.round_id = r.id
      where p.device_id = ${id} and r.status in ('pending', 'active', 'aggregating')
      order by r.id for update of r`.execute(tx)
    const fixed = rows.find((round) => round.is_fixed)
    if (fixed !== undefined) {
      throw conflict(
        `The device takes part in round ${fixed.id}, which still needs it. Erase it after the round has ended, or end the round now with svc train cancel.`,
      )
    }
    await sql`
      update rounds r set taking_part = r.taking_part - (p.state in ('selected', 'delivered'))::int,
        completed_devices = r.completed_devices - (p.state = 'delivered')::int,
        failed_devices = r.failed_devices - (p.state = 'failed')::int,
        participated_devices = r.participated_devices - (p.fetched_at is not null or p.state = 'delivered')::int,
        quorum_at = case when r.completed_devices - (p.state = 'delivered')::int >= r.min_devices then r.quorum_at end,
        review_at = case when r.review_at is not null then ${now()}::timestamptz end
      from round_participants p
      where p.round_id = r.id and p.device_id = ${id} and r.status in ('pending', 'active')`.execute(tx)
    await forgetName(tx, device)
    await redactReasons(tx, device)
  }

/**
 * Assigns jobs and rounds without an organization to this one, and gives the rounds the next numbers there. Leaves a round in
 * progress unchanged while another is in progress there.
 */
export const adoptTraining = async (tx: Executor, orgId: string): Promise<void> => {
  await sql`
    update rounds r set org_id = ${orgId}, round_number = r.round_number + (
      select coalesce(max(o.round_number), 0) from rounds o where o.org_id = ${orgId})
    where r.org_id is null and not (r.status in ('pending', 'active', 'aggregating') and exists (
      select from rounds o where o.org_id = ${orgId} and o.status in ('pending', 'active', 'aggregating')))`.execute(tx)
  await sql`update training_jobs set org_id = ${orgId} where org_id is null`.execute(tx)
}
