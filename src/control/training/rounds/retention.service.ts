import type { SettingsService } from '../../access/settings/settings.service.ts'
import type { RoundResults } from '../../catalog/models/round-results.service.ts'
import type { Context } from '../../context.ts'
import { forEach } from '../../periodic-tasks.ts'
import { retentionStore } from './retention.store.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const AT_ONCE = 100
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** Deletes what devices submit to rounds, and what rounds make of it, after its retention period. */
export const createRetention = (
  { config, database, now }: Context,
  {
    roundResults,
    settings,
  }: {
    readonly roundResults: Pick<RoundResults, 'deleteUnused'>
    readonly settings: Pick<SettingsService, 'all'>
  },
) => {
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
        const expired = await retentionStore.expired(database.sql, beforeAnywhere, ofOrgs, AT_ONCE)
        await forEach(expired, (id) => database.transaction((tx) => retentionStore.releaseUpdates(tx, id, now())))
        if (expired.length < AT_ONCE) return
      }
    },

    /**
     * Deletes the models of rounds whose updates are gone, except the configured number of latest ones per job and those still
     * referenced. Garbage collection then deletes their files, unless a published version has the same file.
     */
    async retireModels(): Promise<void> {
      for (let after = FIRST_ID; ; ) {
        const outdated = await retentionStore.outdated(database.sql, config.roundModelsKept, after, AT_ONCE)
        const modelIds = outdated.map(({ modelId }) => modelId)
        await database.transaction(async (tx) => {
          const gone = await roundResults.deleteUnused(tx, modelIds)
          await retentionStore.markDeleted(tx, gone, now())
        })
        if (outdated.length < AT_ONCE) return
        after = outdated.at(-1)!.id
      }
    },

    /** Releases the strategy states of jobs that ended long enough ago; such jobs can no longer be resumed or extended. */
    async retireStates(): Promise<void> {
      const endedBefore = before(config.jobStateRetentionDays)
      const release = () => database.transaction((tx) => retentionStore.releaseStates(tx, endedBefore, now(), AT_ONCE))
      while ((await release()) === AT_ONCE);
    },
  }
}
