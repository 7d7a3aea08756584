import type { Database } from '../../../platform/db/open.ts'
import type { RoundModels } from '../../catalog/models/round-models.service.ts'
import type { RetentionStore } from './retention.store.ts'

const AT_ONCE = 100
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** How long what devices bring to rounds, and what rounds make of it, is kept. */
export const createRetention = (parts: {
  readonly database: Database
  readonly store: RetentionStore
  readonly roundModels: Pick<RoundModels, 'deleteUnused'>
  readonly now: () => Date
}) => {
  const { database, store, roundModels, now } = parts

  return {
    /**
     * Lets go of the updates of rounds that ended before `before`, or before what their organization has; their files
     * are then collected as garbage.
     */
    async retireUpdates(before: Date, ofOrgs: ReadonlyMap<string, Date>): Promise<number> {
      for (let released = 0; ; ) {
        const expired = await store.expired(database.sql, before, ofOrgs, AT_ONCE)
        for (const id of expired) await database.transaction((tx) => store.releaseUpdates(tx, id, now()))
        released += expired.length
        if (expired.length < AT_ONCE) return released
      }
    },

    /**
     * Deletes the models of rounds whose updates are gone, but for the `kept` latest of each job and those that something
     * refers to; returns how many. Their files are then collected as garbage, unless a published version is the same.
     */
    async retireModels(kept: number): Promise<number> {
      for (let [deleted, after] = [0, FIRST_ID]; ; ) {
        const outdated = await store.outdated(database.sql, kept, after, AT_ONCE)
        const modelIds = outdated.map(({ modelId }) => modelId)
        deleted += await database.transaction(async (tx) => {
          const gone = await roundModels.deleteUnused(tx, modelIds)
          await store.markDeleted(tx, gone, now())
          return gone.length
        })
        if (outdated.length < AT_ONCE) return deleted
        after = outdated.at(-1)!.id
      }
    },

    /** Lets go of the states of jobs that ended before `before`: they cannot be resumed or extended any more. */
    async retireStates(before: Date): Promise<void> {
      const release = () => database.transaction((tx) => store.releaseStates(tx, before, now(), AT_ONCE))
      while ((await release()) === AT_ONCE);
    },
  }
}
