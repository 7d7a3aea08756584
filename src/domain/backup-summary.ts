import { plural } from './plural.ts'
import { sizeWords } from './sizes.ts'

/** A complete backup, as the API shows it. */
interface CompleteBackup {
  readonly name: string
  readonly target: string
  readonly database: string | null
  readonly files: number | null
  readonly copied_files: number | null
  readonly copied_bytes: number | null
  readonly verified_at: string | Date | null
}

const verifiedWords = (database: string | null): string =>
  database === 'embedded' ? ' It was restored to a temporary folder and compared.' : ' All its files were hashed.'

/** What a backup contains, and whether it was verified. */
export const backupSummary = (backup: CompleteBackup): string => {
  const { name, target, files, copied_files, copied_bytes, verified_at, database } = backup
  return (
    `Backup ${name} in ${target} is complete: ${plural(files ?? 0, 'file')}, of which ${copied_files} (${sizeWords(copied_bytes ?? 0)}) were new.` +
    `${verified_at === null ? '' : verifiedWords(database)}` +
    `${database === 'none' ? ` The database is not in it: ${DATABASE_ADVICE}` : ''}`
  )
}

export const DATABASE_ADVICE = 'install pg_dump on the machine of the service, or use pgBackRest.'

/** Null if the backup has every stored file. */
export const leftOutWords = (damagedFiles: number | null): string | null =>
  damagedFiles === null || damagedFiles === 0
    ? null
    : `${damagedFiles} stored ${damagedFiles === 1 ? 'file is' : 'files are'} damaged and not included: svc doctor`
