import { access, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { LRUCache } from 'lru-cache'
import { renameWithRetries, syncFolder } from '../files/durable-file.ts'
import { makeFolder } from '../files/make-folder.ts'
import { nullIfMissing } from '../files/missing-file.ts'
import { type BlobStore, blobPath, gone, type PathOf, requireSha256 } from './blob-store.ts'
import { createProcessFiles } from './process-files.ts'
import { inOneChunk, readLocalFile } from './read-local-file.ts'
import { createStagingArea, isMissing } from './staging-area.ts'

/** The memory for caching files of at most one chunk. */
const SMALL_FILES_BYTES = 8 * 1024 * 1024

/** Stores files as `<root>/sha256/ab/<hash>`, receiving them in `<root>/staging` on the same file system. */
export const openFolderStore = async (rootFolder: string): Promise<BlobStore> => {
  const root = resolve(rootFolder)
  const staging = join(root, 'staging')
  // Recently read files: all devices of a round fetch the same model at once.
  const small = new LRUCache<string, Buffer>({
    maxSize: SMALL_FILES_BYTES,
    sizeCalculation: (bytes) => bytes.length + 1,
  })

  await makeFolder(join(root, 'sha256'), 0o700)
  await makeFolder(staging, 0o700)
  // A program that only reads leaves no trace.
  const files = createProcessFiles(root, [staging])
  await syncFolder(root)

  const pathOf = (sha256: string): string => join(root, blobPath(requireSha256(sha256)))

  /** Replaces an existing file: the bytes are the same, and a copy corrupted on disk is repaired. */
  const moveIn = async (path: string, sha256: string): Promise<void> => {
    const target = pathOf(sha256)
    const folder = dirname(target)
    const isNew = await renameWithRetries(path, target).then(
      () => false,
      async (error: unknown) => {
        if (!isMissing(error)) throw error
        await makeFolder(folder, 0o700)
        await renameWithRetries(path, target)
        return true
      },
    )
    await syncFolder(folder)
    if (isNew) await syncFolder(dirname(folder))
  }

  const orGone = <T>(sha256: string, work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw isMissing(error) ? gone(sha256, error) : error
    })

  const localPath: PathOf = async (sha256) => {
    const path = pathOf(sha256)
    await orGone(sha256, access(path))
    return path
  }

  return {
    ...createStagingArea(staging, files, moveIn),

    async read(sha256, range, chunks): Promise<Readable> {
      const path = pathOf(sha256)
      const known = small.get(sha256)
      if (known !== undefined) return inOneChunk(known, range)
      return orGone(
        sha256,
        readLocalFile(path, range, chunks, (bytes) => small.set(sha256, bytes)),
      )
    },

    withPaths: (work) => work(localPath),

    has: async (sha256) => (await nullIfMissing(access(pathOf(sha256)))) !== null,

    async remove(sha256) {
      small.delete(sha256)
      await rm(pathOf(sha256), { force: true })
    },

    async dropCopies(unstored) {
      for (const sha256 of await unstored([...small.keys()])) small.delete(sha256)
    },

    close: files.close,
  }
}
