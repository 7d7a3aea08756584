import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { EMBEDDED_MAJOR } from '../../../platform/db/embedded/template.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { FilesService } from '../../catalog/files/files.service.ts'
import type { Context } from '../../context.ts'
import type { StoredBlob } from './manifest.ts'
import { dumpServer } from './pg-tools.ts'
import { storedFilesReport } from './stored-files.report.ts'
import type { BackupSource, DatabaseCopy } from './write-backup.ts'

/** Names of the database's lock and of unfinished files. */
const NOT_KEYS = /^(\.|database)/

/** Returns the files that lie directly in the data folder: each is a key, such as secrets and what signs the audit log. */
export const keysIn = async (dataDir: string): Promise<BackupSource['keys']> => {
  const entries = await readdir(dataDir, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && !NOT_KEYS.test(entry.name))
    .map(({ name }) => ({ name, path: join(dataDir, name) }))
}

const copyServer = async (
  { sql: executor }: Database,
  databaseUrl: string | null,
  folder: string,
  signal: AbortSignal,
): Promise<DatabaseCopy> => {
  const postgres = await storedFilesReport.postgresVersion(executor)
  await mkdir(folder, { mode: 0o700 })
  const dumped = databaseUrl === null ? null : await dumpServer(databaseUrl, join(folder, 'database.dump'), signal)
  return { kind: dumped === null ? 'none' : 'dump', postgres, rows: null, folder: dumped === null ? null : folder }
}

/** Returns every stored file that the database lists. */
export const listStoredFiles = (database: Database): AsyncIterable<StoredBlob> => storedFilesReport.all(database.sql)

/** This installation, as the source of a backup. */
export const createBackupSource = async (
  { config, database, blobs }: Context,
  {
    files,
    signal,
  }: {
    readonly files: Pick<FilesService, 'isReferenced'>
    readonly signal: AbortSignal
  },
): Promise<BackupSource> => {
  return {
    async copyDatabase(folder) {
      if (database.copyFolder === null) return copyServer(database, config.databaseUrl, folder, signal)
      return { kind: 'embedded', postgres: EMBEDDED_MAJOR, rows: await database.copyFolder(folder), folder }
    },
    keys: await keysIn(config.dataDir),
    storedFiles: () => listStoredFiles(database),
    readFile: (sha256) => blobs.read(sha256),
    isReferenced: files.isReferenced,
  }
}
