import { randomUUID } from 'node:crypto'
import { mkdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '../../domain/errors.ts'
import { renameWithRetries } from '../files/durable-file.ts'
import { makeFolder } from '../files/make-folder.ts'
import type { FetchedFile } from './fetch-file.ts'

const FETCHED_AT_ONCE = 8
/** Disk space that stays free: a tenth of the disk, at most this many bytes. */
const FREE_SHARE = 0.1
const FREE_BYTES = 2 * 1024 ** 3
const LOOK_MS = 5000
const TRIES = 2

/** A copy that stays until it is released. */
export interface PinnedCopy {
  readonly path: string
  release(): void
}

interface Entry {
  /** null while the copy is being fetched. */
  size: number | null
  /** Number of users that have pinned it. */
  pins: number
  readonly ready: Promise<unknown>
}

const damaged = (sha256: string, found: string): ServiceError =>
  new ServiceError('internal_error', `The stored file sha256:${sha256} is damaged: its bytes have the sha256 ${found}.`)

/** Runs at most `limit` calls at a time; the others wait in order. */
const limited = (limit: number) => {
  let free = limit
  const waiting: (() => void)[] = []
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}

/** True if the disk of `folder` is nearly full, so that copies must be evicted. False if its free space is unknown. */
const isTight = (folder: string): Promise<boolean> =>
  statfs(folder).then(
    ({ bavail, blocks, bsize }) => bavail * bsize < Math.min(FREE_BYTES, blocks * bsize * FREE_SHARE),
    () => false,
  )

/**
 * Opens a cache of stored files in a new folder, which each process has for itself: copies of an earlier process may be
 * incomplete after a crash. The least recently used copies are evicted first. Pinned files are kept even if they exceed
 * `maxBytes` or the disk is nearly full.
 */
export const openFileCache = async (
  folder: string,
  maxBytes: number,
  fetchFile: (sha256: string, path: string) => Promise<FetchedFile>,
) => {
  await mkdir(folder, { mode: 0o700 })
  // Ordered by last use, oldest first.
  const entries = new Map<string, Entry>()
  const inTurn = limited(FETCHED_AT_ONCE)
  let bytes = 0
  const pathOf = (sha256: string): string => join(folder, sha256)

  const drop = async (sha256: string, entry: Entry): Promise<void> => {
    entries.delete(sha256)
    bytes -= entry.size ?? 0
    await rm(pathOf(sha256), { force: true })
  }

  const makeRoom = async (): Promise<void> => {
    const mayGo = (sha256: string, entry: Entry): boolean =>
      entry.pins === 0 && entry.size !== null && entries.get(sha256) === entry
    for (const [sha256, entry] of entries) {
      if (!mayGo(sha256, entry)) continue
      if (bytes <= maxBytes && !(await isTight(folder))) return
      // It may have been pinned or removed while the disk was checked.
      if (mayGo(sha256, entry)) await drop(sha256, entry)
    }
  }
  /** Evicts copies in the background. Ignores errors: the next write to the disk reports them. */
  const makeRoomAside = (): void => void makeRoom().catch(() => undefined)
  // Periodically, because other files fill the disk too, and a service on a full disk is not ready.
  const looking = setInterval(makeRoomAside, LOOK_MS).unref()

  const bring = async (sha256: string): Promise<number> => {
    const path = join(folder, `${randomUUID()}.part`)
    try {
      for (let tries = 1; ; tries++) {
        const fetched = await fetchFile(sha256, path)
        if (fetched.sha256 === sha256) {
          await renameWithRetries(path, pathOf(sha256))
          return fetched.size
        }
        await rm(path, { force: true })
        if (tries === TRIES) throw damaged(sha256, fetched.sha256)
      }
    } catch (error) {
      await rm(path, { force: true })
      throw error
    }
  }

  const add = (sha256: string, bringing: () => Promise<number>): Entry => {
    const entry: Entry = {
      size: null,
      pins: 0,
      ready: Promise.resolve()
        .then(bringing)
        .then(
          (size) => {
            entry.size = size
            if (entries.get(sha256) === entry) bytes += size
          },
          (error: unknown) => {
            if (entries.get(sha256) === entry) entries.delete(sha256)
            throw error
          },
        ),
    }
    entry.ready.catch(() => undefined)
    entries.set(sha256, entry)
    return entry
  }

  const use = async (sha256: string, entry: Entry): Promise<PinnedCopy> => {
    entry.pins++
    entries.delete(sha256)
    entries.set(sha256, entry)
    await entry.ready
    // After `reset` there may be another entry for this file.
    const release = (): void => {
      entry.pins--
      if (bytes > maxBytes) makeRoomAside()
    }
    return { path: pathOf(sha256), release }
  }

  return {
    /** Returns a copy, fetching it if there is none. */
    async pin(sha256: string): Promise<PinnedCopy> {
      const copy = await use(sha256, entries.get(sha256) ?? add(sha256, () => inTurn(() => bring(sha256))))
      await makeRoom()
      return copy
    },

    /** Like `pin`, but returns null if there is no copy. */
    async pinCopy(sha256: string): Promise<PinnedCopy | null> {
      const entry = entries.get(sha256)
      // Does not wait for a copy that is still being fetched.
      return entry === undefined || entry.size === null ? null : use(sha256, entry)
    },

    /** Moves a file that is already stored into the cache. */
    async adopt(sha256: string, path: string, size: number): Promise<void> {
      if (entries.has(sha256) || size > maxBytes) {
        await rm(path, { force: true })
        return
      }
      await add(sha256, () => renameWithRetries(path, pathOf(sha256)).then(() => size)).ready
      await makeRoom()
    },

    async remove(sha256: string): Promise<void> {
      const entry = entries.get(sha256)
      if (entry?.pins === 0 && entry.size !== null) await drop(sha256, entry)
    },

    hashes: (): readonly string[] => [...entries.keys()],

    /** Starts over after the folder was deleted. */
    async reset(): Promise<void> {
      entries.clear()
      bytes = 0
      await makeFolder(folder, 0o700)
    },

    /** Stops evicting copies. */
    close: (): void => clearInterval(looking),
  }
}
