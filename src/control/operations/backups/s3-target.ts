import { Readable } from 'node:stream'
import { badRequest, isNotFound } from '../../../domain/errors.ts'
import type { S3Location } from '../../../domain/storage-location.ts'
import type { ObjectStore } from '../../../platform/blobs/object-store.ts'
import type { BackupTarget } from './target.ts'

/** Distinguishes errors of the source, which say why a file cannot be backed up, from faults of the store. */
const remembering = (source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) => {
  let failed: { readonly error: unknown } | null = null
  const chunks = async function* (): AsyncGenerator<Uint8Array, void> {
    try {
      yield* source
    } catch (error) {
      failed = { error }
      throw error
    }
  }
  return { body: Readable.from(chunks(), { objectMode: false }), failure: () => failed }
}

/** A bucket, or a prefix of it. An object is stored completely or not at all. */
export const s3Target = (url: string, location: S3Location): BackupTarget => {
  let opened: Promise<ObjectStore> | null = null
  // Loaded on demand: loading the SDK takes longer than everything else.
  const open = async (): Promise<ObjectStore> => {
    const { openS3Objects } = await import('../../../platform/blobs/s3-objects.ts')
    const store = await openS3Objects(location, `The backup target ${url}`)
    await store.check().catch((error: Error) => {
      throw badRequest(`The backup target ${url} cannot be used: ${error.message}.`)
    })
    return store
  }
  const objects = (): Promise<ObjectStore> => (opened ??= open())

  return {
    url,
    async read(path) {
      const chunks = (await objects()).read(path)
      try {
        const first = await chunks.next()
        const whole = async function* (): AsyncGenerator<Uint8Array, void> {
          if (first.done !== true) yield first.value
          yield* chunks
        }
        return Readable.from(whole(), { objectMode: false })
      } catch (error) {
        if (isNotFound(error)) return null
        throw error
      }
    },
    async write(path, source) {
      const store = await objects()
      const { body, failure } = remembering(source)
      try {
        await store.putStream(path, body)
      } catch (error) {
        const failed = failure()
        throw failed === null ? error : failed.error
      }
    },
    list: async (folder) => (await objects()).list(`${folder}/`),
    remove: async (path) => (await objects()).remove(path),
    isEmpty: async () => (await (await objects()).list('')).length === 0,
    // An interrupted multipart upload is not an object; the bucket's lifecycle rule deletes its parts.
    sweep: async () => undefined,
  }
}
