import { join } from 'node:path'
import type { Database } from '../../../platform/db/open.ts'
import { StartError } from '../../../platform/db/start-error.ts'
import { fingerprintOf, KEY_FILES } from '../../../platform/secrets.ts'
import type { KeyFilesStore } from './key-files.store.ts'

/** Makes sure that all processes of an installation use the same keys, now and after every start. */
export const createKeyFiles = (parts: {
  readonly database: Database
  readonly store: KeyFilesStore
  readonly dataDir: string
  /** Fingerprints of keys that other key files replace. */
  readonly replaceKeys: readonly string[]
}) => {
  const { database, store, dataDir, replaceKeys } = parts
  return {
    /**
     * At startup, creates the keys of a new installation and records which they are.
     * @throws StartError if a key file is missing or has another key than the one recorded
     */
    require: (): Promise<void> =>
      database.transaction(async (tx) => {
        const recorded = await store.locked(tx)
        // A server's database of an earlier version may belong to a process that has the keys, unlike this one.
        const isNew = database.kind === 'embedded' || !(await store.isUsed(tx))
        const faults: { readonly text: string; readonly fingerprint: string }[] = []
        for (const name of KEY_FILES) {
          const known = recorded.get(name)
          const isReplaced = known !== undefined && replaceKeys.includes(known)
          const create = known === undefined ? isNew : isReplaced
          const fingerprint = await fingerprintOf(dataDir, name, { create })
          if (fingerprint === known || (fingerprint === null && known === undefined)) continue
          if (known === undefined || isReplaced) await store.record(tx, name, fingerprint!)
          else {
            const fault = fingerprint === null ? 'is missing' : 'is not the key that this installation uses'
            faults.push({ text: `${join(dataDir, name)} ${fault}.`, fingerprint: known })
          }
        }
        if (faults.length > 0) throw new StartError(adviceFor(faults))
      }),
  }
}

const adviceFor = (faults: readonly { readonly text: string; readonly fingerprint: string }[]): string =>
  `${faults.map(({ text }) => text).join(' ')} Copy it from the data folder of another process, or restore it from a backup. ` +
  `If it is lost, replace it with SERVICE_REPLACE_KEYS=${faults.map(({ fingerprint }) => fingerprint).join(',')}; ` +
  'docs/installation.md says what is lost with it.'

export type KeyFiles = ReturnType<typeof createKeyFiles>
