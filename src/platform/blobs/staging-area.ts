import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { finished, pipeline } from 'node:stream/promises'
import { badRequest, type ServiceError } from '../../domain/errors.ts'
import type { BlobStore, StagedBlob } from './blob-store.ts'
import type { ProcessFiles } from './process-files.ts'

const CHUNK = 256 * 1024

export const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

const tooLarge = (maxBytes: number): ServiceError =>
  badRequest(
    `The file is larger than the ${maxBytes} bytes that this server accepts. ` +
      'Send a smaller file, or start the server with a higher SERVICE_MAX_UPLOAD_BYTES.',
  )

/**
 * Writes the source to a new file and syncs it; buffers up to `chunkBytes`. After an error, a partial file may exist, but
 * nothing writes to it anymore.
 */
export const writeSynced = async (
  path: string,
  source: AsyncGenerator<Uint8Array, void>,
  chunkBytes: number,
): Promise<void> => {
  const options = { flag: 'wx', flush: true, mode: 0o600 } as const
  const beginning: Uint8Array[] = []
  for (let held = 0; held < chunkBytes; ) {
    const { value, done } = await source.next()
    // A small file, like most updates of small devices: a stream would cost more than writing it.
    if (done === true) return writeFile(path, Buffer.concat(beginning), options)
    beginning.push(value)
    held += value.byteLength
  }
  const file = createWriteStream(path, { ...options, flags: options.flag, highWaterMark: chunkBytes })
  try {
    await pipeline(async function* () {
      yield* beginning.splice(0)
      yield* source
    }, file)
  } catch (error) {
    // The file may still be opening; removing it earlier would leave it behind.
    if (!file.closed) await finished(file).catch(() => undefined)
    await source.return()
    throw error
  }
}

/** Receives files in the folder `staging`, as `<id of the process>-<uuid>`, until `store` moves them elsewhere. */
export const createStagingArea = (
  staging: string,
  files: Pick<ProcessFiles, 'id' | 'ensureLock'>,
  store: (path: string, sha256: string, size: number) => Promise<void>,
): Pick<BlobStore, 'stage' | 'scratchPath' | 'adopt' | 'sweep'> => {
  // This process's files, which `sweep` must not delete, however old they are.
  const inUse = new Set<string>()
  const newPath = async (extension: string): Promise<string> => {
    await files.ensureLock()
    return join(staging, `${files.id}-${randomUUID()}.${extension}`)
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
        await store(path, sha256, size)
        kept = true
        inUse.delete(path)
      },
    }
  }

  return {
    async stage(source, { maxBytes }) {
      const path = await newPath('part')
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

    scratchPath: () => newPath('scratch'),

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

    async sweep(olderThan) {
      await files.ensureLock()
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
