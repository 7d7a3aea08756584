import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ObjectStore } from './object-store.ts'
import type { PartialFiles } from './partial-files.ts'

/** A part is stored once it has this many bytes. */
const PART_BYTES = 8 * 1024 * 1024
const RENEWED_EVERY_MS = 10_000

export interface UploadPart {
  readonly start: number
  readonly size: number
}

/** The parts of each file, as rows visible to all processes. A `writer` inactive for two minutes loses its lock. */
export interface UploadParts {
  size(name: string): Promise<number>
  /** False while another writer holds the lock. */
  lock(name: string, writer: string): Promise<boolean>
  /** Also false if the file has changed since `before`: an upload may have continued after it was listed. */
  lockUntouched(name: string, writer: string, before: Date): Promise<boolean>
  /** False if another writer has taken over. */
  renew(name: string, writer: string): Promise<boolean>
  unlock(name: string, writer: string): Promise<void>
  /** Called before the part is stored, so that it can be found and removed if storing fails. */
  announce(name: string, start: number): Promise<void>
  /** Called when the part is stored. False if another writer has taken over. */
  record(name: string, writer: string, part: UploadPart): Promise<boolean>
  /** In order, including announced ones, which have size 0. */
  of(name: string): Promise<readonly UploadPart[]>
  forget(name: string): Promise<void>
  untouchedSince(before: Date): Promise<readonly string[]>
  unlockAll(): Promise<void>
}

/** Files received in pieces, as objects `partial/<name>/<start>`: any process can continue any file. */
export const createSharedPartialFiles = (objects: ObjectStore, parts: UploadParts): PartialFiles => {
  const keyOf = (name: string, start: number): string => `partial/${name}/${start}`

  const remove = async (name: string): Promise<void> => {
    for (const { start } of await parts.of(name)) await objects.remove(keyOf(name, start))
    await parts.forget(name)
  }

  const read = async function* (name: string): AsyncGenerator<Uint8Array, void> {
    for (const { start, size } of await parts.of(name)) {
      if (size > 0) yield* objects.read(keyOf(name, start), { start: 0, end: size - 1 })
    }
  }

  /** Stores the source in parts; if it fails, the bytes before that stay. Null if another writer has taken over. */
  const store = async (
    name: string,
    writer: string,
    { offset, total }: { readonly offset: number; readonly total: number },
    source: AsyncIterable<Uint8Array>,
  ): Promise<{ readonly outcome: 'appended' | 'too-much'; readonly size: number } | null> => {
    let size = offset
    let held: Uint8Array[] = []
    let bytes = 0
    let renewed = performance.now()
    const flush = async (): Promise<boolean> => {
      if (bytes === 0) return true
      const part = Buffer.concat(held)
      held = []
      bytes = 0
      await parts.announce(name, size)
      await objects.put(keyOf(name, size), part)
      if (!(await parts.record(name, writer, { start: size, size: part.length }))) return false
      size += part.length
      return true
    }
    try {
      for await (const chunk of source) {
        if (size + bytes + chunk.length > total) return (await flush()) ? { outcome: 'too-much', size } : null
        held.push(chunk)
        bytes += chunk.length
        if (bytes >= PART_BYTES && !(await flush())) return null
        if (performance.now() - renewed < RENEWED_EVERY_MS) continue
        renewed = performance.now()
        if (!(await parts.renew(name, writer))) return null
      }
    } catch (error) {
      await flush()
      throw error
    }
    return (await flush()) ? { outcome: 'appended', size } : null
  }

  return {
    size: (name) => parts.size(name),

    async append(name, { offset, total }, source) {
      const writer = randomUUID()
      if (!(await parts.lock(name, writer))) return { outcome: 'busy', size: await parts.size(name) }
      try {
        const before = await parts.size(name)
        if (before !== offset) return { outcome: 'elsewhere', size: before }
        const stored = await store(name, writer, { offset, total }, source)
        return stored ?? { outcome: 'busy', size: await parts.size(name) }
      } finally {
        await parts.unlock(name, writer)
      }
    },

    read: (name) => Readable.from(read(name), { objectMode: false, highWaterMark: 256 * 1024 }),

    remove,

    async expire(olderThan) {
      let removed = 0
      for (const name of await parts.untouchedSince(olderThan)) {
        if (!(await parts.lockUntouched(name, randomUUID(), olderThan))) continue
        await remove(name)
        removed++
      }
      return removed
    },

    forgetWriters: () => parts.unlockAll(),
  }
}
