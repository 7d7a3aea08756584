import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { LRUCache } from 'lru-cache'
import { badRequest, ServiceError } from '../../domain/errors.ts'
import { type BlobRange, type BlobStore, blobPath, type StagedBlob } from './blob-store.ts'
import { passingChunks } from './passing-chunks.ts'
import { writeSynced } from './write-synced.ts'

const CHUNK = 256 * 1024
/** Memory for files of at most one chunk. */
const SMALL_FILES_BYTES = 8 * 1024 * 1024
const SHA256 = /^[0-9a-f]{64}$/

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

const gone = (sha256: string, cause: unknown): ServiceError =>
  new ServiceError('not_found', `The file sha256:${sha256} is not in storage any more.`, { cause })

const tooLarge = (maxBytes: number): ServiceError =>
  badRequest(
    `The file is larger than the ${maxBytes} bytes that this server accepts. ` +
      'Send a smaller file, or start the server with a higher SERVICE_MAX_UPLOAD_BYTES.',
  )

/** A rename is durable only once the folder that holds the new name is. Windows cannot open folders; it needs none. */
const syncFolder = async (folder: string): Promise<void> => {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

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
  // Files of this process that `sweep` must leave alone however old they are.
  const inUse = new Set<string>()

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

  const stagedPath = (path: string): string => {
    if (dirname(resolve(path)) !== staging) throw new Error(`not a file of the staging area: ${path}`)
    return resolve(path)
  }

  const discard = async (path: string): Promise<void> => {
    await rm(path, { force: true })
    inUse.delete(path)
  }

  const staged = (path: string, sha256: string, size: number): StagedBlob => {
    let kept = false
    return {
      sha256,
      size,
      path,
      discard: async () => {
        if (!kept) await discard(path)
      },
      async keep() {
        // Over an existing file too: the bytes are the same, and a copy that rotted on disk is healed.
        const target = pathOf(sha256)
        const folder = dirname(target)
        const isNew = await rename(path, target).then(
          () => false,
          async (error: unknown) => {
            if (!isMissing(error)) throw error
            await mkdir(folder, { recursive: true, mode: 0o700 })
            await rename(path, target)
            return true
          },
        )
        kept = true
        inUse.delete(path)
        await syncFolder(folder)
        if (isNew) await syncFolder(dirname(folder))
      },
    }
  }

  return {
    async stage(source, { maxBytes }) {
      const path = join(staging, `${randomUUID()}.part`)
      const hash = createHash('sha256')
      let size = 0
      const measured = async function* (): AsyncGenerator<Uint8Array, void> {
        for await (const chunk of source) {
          size += chunk.byteLength
          if (size > maxBytes) throw tooLarge(maxBytes)
          hash.update(chunk)
          yield chunk
        }
      }
      inUse.add(path)
      try {
        await writeSynced(path, measured(), CHUNK)
      } catch (error) {
        await discard(path)
        throw error
      }
      return staged(path, hash.digest('hex'), size)
    },

    async scratchPath() {
      return join(staging, `${randomUUID()}.scratch`)
    },

    async adopt(scratchPath) {
      const path = stagedPath(scratchPath)
      inUse.add(path)
      try {
        const hash = createHash('sha256')
        await pipeline(createReadStream(path, { highWaterMark: CHUNK }), hash)
        const handle = await open(path, 'r+')
        try {
          await handle.sync()
          return staged(path, hash.digest('hex'), (await handle.stat()).size)
        } finally {
          await handle.close()
        }
      } catch (error) {
        inUse.delete(path)
        throw error
      }
    },

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

    async localPath(sha256) {
      const path = pathOf(sha256)
      try {
        await access(path)
        return path
      } catch (error) {
        throw isMissing(error) ? gone(sha256, error) : error
      }
    },

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

    async sweep(olderThan) {
      let removed = 0
      for (const name of await readdir(staging)) {
        const path = join(staging, basename(name))
        if (inUse.has(path)) continue
        // Another process may have kept or discarded it since the listing.
        const info = await stat(path).catch(() => null)
        if (info === null || info.mtime >= olderThan) continue
        await rm(path, { force: true })
        removed++
      }
      return removed
    },
  }
}
