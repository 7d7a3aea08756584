import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Caller } from '../../../domain/access.ts'
import { isNotFound } from '../../../domain/errors.ts'
import { asUnwritable, isUnavailable } from '../../../domain/outages.ts'
import type { Context } from '../../context.ts'
import { type DamagedFile, type FileChecks, type StoredFile, scrubsStore } from './scrubs.store.ts'

const MIN_PAUSE_MS = 20
const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
const SAMPLES = 5
const NONE_THERE = 'It is missing, as are the other newest files: SERVICE_STORAGE_URL may point to the wrong place.'

/** Returns a stored file's bytes from another place, or null if it is not there. They may be wrong. */
export type SpareCopies = (sha256: string) => Promise<Readable | null>

/** Hashes each stored file again after `scrubDays` days, and restores damaged ones from spare copies. */
export const createScrubs = ({ config, database, blobs, events, log, now }: Context) => {
  const spares: SpareCopies[] = []
  const stopping = new AbortController()

  /** Hashes the bytes on disk, not those that the store has cached; no faster than the settings allow. */
  const hash = (sha256: string): Promise<string> =>
    blobs.withPaths(async (pathOf) => {
      const digest = createHash('sha256')
      const began = performance.now()
      let bytes = 0
      for await (const chunk of createReadStream(await pathOf(sha256), { highWaterMark: 256 * 1024 })) {
        digest.update(chunk)
        bytes += chunk.length
        const ahead = (bytes / config.scrubBytesPerSecond) * 1000 - (performance.now() - began)
        if (ahead > MIN_PAUSE_MS) await sleep(ahead, undefined, { signal: stopping.signal })
      }
      return digest.digest('hex')
    })

  /** Returns a message about the file's damage, or null if it is intact. */
  const damageOf = async ({ sha256 }: StoredFile): Promise<string | null> => {
    try {
      return (await hash(sha256)) === sha256 ? null : 'Its bytes have changed.'
    } catch (error) {
      stopping.signal.throwIfAborted()
      // An unavailable store or a full disk says nothing about the file; its permissions do.
      if (isUnavailable(error) && asUnwritable(error) === undefined) throw error
      return isNotFound(error) ? 'It is missing.' : `It cannot be read: ${(error as Error).message}.`
    }
  }

  const repair = async ({ sha256, size }: StoredFile): Promise<boolean> => {
    for (const spare of spares) {
      try {
        const source = await spare(sha256)
        if (source === null) continue
        const staged = await blobs.stage(source, { maxBytes: size })
        if (staged.sha256 !== sha256) {
          await staged.discard()
          continue
        }
        // Also drops what the store has cached of the damaged bytes.
        await blobs.remove(sha256)
        await staged.keep()
        return true
      } catch (error) {
        log.warn({ sha256, err: error }, 'a spare copy of a damaged file cannot be used')
      }
    }
    return false
  }

  const good = (sha256: string) =>
    database.transaction(async (tx) => {
      if (await scrubsStore.markGood(tx, sha256)) await events.publish(tx, 'file.repaired', { sha256 })
    })

  const markDamaged = async (sha256: string, damage: string): Promise<void> => {
    const at = now()
    const checkAt = new Date(at.getTime() - config.scrubDays * DAY_MS + HOUR_MS)
    await database.transaction(async (tx) => {
      const isNews = await scrubsStore.markDamaged(tx, sha256, { damage, now: at, checkAt })
      if (!isNews) return
      log.warn({ sha256, damage }, 'a stored file is damaged')
      await events.publish(tx, 'file.damaged', { sha256, damage })
    })
  }

  const check = async (file: StoredFile): Promise<void> => {
    const { sha256 } = file
    const damage = await damageOf(file)
    if (damage === null) return good(sha256)
    await markDamaged(sha256, damage)
    if (await repair(file)) await good(sha256)
  }

  return {
    /** Adds a source of copies of stored files. Called when a later module is created. */
    addSpareCopies(added: SpareCopies): void {
      spares.push(added)
    },

    /**
     * Reports the newest files as damaged if the storage has none of them, and as repaired once it has them again: the setting
     * may point to the wrong place, where this process would store new files.
     */
    async checkPlace(): Promise<void> {
      const newest = await scrubsStore.newest(database.sql, SAMPLES)
      const present = await Promise.all(newest.map(({ sha256 }) => blobs.has(sha256)))
      for (const [at, { sha256, damage }] of newest.entries()) {
        if (present[at] && damage === NONE_THERE) await good(sha256)
      }
      if (newest.length === 0 || present.some((isPresent) => isPresent)) return
      log.error(
        { files: newest.length },
        'the newest stored files are not in the storage: SERVICE_STORAGE_URL (default: the folder blobs in the data folder) may ' +
          'point to the wrong place. Correct it and restart: downloads of these files fail, and new files are stored in the wrong place',
      )
      for (const { sha256 } of newest) await markDamaged(sha256, NONE_THERE)
    },

    /** Records the damage of a file that another reader has found; the next check repairs it if it can. */
    markDamaged,

    /** Checks all files that are due. A damaged one is due again after an hour, even if the others are never checked. */
    async run(): Promise<void> {
      while (!stopping.signal.aborted) {
        const at = now()
        const before = new Date(at.getTime() - config.scrubDays * DAY_MS)
        const file = await scrubsStore.claim(database.sql, { before, now: at, onlyDamaged: config.scrubDays === 0 })
        if (file === null) return
        await check(file).catch(async (error: unknown) => {
          if (stopping.signal.aborted) return
          await scrubsStore.release(database.sql, file.sha256, before)
          throw error
        })
      }
    },

    async report({ orgId }: Caller): Promise<{ readonly damaged: readonly DamagedFile[] } & FileChecks> {
      const damaged = await scrubsStore.damaged(database.sql, orgId)
      return { damaged, ...(await scrubsStore.checks(database.sql, orgId)) }
    },

    close: () => stopping.abort(),
  }
}

export type Scrubs = ReturnType<typeof createScrubs>
