import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type * as S3 from '@aws-sdk/client-s3'
import { ServiceError } from '../../domain/errors.ts'
import type { S3Location } from '../../domain/storage-location.ts'
import type { BlobRange } from './blob-store.ts'
import { createFileFetcher } from './fetch-file.ts'
import type { ListedObject, ObjectStore } from './object-store.ts'

const PART_BYTES = 8 * 1024 * 1024
const MAX_PARTS = 10_000
const PARTS_AT_ONCE = 4
/** The timeout for a response to start, and between its bytes. */
const STALL_MS = 10_000
const REQUEST_MS = 60_000
/** Progress resets the number of attempts. */
const TRIES = 3
const RETRY_AFTER_SECONDS = 5
const PRESIGNED_SECONDS = 3600

/** An error of the SDK. */
interface Fault extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number }
}

const statusOf = (error: unknown): number | undefined => (error as Fault).$metadata?.httpStatusCode

const isMissing = (error: unknown): boolean => ['NoSuchKey', 'NotFound'].includes((error as Fault).name)

/** The errors for when `storage`, as people know it, does not respond. */
const outagesOf = (storage: string) => {
  const unavailable = (cause: unknown): ServiceError =>
    cause instanceof ServiceError
      ? cause
      : new ServiceError('unavailable', `${storage} does not respond. Try again in a moment.`, {
          cause,
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        })
  const orAway = <Value>(sending: Promise<Value>): Promise<Value> =>
    sending.catch((error: unknown) => {
      throw unavailable(error)
    })
  return { unavailable, orAway }
}

/** Loaded on first use, because loading takes longer than the rest of the startup. */
const load = async () => {
  // The SDK warns about Node 20 at every start, which operators already know.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
  const [sdk, { Upload }, { getSignedUrl }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('@aws-sdk/lib-storage'),
    import('@aws-sdk/s3-request-presigner'),
  ])
  return { sdk, Upload, getSignedUrl }
}

const clientOf = (sdk: typeof S3, { endpoint, region }: S3Location): S3.S3Client =>
  new sdk.S3Client({
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true, region: 'us-east-1' }),
    ...(region === null ? {} : { region }),
    // Stores other than Amazon's do not support the newer checksums; every file is verified by its SHA-256 anyway.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: TRIES,
    requestHandler: {
      connectionTimeout: 2000,
      socketTimeout: STALL_MS,
      requestTimeout: REQUEST_MS,
      throwOnRequestTimeout: true,
      httpAgent: { keepAlive: true, maxSockets: 256 },
      httpsAgent: { keepAlive: true, maxSockets: 256 },
    },
  })

const faultOf = (error: unknown, bucket: string): string | null => {
  const { name, message } = error as Fault
  if (name === 'CredentialsProviderError') return `there are no credentials (${message})`
  if (/region is missing/i.test(message)) return 'there is no region: add ?region=…, or set AWS_REGION'
  const status = statusOf(error)
  if (status === 404) return `there is no bucket '${bucket}'`
  if (status === 301) return `the bucket '${bucket}' is in another region`
  if (status === 400 || status === 401 || status === 403) {
    return `the bucket '${bucket}' refuses these credentials (${status}); they need s3:ListBucket, GetObject, PutObject, and DeleteObject`
  }
  return null
}

/** Times out if no chunk arrives; time spent by a slow reader does not count. */
const chunksOf = async function* (body: Readable): AsyncGenerator<Uint8Array, void> {
  const chunks = body[Symbol.asyncIterator]()
  let waiting = true
  const timer = setTimeout(() => {
    if (waiting) body.destroy(new Error(`nothing arrived for ${STALL_MS / 1000} s`))
  }, STALL_MS)
  try {
    for (;;) {
      waiting = true
      timer.refresh()
      const { value, done } = await chunks.next()
      waiting = false
      if (done === true) return
      yield value
    }
  } finally {
    clearTimeout(timer)
    body.destroy()
  }
}

const noObject = (key: string, cause?: unknown): ServiceError =>
  new ServiceError('not_found', `There is no object ${key}.`, { cause })

/** Opens the bucket of this location; errors call it `name`. */
export const openS3Objects = async (
  location: S3Location,
  name = 'The file storage of the service',
): Promise<ObjectStore> => {
  const { sdk, Upload, getSignedUrl } = await load()
  const { unavailable, orAway } = outagesOf(name)
  const client = clientOf(sdk, location)
  const at = (key: string) => ({ Bucket: location.bucket, Key: `${location.prefix}${key}` })

  const read = async function* (key: string, range?: BlobRange): AsyncGenerator<Uint8Array, void> {
    let next = range?.start ?? 0
    let end = range?.end
    for (let failed = 0; ; ) {
      const from = next
      try {
        const wanted = end === undefined ? {} : { Range: `bytes=${from}-${end}` }
        const { Body, ContentLength, ContentRange } = await client.send(
          new sdk.GetObjectCommand({ ...at(key), ...wanted }),
        )
        if (end !== undefined && ContentRange?.startsWith(`bytes ${from}-${end}/`) !== true) {
          throw new Error(`bytes ${from}-${end} were requested, but '${ContentRange}' was sent`)
        }
        end ??= ContentLength! - 1
        for await (const chunk of chunksOf(Body as Readable)) {
          next += chunk.length
          yield chunk
        }
        if (next === end + 1) return
        throw new Error(`${next - from} bytes arrived of ${end + 1 - from}`)
      } catch (error) {
        if (isMissing(error)) throw noObject(key, error)
        failed = next > from ? 1 : failed + 1
        if (failed === TRIES) throw unavailable(error)
        await sleep(100 * 2 ** failed)
      }
    }
  }

  const put = async (key: string, bytes: Uint8Array): Promise<void> => {
    await orAway(client.send(new sdk.PutObjectCommand({ ...at(key), Body: bytes })))
  }

  const fetcher = createFileFetcher()

  return {
    read,

    fetchFile: async (key, path) => {
      const address = getSignedUrl(client, new sdk.GetObjectCommand(at(key)), { expiresIn: PRESIGNED_SECONDS })
      const reply = await fetcher(await orAway(address), path)
      if (reply.ok) return reply
      if (reply.fault === 'missing') throw noObject(key)
      if (reply.fault === 'away') throw unavailable(new Error(reply.message))
      throw Object.assign(new Error(reply.message), { code: reply.code })
    },

    check: async () => {
      try {
        await client.send(new sdk.HeadBucketCommand({ Bucket: location.bucket }))
      } catch (error) {
        const fault = faultOf(error, location.bucket)
        if (fault !== null) throw new Error(fault, { cause: error })
      }
    },

    put,

    putFile: async (key, { path, size }) => {
      if (size <= PART_BYTES) return put(key, await readFile(path))
      const partSize = Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS))
      const params = { ...at(key), Body: createReadStream(path, { highWaterMark: 1024 * 1024 }) }
      await orAway(new Upload({ client, params, partSize, queueSize: PARTS_AT_ONCE }).done())
    },

    putStream: async (key, source) => {
      const params = { ...at(key), Body: source }
      await orAway(new Upload({ client, params, partSize: PART_BYTES, queueSize: 2 }).done())
    },

    list: async (beginning) => {
      const { Bucket, Key: Prefix } = at(beginning)
      const found: ListedObject[] = []
      for (let ContinuationToken: string | undefined; ; ) {
        const page = await orAway(client.send(new sdk.ListObjectsV2Command({ Bucket, Prefix, ContinuationToken })))
        for (const { Key, Size = 0, LastModified = new Date(0) } of page.Contents ?? []) {
          if (Key !== undefined) {
            found.push({ path: Key.slice(location.prefix.length), size: Size, modifiedAt: LastModified })
          }
        }
        if (page.IsTruncated !== true) return found
        ContinuationToken = page.NextContinuationToken
      }
    },

    has: (key) =>
      client.send(new sdk.HeadObjectCommand(at(key))).then(
        () => true,
        (error: unknown) => {
          if (isMissing(error)) return false
          throw unavailable(error)
        },
      ),

    remove: async (key) => {
      await orAway(client.send(new sdk.DeleteObjectCommand(at(key))))
    },

    presign: (key, fileName) => {
      const named = {
        ResponseContentDisposition: `attachment; filename="${fileName.replace(/[^\x20-\x7e]|["\\%]/g, '_')}"`,
      }
      return orAway(
        getSignedUrl(client, new sdk.GetObjectCommand({ ...at(key), ...named }), { expiresIn: PRESIGNED_SECONDS }),
      )
    },

    abandonUploads: async (olderThan) => {
      const { Bucket } = at('')
      const { Uploads = [] } = await orAway(
        client.send(new sdk.ListMultipartUploadsCommand({ Bucket, Prefix: `${location.prefix}sha256/` })),
      )
      const old = Uploads.filter(({ Initiated }) => Initiated !== undefined && Initiated < olderThan)
      for (const { Key, UploadId } of old) {
        await orAway(client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId })))
      }
      return old.length
    },
  }
}
