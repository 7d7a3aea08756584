import { join } from 'node:path'
import { backupSummary, leftOutWords } from '../../domain/backup-summary.ts'
import { badRequest, ServiceError } from '../../domain/errors.ts'
import { plural } from '../../domain/plural.ts'
import { sizeWords } from '../../domain/sizes.ts'
import { createParts } from '../app.ts'
import { openContext } from '../context.ts'
import { refuseAsRoot, requireEmbedded } from '../data-folder.ts'
import { openBackupTarget } from '../operations/backups/backup-target.ts'
import { listBackups, neededFiles, readManifest } from '../operations/backups/manifest.ts'
import type { ProgramOptions } from './program-options.ts'

/** Written when the database is opened, and deleted when it is closed; written at each checkpoint. */
const LAST_WRITTEN = [join('database', 'postmaster.pid'), join('database', 'pg_logical', 'replorigin_checkpoint')]

/** `--target <folder> [--verify]`: backs up a data folder that no service has open. */
export const backup = async ({ config, text, flag, result, progress }: ProgramOptions): Promise<void> => {
  const url = text('target') ?? config.backupUrl
  if (url === null) throw badRequest('target: give a folder, or set SERVICE_BACKUP_URL.')
  const { dataDir } = config
  if (config.databaseUrl === null) {
    await refuseAsRoot(
      dataDir,
      LAST_WRITTEN.map((path) => join(dataDir, path)),
      ['backup', url, ...(flag('verify') ? ['--verify'] : [])],
    )
    await requireEmbedded(dataDir)
  }
  // Its warnings, on the standard output, are in the summary.
  const context = await openContext({ ...config, logLevel: 'error' }, {})
  try {
    const { operations, access } = createParts(context)
    const { backups } = operations
    if (context.database.kind === 'embedded') await backups.forgetDeadHolders()
    progress(`Backing up ${dataDir} to ${url}`)
    const made = await backups.make(url, flag('verify'))
    if (made.status !== 'completed') throw new ServiceError('internal_error', `The backup failed: ${made.reason}`)
    const missingKeys = await access.keyFiles.missing()
    if (missingKeys.length > 0) {
      progress(
        `The backup lacks keys that this installation uses: ${dataDir} does not have its ${missingKeys.join(' and ')}. ` +
          'Use the data folder of the service, or keep copies of them.',
      )
    }
    const { id, name, target, status, database, files, bytes, copiedFiles, copiedBytes, unreadableFiles, verifiedAt } =
      made
    const leftOut = leftOutWords(unreadableFiles)
    if (leftOut !== null) progress(leftOut)
    const shown = {
      id,
      name,
      target,
      status,
      database,
      files,
      bytes,
      copied_files: copiedFiles,
      copied_bytes: copiedBytes,
      unreadable_files: unreadableFiles,
      missing_keys: missingKeys,
      verified_at: verifiedAt,
    }
    result(shown, backupSummary(shown))
  } finally {
    await context.closeAccounting()
    await context.close()
  }
}

/** `--target <folder>`: lists the complete backups in it. */
export const listInTarget = async ({ config, text, result }: ProgramOptions): Promise<void> => {
  const url = text('target') ?? config.backupUrl
  if (url === null) throw badRequest('target: give a folder, or set SERVICE_BACKUP_URL.')
  const target = openBackupTarget(url)
  const backups = []
  for (const name of await listBackups(target)) {
    const manifest = await readManifest(target, name)
    const needed = neededFiles(manifest)
    const bytes = [...needed.values()].reduce((sum, size) => sum + size, 0)
    backups.push({
      name,
      created_at: manifest.created_at,
      version: manifest.version,
      database: manifest.database.kind,
      files: needed.size,
      bytes,
    })
  }
  result(
    { target: target.url, backups },
    backups
      .map(
        ({ name, files, bytes, database }) =>
          `${name}  ${plural(files, 'file')}, ${sizeWords(bytes)}${database === 'none' ? ', without the database' : ''}`,
      )
      .join('\n') || `There is no complete backup in ${target.url}.`,
  )
}
