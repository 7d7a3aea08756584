import type { Readable } from 'node:stream'
import type { Caller } from '../../../domain/access.ts'
import { anySignal } from '../../../domain/any-signal.ts'
import { badRequest, conflict, forbidden, notFound } from '../../../domain/errors.ts'
import { isLoopback } from '../../../domain/loopback.ts'
import { isUuid } from '../../../domain/model.ts'
import type { Context } from '../../context.ts'
import { type BackupParts, createBackupRuns } from './backup-runs.service.ts'
import {
  type BackupTarget,
  openBackupTarget,
  openSeparateTarget,
  prepareTarget,
  reasonOf,
  sharesDiskWith,
} from './backup-target.ts'
import { type Backup, backupsStore } from './backups.store.ts'
import { backupName, filePath } from './manifest.ts'

const RENEW_MS = 10_000
const HOUR_MS = 60 * 60 * 1000
const RETRY_MS = HOUR_MS
const LISTED = 100

export type { Backup } from './backups.store.ts'

/** Requires an unbound key: backups contain the data of all organizations, and the keys. */
const assertUnbound = (caller: Caller): void => {
  if (caller.orgId === null) return
  throw forbidden('A backup contains the data of all organizations: this needs an admin key that is not bound to one.')
}

/** Makes backups, on request and on schedule; one at a time, in one of the processes that share a database. */
export const createBackups = (context: Context, parts: BackupParts) => {
  const { config, database, log, now, newId } = context
  const { write, sweepStaging } = createBackupRuns(context, parts)
  const stopping = new AbortController()
  let current: Promise<unknown> = Promise.resolve()

  /** Warns if the target, which exists, is lost together with what it is a backup of. */
  const warnIfInside = async (target: BackupTarget): Promise<void> => {
    const folder = await sharesDiskWith(target, config)
    if (folder === null) return
    log.warn(
      { target: target.url },
      `backups in the service's folder ${folder} are lost together with it: choose a folder on another disk`,
    )
  }

  const requireTarget = (requested: string | undefined): string => {
    const url = requested ?? config.backupUrl
    if (url === null) throw badRequest('target: give a folder, or set SERVICE_BACKUP_URL.')
    const isAnyones = config.enrollment === 'open' && !isLoopback(config.host)
    if (isAnyones && url !== config.backupUrl) {
      throw forbidden(
        'Under open enrollment anyone who can reach this address could choose a target: set SERVICE_BACKUP_URL, or SERVICE_ENROLLMENT=token.',
      )
    }
    openSeparateTarget(url, config)
    return url
  }

  const begin = async (url: string, isScheduled: boolean): Promise<Backup> => {
    const at = now()
    const id = newId()
    const backup = { id, name: backupName(at, id), target: openBackupTarget(url).url, isScheduled }
    await backupsStore.failAbandoned(database.sql, at)
    if (!(await backupsStore.insert(database.sql, backup, at))) {
      throw conflict('Another backup is in progress. Wait until it ends: svc backup list.')
    }
    return (await backupsStore.find(database.sql, backup.id))!
  }

  const run = async (backup: Backup, url: string, isVerified: boolean): Promise<void> => {
    const superseding = new AbortController()
    const renew = async (): Promise<void> => {
      if (!(await backupsStore.renew(database.sql, backup.id)))
        superseding.abort(new Error('Its lease expired, so it was abandoned.'))
    }
    const renewing = setInterval(() => void renew().catch(() => undefined), RENEW_MS)
    try {
      await write(backup, { url, isVerified, signal: anySignal(stopping.signal, superseding.signal) })
      await warnIfInside(openBackupTarget(url))
    } catch (error) {
      const reason = stopping.signal.aborted ? 'The service was stopped.' : reasonOf(error)
      log.warn({ backup: backup.name, target: backup.target, reason }, 'a backup failed')
      await backupsStore.fail(database.sql, backup.id, reason, now())
    } finally {
      clearInterval(renewing)
    }
  }

  const start = async (url: string, { isScheduled, isVerified }: { isScheduled: boolean; isVerified: boolean }) => {
    const backup = await begin(url, isScheduled)
    const ended = run(backup, url, isVerified)
    current = Promise.allSettled([current, ended])
    return { backup, ended }
  }

  const show = async (id: string): Promise<Backup> => {
    const backup = isUuid(id) ? await backupsStore.find(database.sql, id) : null
    if (backup === null) throw notFound('Backup', id)
    return backup
  }

  const isDue = (latest: Backup | null): boolean => {
    if (latest === null) return true
    if (latest.status === 'running') return false
    const wait = config.backupHours * HOUR_MS
    const [since, pause] =
      latest.status === 'completed' ? [latest.createdAt, wait] : [latest.endedAt!, Math.min(wait, RETRY_MS)]
    const elapsed = now().getTime() - since.getTime()
    // Made while the clock was wrong. Clocks of several processes differ a little.
    if (elapsed < -HOUR_MS) return true
    return elapsed >= pause
  }

  return {
    /** Starts a backup and returns at once. */
    async create(caller: Caller, requested: { readonly target?: string | undefined; readonly verify: boolean }) {
      assertUnbound(caller)
      const url = requireTarget(requested.target)
      const { backup } = await start(url, { isScheduled: false, isVerified: requested.verify })
      return backup
    },

    async show(caller: Caller, id: string) {
      assertUnbound(caller)
      return show(id)
    },

    /** Newest first. */
    async list(caller: Caller) {
      assertUnbound(caller)
      return backupsStore.list(database.sql, LISTED)
    },

    /** Makes a backup now and waits for its end. */
    async make(url: string, isVerified: boolean): Promise<Backup> {
      openSeparateTarget(url, config)
      const { backup, ended } = await start(url, { isScheduled: false, isVerified })
      await ended
      return show(backup.id)
    },

    /** Warns if the target of scheduled backups cannot be used; the first backup may be due much later. */
    async checkTarget(): Promise<void> {
      const { backupUrl: target } = config
      try {
        if (target === null) return
        const opened = openSeparateTarget(target, config)
        await prepareTarget(opened)
        await warnIfInside(opened)
      } catch (error) {
        log.warn({ target, reason: reasonOf(error) }, 'scheduled backups will fail: SERVICE_BACKUP_URL cannot be used')
      }
    },

    /** Deletes what killed backups left behind, and makes the scheduled backup if it is due. */
    async tick(): Promise<void> {
      const { backupUrl: url } = config
      await backupsStore.failAbandoned(database.sql, now())
      await sweepStaging()
      if (url === null || !isDue(await backupsStore.latest(database.sql, openBackupTarget(url).url))) return
      const { ended } = await start(url, { isScheduled: true, isVerified: false })
      await ended
    },

    /** Returns the bytes of a stored file from the configured target, or null if it has none. They may be wrong. */
    async readStored(sha256: string): Promise<Readable | null> {
      return config.backupUrl === null ? null : openBackupTarget(config.backupUrl).read(filePath(sha256))
    },

    /** For a process that is the only one: fails the backups that the table shows as running, which no process is making. */
    async forgetDeadHolders(): Promise<void> {
      await backupsStore.failAbandoned(database.sql, now(), true)
      await sweepStaging()
    },

    /** Aborts the current backup. */
    async close(): Promise<void> {
      stopping.abort(new Error('The service was stopped.'))
      await current
    },
  }
}

export type Backups = ReturnType<typeof createBackups>
