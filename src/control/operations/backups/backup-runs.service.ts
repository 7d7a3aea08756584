import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isUuid } from '../../../domain/model.ts'
import { ownerAdvice } from '../../../platform/files/folder-owner.ts'
import type { FilesService } from '../../catalog/files/files.service.ts'
import type { Scrubs } from '../../catalog/files/scrubs.service.ts'
import type { Context } from '../../context.ts'
import { createBackupSource } from './backup-source.service.ts'
import { type BackupTarget, openSeparateTarget, STAGING } from './backup-target.ts'
import { type Backup, backupsStore } from './backups.store.ts'
import { pruneBackups, readManifest } from './manifest.ts'
import { verifyBackup } from './read-backup.ts'
import { writeBackup } from './write-backup.ts'

const SHOWN_FAULTS = 5

interface Work {
  readonly url: string
  readonly isVerified: boolean
  readonly signal: AbortSignal
}

export interface BackupParts {
  readonly files: Pick<FilesService, 'isReferenced'>
  readonly scrubs: Pick<Scrubs, 'markDamaged'>
}

/** Makes one backup, from the copy of the database to the deletion of old backups. */
export const createBackupRuns = (context: Context, { files, scrubs }: BackupParts) => {
  const { config, database, log, now } = context

  const stagingOf = (id: string): string => join(config.dataDir, `${STAGING}${id}`)

  const undeletable = new Set<string>()

  /** Removes folders that killed backups left behind: they contain the whole database. Only logs errors, once for each folder. */
  const sweepStaging = async (): Promise<void> => {
    for (const name of await readdir(config.dataDir)) {
      const id = name.startsWith(STAGING) ? name.slice(STAGING.length) : ''
      if (!isUuid(id) || (await backupsStore.find(database.sql, id))?.status === 'running') continue
      const path = join(config.dataDir, name)
      try {
        await rm(path, { recursive: true, force: true })
      } catch (error) {
        if (undeletable.has(name)) continue
        undeletable.add(name)
        const owner = await ownerAdvice(path, path)
        log.warn(
          { err: error },
          `what a killed backup left behind cannot be deleted${owner === null ? '' : `: ${owner}`}`,
        )
      }
    }
  }

  const verify = async (target: BackupTarget, name: string, scratch: string, signal: AbortSignal): Promise<void> => {
    await mkdir(scratch, { mode: 0o700 })
    const faults = await verifyBackup(target, await readManifest(target, name), scratch, signal)
    if (faults.length === 0) return
    const more = faults.length > SHOWN_FAULTS ? ` And ${faults.length - SHOWN_FAULTS} more faults.` : ''
    throw new Error(`${faults.slice(0, SHOWN_FAULTS).join(' ')}${more}`)
  }

  /** Only logs errors: the new backup is complete, even if old ones cannot be deleted. */
  const cleanUp = async (target: BackupTarget, url: string, newestName: string): Promise<void> => {
    try {
      if (url === config.backupUrl) await pruneBackups(target, config.backupKeep, newestName)
      await target.sweep()
    } catch (error) {
      log.warn({ err: error, target: target.url }, 'old backups, or files of killed ones, could not be deleted')
    }
  }

  /** Makes the backup that the table shows as running, and records that it is complete. */
  const write = async (backup: Backup, { url, isVerified, signal }: Work): Promise<void> => {
    await sweepStaging()
    const staging = stagingOf(backup.id)
    try {
      const source = await createBackupSource(context, { files, signal })
      const target = openSeparateTarget(url, config)
      const done = await writeBackup({ target, source, name: backup.name, staging, at: backup.createdAt, signal })
      await rm(staging, { recursive: true, force: true })
      if (isVerified) await verify(target, backup.name, staging, signal)
      for (const { sha256, reason } of done.unreadable) await scrubs.markDamaged(sha256, reason)
      const verifiedAt = isVerified ? now() : null
      await backupsStore.complete(
        database.sql,
        backup.id,
        { ...done, unreadableFiles: done.unreadable.length, verifiedAt },
        now(),
      )
      log.info({ backup: backup.name, target: backup.target, copiedBytes: done.copiedBytes }, 'a backup is complete')
      await cleanUp(target, url, backup.name)
    } finally {
      await rm(staging, { recursive: true, force: true })
    }
  }

  return { write, sweepStaging }
}
