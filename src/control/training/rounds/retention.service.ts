import type { Config } from '../../../config.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { SettingsService } from '../../access/settings/settings.service.ts'
import type { RoundModels } from '../../catalog/models/round-models.service.ts'
import { forEach } from '../../module.ts'
import type { RetentionStore } from './retention.store.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const AT_ONCE = 100
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** Deletes what devices submit to rounds, and what rounds make of it, after its retention period. */
export const createRetention = (parts: {
  readonly config: Pick<Config, 'updateRetentionDays' | 'roundModelsKept' | 'jobStateRetentionDays'>
  readonly database: Database
  readonly store: RetentionStore
  readonly roundModels: Pick<RoundModels, 'deleteUnused'>
  readonly settings: Pick<SettingsService, 'all'>
  readonly now: () => Date
}) => {
  const { config, database, store, roundModels, settings, now } = parts
  const before = (days: number): Date => new Date(now().getTime() - days * DAY_MS)

  /** The cutoff for organizations with their own retention period. */
  const beforeInOrgs = async (): Promise<Map<string, Date>> => {
    const own = new Map<string, Date>()
    for (const [orgId, { updateRetentionDays: days }] of await settings.all()) {
      if (days !== null) own.set(orgId, before(days))
    }
    return own
  }

  return {
    /**
     * Releases the updates of rounds that ended longer ago than the retention period of the service or of their organization.
     * Garbage collection then deletes their files.
     */
    async retireUpdates(): Promise<void> {
      const [beforeAnywhere, ofOrgs] = [before(config.updateRetentionDays), await beforeInOrgs()]
      for (;;) {
        const expired = await store.expired(database.sql, beforeAnywhere, ofOrgs, AT_ONCE)
        await forEach(expired, (id) => database.transaction((tx) => store.releaseUpdates(tx, id, now())))
        if (expired.length < AT_ONCE) return
      }
    },

    /**
     * Deletes the models of rounds whose updates are gone, except the configured number of latest ones per job and those still
     * referenced. Garbage collection then deletes their files, unless a published version has the same file.
     */
    async retireModels(): Promise<void> {
      for (let after = FIRST_ID; ; ) {
        const outdated = await store.outdated(database.sql, config.roundModelsKept, after, AT_ONCE)
        const modelIds = outdated.map(({ modelId }) => modelId)
        await database.transaction(async (tx) => {
          const gone = await roundModels.deleteUnused(tx, modelIds)
          await store.markDeleted(tx, gone, now())
        })
        if (outdated.length < AT_ONCE) return
        after = outdated.at(-1)!.id
      }
    },

    /** Releases the strategy states of jobs that ended long enough ago; such jobs can no longer be resumed or extended. */
    async retireStates(): Promise<void> {
      const endedBefore = before(config.jobStateRetentionDays)
      const release = () => database.transaction((tx) => store.releaseStates(tx, endedBefore, now(), AT_ONCE))
      while ((await release()) === AT_ONCE);
    },
  }
}
