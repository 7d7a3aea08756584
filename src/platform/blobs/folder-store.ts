import { access, type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { LRUCache } from 'lru-cache'
import { ServiceError } from '../../domain/errors.ts'
import { syncFolder } from '../transfer/durable-file.ts'
import { type BlobRange, type BlobStore, blobPath, type PathOf } from './blob-store.ts'
import { passingChunks } from './passing-chunks.ts'
import { createStagingArea, isMissing } from './staging-area.ts'

const CHUNK = 256 * 1024
/** Memory for files of at most one chunk. */
const SMALL_FILES_BYTES = 8 * 1024 * 1024
const SHA256 = /^[0-9a-f]{64}$/

const gone = (sha256: string, cause: unknown): ServiceError =>
  new ServiceError('not_found', `The file sha256:${sha256} is no longer in storage.`, { cause })

const closingOnError = <T>(handle: FileHandle, work: () => Promise<T>): Promise<T> =>
  work().catch(async (error: unknown) => {
    await handle.close()
    throw error
  })

const inOneChunk = (bytes: Buffer, range: BlobRange | undefined): Readable =>
  new Readable({
    read() {
      this.push(range === undefined ? bytes : bytes.subarray(range.start, range.end + 1))
      this.push(null)
    },
  })

/** Files under `<root>/sha256/ab/<hash>`, arriving through `<root>/staging` on the same file system. */
export const openFolderStore = async (rootFolder: string): Promise<BlobStore> => {
  const root = resolve(rootFolder)
  const staging = join(root, 'staging')
  // What was read lately: all devices of a round fetch the same model at once.
  const small = new LRUCache<string, Buffer>({
    maxSize: SMALL_FILES_BYTES,
    sizeCalculation: (bytes) => bytes.length + 1,
  })

  await mkdir(join(root, 'sha256'), { recursive: true, mode: 0o700 })
  await mkdir(staging, { recursive: true, mode: 0o700 })
  await syncFolder(root)

  const pathOf = (sha256: string): string => {
    if (!SHA256.test(sha256)) throw new Error(`not a sha256 in hex: ${JSON.stringify(sha256)}`)
    return join(root, blobPath(sha256))
  }

  const localPath: PathOf = async (sha256) => {
    const path = pathOf(sha256)
    try {
      await access(path)
      return path
    } catch (error) {
      throw isMissing(error) ? gone(sha256, error) : error
    }
  }

  return {
    ...createStagingArea(staging, pathOf),

    async read(sha256, range, chunks): Promise<Readable> {
      const path = pathOf(sha256)
      const known = small.get(sha256)
      if (known !== undefined) return inOneChunk(known, range)
      try {
        const handle = await open(path, 'r')
        const { size } = await closingOnError(handle, () => handle.stat())
        if (size <= CHUNK) {
          const bytes = await handle.readFile().finally(() => handle.close())
          small.set(sha256, bytes)
          return inOneChunk(bytes, range)
        }
        if (chunks !== 'passing') return handle.createReadStream({ highWaterMark: CHUNK, ...range })
        return passingChunks(handle, CHUNK, range ?? { start: 0, end: size - 1 })
      } catch (error) {
        throw isMissing(error) ? gone(sha256, error) : error
      }
    },

    withPaths: (work) => work(localPath),

    async has(sha256) {
      const path = pathOf(sha256)
      return access(path).then(
        () => true,
        (error: unknown) => {
          if (isMissing(error)) return false
          throw error
        },
      )
    },

    async remove(sha256) {
      small.delete(sha256)
      await rm(pathOf(sha256), { force: true })
    },
  }
}
