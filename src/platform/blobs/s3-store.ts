import { createHash } from 'node:crypto'
import { readdir, rm, stat, utimes } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { ServiceError } from '../../domain/errors.ts'
import { makeFolder } from '../files/make-folder.ts'
import { nullIfMissing } from '../files/missing-file.ts'
import { type BlobStore, blobPath, gone, requireSha256 } from './blob-store.ts'
import { openFileCache, type PinnedCopy } from './file-cache.ts'
import type { ObjectStore } from './object-store.ts'
import { createProcessFiles, ownerOf } from './process-files.ts'
import { readLocalFile } from './read-local-file.ts'
import { createStagingArea } from './staging-area.ts'

const isNotFound = (error: unknown): boolean => error instanceof ServiceError && error.code === 'not_found'

/** Passes on the chunks, but the last one only if the hash matches: a damaged file never arrives complete. */
const checked = async function* (
  source: AsyncGenerator<Uint8Array, void>,
  sha256: string,
): AsyncGenerator<Uint8Array, void> {
  const hash = createHash('sha256')
  let held: Uint8Array | undefined
  for await (const chunk of source) {
    hash.update(chunk)
    if (held !== undefined) yield held
    held = chunk
  }
  const found = hash.digest('hex')
  if (found !== sha256) {
    throw new ServiceError('internal_error', `The stored file sha256:${sha256} is damaged: it has the sha256 ${found}.`)
  }
  if (held !== undefined) yield held
}

/**
 * Stores files as objects `sha256/ab/<hash>`. They are received in `<folder>/staging`, because they are inspected before being
 * kept. Copies are in `<folder>/cache`, for each process its own: recently kept files, and files needed by path.
 */
export const openS3Store = async (
  objects: ObjectStore,
  { folder, cacheBytes }: { readonly folder: string; readonly cacheBytes: number },
): Promise<BlobStore> => {
  const root = resolve(folder)
  const [staging, copies] = [join(root, 'staging'), join(root, 'cache')]
  for (const each of [staging, copies]) await makeFolder(each, 0o700)
  const files = createProcessFiles(root, [staging, copies])
  await files.ensureLock()
  const keyOf = (sha256: string): string => blobPath(requireSha256(sha256))

  const orGone = <T>(sha256: string, work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw isNotFound(error) ? gone(sha256, error) : error
    })
  const fetchFile = (sha256: string, path: string) => orGone(sha256, objects.fetchFile(keyOf(sha256), path))
  const mine = join(copies, `${files.id}-copies`)
  const cache = await openFileCache(mine, cacheBytes, fetchFile)
  files.onLost(cache.reset)
  const area = createStagingArea(staging, files, async (path, sha256, size) => {
    await objects.putFile(keyOf(sha256), { path, size })
    await cache.adopt(sha256, path, size)
  })

  /** Returns a stream whose first bytes have arrived, so that storage errors are reported before the response begins. */
  const begun = async (source: AsyncGenerator<Uint8Array, void>, sha256: string): Promise<Readable> => {
    const first = await orGone(sha256, source.next())
    return Readable.from(
      (async function* () {
        if (first.done !== true) yield first.value
        yield* source
      })(),
      { objectMode: false, highWaterMark: 256 * 1024 },
    )
  }

  return {
    ...area,

    async read(sha256, range, chunks) {
      const key = keyOf(sha256)
      const copy = chunks === 'reused' ? await cache.pinCopy(sha256) : null
      if (copy === null) {
        return begun(range === undefined ? checked(objects.read(key), sha256) : objects.read(key, range), sha256)
      }
      try {
        return await readLocalFile(copy.path, range, chunks)
      } finally {
        // An open file can be read to the end even after eviction.
        copy.release()
      }
    },

    async withPaths(work) {
      const pinning: Promise<PinnedCopy>[] = []
      try {
        return await work(async (sha256) => {
          const pinned = cache.pin(requireSha256(sha256))
          pinning.push(pinned)
          return (await pinned).path
        })
      } finally {
        // If one failed, others may still be in progress.
        for (const pinned of await Promise.allSettled(pinning))
          if (pinned.status === 'fulfilled') pinned.value.release()
      }
    },

    has: async (sha256) => objects.has(keyOf(sha256)),

    async remove(sha256) {
      await cache.remove(sha256)
      await objects.remove(keyOf(sha256))
    },

    presign: async (sha256, fileName) => objects.presign(keyOf(sha256), fileName),

    async sweep(olderThan) {
      // A process of version 1.0.0 touches its cache every hour, and deletes those that nobody has touched for a day.
      await utimes(mine, new Date(), new Date())
      for (const name of await readdir(copies)) {
        const path = join(copies, name)
        const found = ownerOf(name) === undefined ? await nullIfMissing(stat(path)) : null
        if (found !== null && found.mtime < olderThan) await rm(path, { recursive: true, force: true })
      }
      await objects.abandonUploads(new Date(Math.min(olderThan.getTime(), Date.now() - 24 * 60 * 60 * 1000)))
      return area.sweep(olderThan)
    },

    async dropCopies(unstored) {
      for (const sha256 of await unstored(cache.hashes())) await cache.remove(sha256)
    },

    async close() {
      cache.close()
      await files.close()
    },
  }
}
