import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'

/** A lock not renewed for this long belongs to a dead process. Stalled clients are disconnected far earlier. */
const DEAD_AFTER_MS = 120_000
const RENEWED_EVERY_MS = 10_000
const NAME = /^[0-9a-f]{64}$/

/** The result of appending bytes; `size` is the size of the file now. */
export interface Appended {
  readonly outcome: 'appended' | 'busy' | 'elsewhere' | 'too-much'
  readonly size: number
}

/** Files that are received in pieces. The reader must verify a complete file: nothing here checks its content. */
export interface PartialFiles {
  /** Bytes received so far; 0 if there is no file. */
  size(name: string): Promise<number>
  /**
   * Writes the source behind the first `offset` bytes, which must be all there are. What came before a source fails
   * stays. Takes nothing beyond `total`. One writer at a time, also among processes that share the folder.
   */
  append(name: string, place: { offset: number; total: number }, source: AsyncIterable<Uint8Array>): Promise<Appended>
  read(name: string): Readable
  remove(name: string): Promise<void>
  /** Removes files that have not changed since then and are not being written; returns how many. */
  expire(olderThan: Date): Promise<number>
  /** Releases every lock. Only for a process that has the folder to itself. */
  forgetWriters(): Promise<void>
}

const orNull = <T>(looking: Promise<T>): Promise<T | null> =>
  looking.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })

/** Files under `<root>/partial`, beside the staging area, with `<name>.lock` beside each while it is written. */
export const openPartialFiles = async (root: string): Promise<PartialFiles> => {
  const folder = join(resolve(root), 'partial')
  await mkdir(folder, { recursive: true, mode: 0o700 })

  const pathOf = (name: string): string => {
    if (!NAME.test(name)) throw new Error(`not the name of a partial file: ${JSON.stringify(name)}`)
    return join(folder, name)
  }
  const sizeOf = async (path: string): Promise<number> => (await orNull(stat(path)))?.size ?? 0

  /**
   * Null while another holds it. Two that find the same dead mark at once may both get in: that is borne, because writes
   * go to places that offsets name, and the hash decides over the whole file.
   */
  const lock = async (path: string) => {
    const mark = `${path}.lock`
    const token = randomUUID()
    const found = await orNull(stat(mark))
    if (found !== null && Date.now() - found.mtimeMs >= DEAD_AFTER_MS) await rm(mark, { force: true })
    try {
      await writeFile(mark, token, { flag: 'wx', mode: 0o600 })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null
      throw error
    }
    let renewed = Date.now()
    return {
      async renew(): Promise<void> {
        if (Date.now() - renewed < RENEWED_EVERY_MS) return
        renewed = Date.now()
        await orNull(utimes(mark, renewed / 1000, renewed / 1000))
      },
      async release(): Promise<void> {
        if ((await orNull(readFile(mark, 'utf8'))) === token) await rm(mark, { force: true })
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
        const found = await orNull(stat(path))
        return found !== null && found.mtime < olderThan
      }
      for (const name of (await readdir(folder)).filter((entry) => NAME.test(entry))) {
        const path = join(folder, name)
        if (!(await isOld(path))) continue
        const held = await lock(path)
        if (held === null) continue
        try {
          // Another request may have continued it in between.
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
