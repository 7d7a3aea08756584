import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, ConfigError } from '../../config.ts'
import { badRequest, conflict, ServiceError } from '../../domain/errors.ts'
import { plural } from '../../domain/plural.ts'
import { lockFolder } from '../../platform/db/embedded/folder-lock.ts'
import { tablesOf } from '../../platform/db/moving/move-state.ts'
import { openDatabase } from '../../platform/db/open.ts'
import { syncFolder } from '../../platform/files/durable-file.ts'
import { requireFolder } from '../../platform/files/make-folder.ts'
import { RESTORING, refuseAsRoot, requireDataFolder } from '../data-folder.ts'
import { type BackupTarget, openBackupTarget, reasonOf } from '../operations/backups/backup-target.ts'
import { latestBackup, type Manifest, neededFiles, readManifest } from '../operations/backups/manifest.ts'
import { restoreServer } from '../operations/backups/pg-tools.ts'
import { restoreDatabaseFiles, restoreFiles, restoreKeys } from '../operations/backups/read-backup.ts'
import { openStorage } from '../storage.ts'
import type { ProgramOptions } from './program-options.ts'

/** Files of the lock that is held, and what a new file system contains. */
const NOTHING: readonly string[] = ['database.lock', 'database.owner', 'lost+found']

const assertFree = async (dataDir: string): Promise<void> => {
  const names = (await readdir(dataDir)).filter((name) => !NOTHING.includes(name))
  // The remains of an interrupted restore do not count as data.
  if (names.length === 0 || names.includes(RESTORING)) return
  throw conflict(
    `The data folder ${dataDir} is not empty (${names.slice(0, 3).join(', ')}). Move it, or choose another folder with --data-dir.`,
  )
}

const requireEmptyDatabase = async (url: string | null): Promise<void> => {
  if (url === null) {
    throw badRequest('The backup has the dump of a server: set SERVICE_DATABASE_URL to an empty database for it.')
  }
  const db = await openDatabase({ url, dataDir: '' })
  try {
    if ((await tablesOf(db.sql)).length === 0) return
    throw conflict('The database that SERVICE_DATABASE_URL names is not empty. Use an empty one.')
  } finally {
    await db.close()
  }
}

const restoreDatabase = async (target: BackupTarget, manifest: Manifest, config: Config): Promise<string> => {
  const { dataDir, databaseUrl } = config
  const growing = join(dataDir, 'database.new')
  await rm(growing, { recursive: true, force: true })
  const { kind } = manifest.database
  if (kind === 'none') return 'The backup contains no database: restore the server with its own tools.'
  await restoreDatabaseFiles(target, manifest, growing)
  if (kind === 'embedded') {
    await rm(join(dataDir, 'database'), { recursive: true, force: true })
    await rename(growing, join(dataDir, 'database'))
    return `Start the service with: svc up --data-dir ${dataDir}`
  }
  const restored = await restoreServer(databaseUrl!, join(growing, 'database.dump'))
  if (restored === null)
    throw badRequest('The backup has the dump of a server: install pg_restore (postgresql-client).')
  await rm(growing, { recursive: true, force: true })
  return 'The dump was restored to the database that SERVICE_DATABASE_URL names.'
}

/**
 * `--target <folder> [--backup <name>]`: fills an empty data folder. A marker in it keeps the service from starting with
 * partial data; run it again to complete a restore that was killed.
 */
export const restore = async ({ config, text, result, progress }: ProgramOptions): Promise<void> => {
  const url = text('target') ?? config.backupUrl
  if (url === null) throw badRequest('target: give a folder, or set SERVICE_BACKUP_URL.')
  const target = openBackupTarget(url)
  const manifest = await readManifest(target, text('backup') ?? (await latestBackup(target)))
  const { dataDir } = config
  if (config.databaseUrl !== null && manifest.database.kind === 'embedded') {
    throw badRequest(
      'The backup has the embedded database: restore it without SERVICE_DATABASE_URL, then move it with svc migrate.',
    )
  }
  const named = text('backup')
  await refuseAsRoot(dataDir, [dataDir], ['restore', url, ...(named === null ? [] : ['--backup', named])])
  await requireFolder(dataDir).catch((error: Error) => {
    throw badRequest(`The data folder ${dataDir} cannot be used: ${error.message}. Choose another with --data-dir.`)
  })
  const lock = await lockFolder(dataDir)
  try {
    await assertFree(dataDir)
    await requireDataFolder(dataDir)
    if (manifest.database.kind === 'dump') await requireEmptyDatabase(config.databaseUrl)
    await writeFile(join(dataDir, RESTORING), `${url} ${manifest.name}\n`, { mode: 0o600, flush: true })
    await syncFolder(dataDir)
    progress(`Restoring ${manifest.name} from ${target.url} to ${dataDir}`)
    const { blobs } = await openStorage(config)
    await blobs.sweep(new Date())
    await restoreFiles(target, manifest, blobs)
    await blobs.close()
    await restoreKeys(target, manifest, dataDir)
    const advice = await restoreDatabase(target, manifest, config)
    await syncFolder(dataDir)
    await rm(join(dataDir, RESTORING))
    await syncFolder(dataDir)
    const { name, unreadable } = manifest
    const files = neededFiles(manifest).size
    if (unreadable.length > 0)
      progress(`${unreadable.length} stored files were already damaged when the backup was made, and are not in it.`)
    result(
      { name, data_dir: dataDir, restored_files: files, unreadable_files: unreadable.length },
      `Restored ${name} to ${dataDir}, ${plural(files, 'file')}. ${advice}`,
    )
  } catch (error) {
    if (error instanceof ServiceError || error instanceof ConfigError || !(error instanceof Error)) throw error
    throw new ServiceError(
      'internal_error',
      `The restore failed: ${reasonOf(error).replace(/\.$/, '')}. Fix the cause and run it again.`,
    )
  } finally {
    await lock.release()
  }
}
