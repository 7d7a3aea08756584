import type { Database } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { OrgSettings, SettingsStore } from './settings.store.ts'

export type { OrgSettings } from './settings.store.ts'

/** The rules of organizations; the caller sees to who may read and change them. */
export const createSettingsService = (parts: {
  readonly database: Database
  readonly store: SettingsStore
  readonly now: () => Date
}) => {
  const { database, store, now } = parts
  return {
    of: (orgId: string): Promise<OrgSettings> => store.find(database.sql, orgId),

    /** Changes those that are given. */
    change: (orgId: string, change: Partial<OrgSettings>): Promise<OrgSettings> =>
      database.transaction(async (tx) => {
        const before = await store.lock(tx, orgId, now())
        const settings = { ...before, ...change }
        await store.set(tx, orgId, settings, now())
        auditNote({ kind: 'settings', id: orgId, orgId, before, after: settings })
        return settings
      }),
  }
}

export type SettingsService = ReturnType<typeof createSettingsService>
