import { type RawBuilder, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'
import { selectionStore } from '../../fleet/selection/selection.service.ts'

/** An absent device may retake its place only after this time: other devices are more likely to respond, and go first. */
const OTHERS_FIRST_MS = 10_000

/** A tenth of a round's timeout: the minimum time that a selected device has to fetch the plan. */
const TURN = sql<string>`timeout_seconds * 0.1 * interval '1 second'`

/** `hasFreePlace` of `domain/round.ts` in SQL. */
export const HAS_FREE_PLACE = sql<boolean>`
  taking_part - case when plan ? 'asynchronous' then completed_devices else 0 end < target_devices`

/** The row of `rounds` is open and has a free place. */
const hasFreePlace = (now: Date) => sql`status = 'active' and ${HAS_FREE_PLACE} and timeout_at > ${now}
  and not exists (select from secure_rounds s where s.round_id = rounds.id and s.status <> 'advertising')`

/** For a device that has never had a place in the round. */
const takePlace = async (db: Executor, roundId: string, deviceId: string, inGroup: RawBuilder<unknown>, now: Date) => {
  try {
    const { rows } = await sql`
      with place as (
        update rounds set taking_part = taking_part + 1, review_at = least(review_at, ${now}::timestamptz + ${TURN})
        where id = ${roundId} and ${hasFreePlace(now)} and privacy is null and ${inGroup} and not exists (
          select 1 from round_participants p where p.round_id = ${roundId} and p.device_id = ${deviceId})
        returning id
      )
      insert into round_participants (round_id, device_id, state, chosen, selected_at)
      select id, ${deviceId}::uuid, 'selected', 'joined', ${now}::timestamptz from place returning device_id`.execute(
      db,
    )
    return rows.length === 1
  } catch (error) {
    // Two simultaneous heartbeats of one device: the other took the place, and this statement's count was rolled back.
    if (isUniqueViolation(error)) return true
    throw error
  }
}

/** For an absent device, after other devices have had time to take its place. */
const retakePlace = async (db: Executor, roundId: string, deviceId: string, now: Date): Promise<boolean> => {
  const { rows } = await sql`
    with held as materialized (
      select id from rounds where id = ${roundId} and ${hasFreePlace(now)} for no key update
    ), back as (
      update round_participants p set state = 'selected', chosen = 'joined', selected_at = ${now}, reported_at = null,
        failure_reason = null
      from held where p.round_id = held.id and p.device_id = ${deviceId} and p.state = 'absent'
        and p.reported_at <= ${new Date(now.getTime() - OTHERS_FIRST_MS)}
      returning p.round_id
    )
    update rounds r set taking_part = r.taking_part + 1, review_at = least(r.review_at, ${now}::timestamptz + ${TURN})
    from back where r.id = back.round_id returning r.id`.execute(db)
  return rows.length === 1
}

/** The places of active rounds, which devices take by heartbeat. */
export const placesStore = {
  /** Gives the device a free place in an active round: a new one, or its own again if it was absent; false if it gets none. */
  async join(db: Executor, roundId: string, deviceId: string, now: Date): Promise<boolean> {
    const inGroup = sql`(group_id is null or ${selectionStore.isInGroup(sql`rounds.group_id`, deviceId)})`
    return (await takePlace(db, roundId, deviceId, inGroup, now)) || (await retakePlace(db, roundId, deviceId, now))
  },
}
