import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { makeFolder } from '../files/make-folder.ts'
import { nullIfMissing } from '../files/missing-file.ts'

/** A lock not renewed for this long belongs to a dead process. Stalled clients are disconnected far earlier. */
const DEAD_AFTER_MS = 120_000
const RENEWED_EVERY_MS = 10_000
const NAME = /^[0-9a-f]{64}$/

/** The result of appending bytes; `size` is the file's current size. */
export interface Appended {
  readonly outcome: 'appended' | 'busy' | 'elsewhere' | 'too-much'
  readonly size: number
}

/** Files received in pieces. The reader must verify a complete file: nothing here checks its content. */
export interface PartialFiles {
  /** Bytes received so far; 0 if there is no file. */
  size(name: string): Promise<number>
  /**
   * Writes the source at `offset`, which must be the file's current size. If the source fails, the bytes before that stay.
   * Accepts nothing beyond `total`. One writer at a time, even among processes that share the folder.
   */
  append(name: string, place: { offset: number; total: number }, source: AsyncIterable<Uint8Array>): Promise<Appended>
  read(name: string): Readable
  remove(name: string): Promise<void>
  /** Removes files that have not changed since then and are not being written; returns their number. */
  expire(olderThan: Date): Promise<number>
  /** Releases all locks. Only for a process that is the only user of the folder. */
  forgetWriters(): Promise<void>
}

/** Stores files in `<root>/partial`, next to the staging area, each with `<name>.lock` while it is written. */
export const openPartialFiles = async (root: string): Promise<PartialFiles> => {
  const folder = join(resolve(root), 'partial')
  await makeFolder(folder, 0o700)

  const pathOf = (name: string): string => {
    if (!NAME.test(name)) throw new Error(`not the name of a partial file: ${JSON.stringify(name)}`)
    return join(folder, name)
  }
  const sizeOf = async (path: string): Promise<number> => (await nullIfMissing(stat(path)))?.size ?? 0

  /**
   * Null while another writer holds it. Two that find the same stale lock at once may both get it. This is tolerated, because
   * writes go to explicit offsets, and the hash of the whole file is verified.
   */
  const lock = async (path: string) => {
    const mark = `${path}.lock`
    const token = randomUUID()
    const found = await nullIfMissing(stat(mark))
    if (found !== null && Date.now() - found.mtimeMs >= DEAD_AFTER_MS) await rm(mark, { force: true })
    try {
      await writeFile(mark, token, { flag: 'wx', mode: 0o600 })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null
      throw error
    }
    let renewed = performance.now()
    return {
      async renew(): Promise<void> {
        if (performance.now() - renewed < RENEWED_EVERY_MS) return
        renewed = performance.now()
        const at = new Date()
        await nullIfMissing(utimes(mark, at, at))
      },
      async release(): Promise<void> {
        if ((await nullIfMissing(readFile(mark, 'utf8'))) === token) await rm(mark, { force: true })
      },
    }
  }

  return {
    size: (name) => sizeOf(pathOf(name)),

    async append(name, { offset, total }, source) {
      const path = pathOf(name)
      const held = await lock(path)
      if (held === null) return { outcome: 'busy', size: await sizeOf(path) }
      try {
        const before = await sizeOf(path)
        if (before !== offset) return { outcome: 'elsewhere', size: before }
        const file = await open(path, offset === 0 ? 'w' : 'r+', 0o600)
        let size = offset
        try {
          for await (const chunk of source) {
            if (size + chunk.length > total) return { outcome: 'too-much', size }
            for (let done = 0; done < chunk.length; ) {
              done += (await file.write(chunk, done, chunk.length - done, size + done)).bytesWritten
            }
            size += chunk.length
            await held.renew()
          }
          return { outcome: 'appended', size }
        } finally {
          await file.sync()
          await file.close()
        }
      } finally {
        await held.release()
      }
    },

    read: (name) => createReadStream(pathOf(name), { highWaterMark: 256 * 1024 }),

    remove: (name) => rm(pathOf(name), { force: true }),

    async expire(olderThan) {
      let removed = 0
      const isOld = async (path: string): Promise<boolean> => {
        const found = await nullIfMissing(stat(path))
        return found !== null && found.mtime < olderThan
      }
      for (const name of (await readdir(folder)).filter((entry) => NAME.test(entry))) {
        const path = join(folder, name)
        if (!(await isOld(path))) continue
        const held = await lock(path)
        if (held === null) continue
        try {
          // Another request may have continued it in the meantime.
          if (!(await isOld(path))) continue
          await rm(path, { force: true })
          removed++
        } finally {
          await held.release()
        }
      }
      return removed
    },

    async forgetWriters() {
      for (const entry of await readdir(folder)) {
        if (entry.endsWith('.lock')) await rm(join(folder, entry), { force: true })
      }
    },
  }
}
