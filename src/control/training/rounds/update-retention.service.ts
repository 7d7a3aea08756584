import type { Database } from '../../../platform/db/open.ts'
import type { LeasesStore } from './leases.store.ts'
import type { RoundsStore } from './rounds.store.ts'
import type { UpdatesStore } from './updates.store.ts'

const RETIRED_AT_ONCE = 100

/** How long a round's updates are kept. */
export const createUpdateRetention = (parts: {
  readonly database: Database
  readonly store: Pick<RoundsStore, 'update'>
  readonly leases: Pick<LeasesStore, 'expired'>
  readonly updates: Pick<UpdatesStore, 'release'>
  readonly now: () => Date
}) => {
  const { database, store, leases, updates, now } = parts

  return {
    /**
     * Lets go of the updates of rounds that ended before `before`, or before what their organization has; their files
     * are then collected as garbage.
     */
    async retire(before: Date, ofOrgs: ReadonlyMap<string, Date>): Promise<number> {
      for (let released = 0; ; ) {
        const expired = await leases.expired(database.sql, before, ofOrgs, RETIRED_AT_ONCE)
        for (const id of expired) {
          await database.transaction(async (tx) => {
            await updates.release(tx, id)
            await store.update(tx, id, {
              updates_deleted_at: now(),
              noise_seed: null,
              state_sha256: null,
              control_sha256: null,
            })
          })
        }
        released += expired.length
        if (expired.length < RETIRED_AT_ONCE) return released
      }
    },
  }
}
