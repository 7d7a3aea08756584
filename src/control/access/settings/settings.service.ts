import type { OrgSettings } from '../../../domain/compliance.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { settingsStore } from './settings.store.ts'

export type { OrgSettings } from '../../../domain/compliance.ts'

/** The rules of organizations; callers must check who may read and change them. */
export const createSettingsService = ({ database, now }: Context) => {
  /** Call it in a transaction that has locked the settings. */
  const set = async (
    tx: Executor,
    orgId: string,
    before: OrgSettings,
    change: Partial<OrgSettings>,
  ): Promise<OrgSettings> => {
    const settings = { ...before, ...change }
    await settingsStore.set(tx, orgId, settings, now())
    auditNote({ kind: 'settings', id: orgId, orgId, before, after: settings, onlyIfChanged: true })
    return settings
  }

  const lock = (tx: Executor, orgId: string): Promise<OrgSettings> => settingsStore.lock(tx, orgId, now())

  return {
    lock,
    set,

    of: (orgId: string, db: Executor = database.sql): Promise<OrgSettings> => settingsStore.find(db, orgId),

    /** The settings of every organization that has any. */
    all: (): Promise<ReadonlyMap<string, OrgSettings>> => settingsStore.all(database.sql),

    /** The minimum group sizes of the organizations that have set one. */
    minGroupSizes: (orgIds: readonly string[], db: Executor = database.sql): Promise<ReadonlyMap<string, number>> =>
      settingsStore.minGroupSizes(db, orgIds),

    /** The strictest minimum of several organizations. */
    async minGroupSize(orgIds: readonly string[]): Promise<number> {
      return Math.max(0, ...(await settingsStore.minGroupSizes(database.sql, orgIds)).values())
    },

    /** Changes only the given settings. */
    change: (orgId: string, change: Partial<OrgSettings>): Promise<OrgSettings> =>
      database.transaction(async (tx) => set(tx, orgId, await lock(tx, orgId), change)),
  }
}

export type SettingsService = ReturnType<typeof createSettingsService>
