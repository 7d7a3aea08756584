import { join } from 'node:path'
import type { Config } from '../../../config.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { StartError } from '../../../platform/db/start-error.ts'
import { fingerprintOf, KEY_FILES, type KeyFile } from '../../../platform/files/key-files.ts'
import type { Context } from '../../context.ts'
import { keyFilesStore } from './key-files.store.ts'

interface Fault {
  readonly text: string
  /** The key that the database has. */
  readonly recorded: string
}

/** Makes sure that all processes of an installation use the same keys, now and after every start. */
export const createKeyFiles = (
  { database, log }: Pick<Context, 'database'> & { readonly log: { warn(fields: object, message: string): void } },
  /** `replaceKeys`: fingerprints of keys that other key files replace. */
  { dataDir, replaceKeys }: Pick<Config, 'dataDir' | 'replaceKeys'>,
) => {
  const encrypting: ((tx: Executor) => Promise<boolean>)[] = [keyFilesStore.hasAuthenticators]

  const isUsed = async (tx: Executor, name: KeyFile): Promise<boolean> => {
    if (name === 'audit.key') return keyFilesStore.hasAuditEntries(tx)
    for (const hasSecrets of encrypting) if (await hasSecrets(tx)) return true
    return false
  }

  /** The keys that this process lacks, although another one has used them: a server's database of an earlier version has none recorded. */
  const lackingIn = async (tx: Executor, recorded: ReadonlyMap<string, string>): Promise<readonly KeyFile[]> => {
    if (database.kind === 'embedded') return []
    const lacking: KeyFile[] = []
    for (const name of KEY_FILES) {
      if (recorded.has(name) || (await fingerprintOf(dataDir, name, { create: false })) !== null) continue
      if (await isUsed(tx, name)) lacking.push(name)
    }
    return lacking
  }

  return {
    /** Later modules add whether they have stored anything that `secrets.key` encrypts. */
    countAsUse: (hasSecrets: (tx: Executor) => Promise<boolean>): void => void encrypting.push(hasSecrets),

    /**
     * At startup, creates the keys that were never used, and records which keys the installation uses.
     * @throws StartError if a key file is missing or has another key than the one recorded
     */
    require: (): Promise<void> =>
      database.transaction(async (tx) => {
        const recorded = await keyFilesStore.locked(tx)
        const lacking = await lackingIn(tx, recorded)
        if (lacking.length > 0) log.warn({ dataDir }, lackingWords(lacking))
        const faults: Fault[] = []
        for (const name of KEY_FILES) {
          const known = recorded.get(name)
          const isReplaced = known !== undefined && replaceKeys.includes(known)
          // A process that lacks one key gets no others: it may be the only one that does not have the keys.
          const create = known === undefined ? lacking.length === 0 : isReplaced
          const fingerprint = await fingerprintOf(dataDir, name, { create }).catch((error: Error) => {
            throw new StartError(error.message, error)
          })
          if (fingerprint === known || (fingerprint === null && known === undefined)) continue
          if (fingerprint !== null && (known === undefined || isReplaced))
            await keyFilesStore.record(tx, name, fingerprint)
          else {
            const fault = fingerprint === null ? 'is missing' : 'is not the key that this installation uses'
            faults.push({ text: `${join(dataDir, name)} ${fault}.`, recorded: known! })
          }
        }
        if (faults.length > 0) throw new StartError(adviceFor(faults))
      }),

    /** The keys of the installation that the data folder does not have. */
    async missing(): Promise<readonly KeyFile[]> {
      const recorded = await keyFilesStore.all(database.sql)
      const missing: KeyFile[] = []
      for (const name of KEY_FILES) {
        const known = recorded.get(name)
        if (known !== undefined && (await fingerprintOf(dataDir, name, { create: false })) !== known) missing.push(name)
      }
      return missing
    },
  }
}

const lackingWords = (names: readonly KeyFile[]): string =>
  `the data folder has no ${names.join(' and no ')}, which another process of this installation has used: copy the keys from its data folder. ` +
  'Without them, this process creates its own when it needs them, and is refused later, once another process has recorded its keys. ' +
  'If every container has a new data folder, keep the keys outside it (docs/installation.md).'

const adviceFor = (faults: readonly Fault[]): string => {
  const [them, they] = faults.length === 1 ? ['it', 'it is'] : ['them', 'they are']
  return (
    `${faults.map(({ text }) => text).join(' ')} Copy ${them} from the data folder of another process, or restore ${them} from a backup. ` +
    `If ${they} lost, replace ${them} with SERVICE_REPLACE_KEYS=${faults.map(({ recorded }) => recorded).join(',')}; ` +
    `docs/installation.md says what is lost with ${them}.`
  )
}

export type KeyFiles = ReturnType<typeof createKeyFiles>
