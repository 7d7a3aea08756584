import type { Readable } from 'node:stream'
import { ServiceError } from '../../domain/errors.ts'

/** A complete, hashed file that is not stored yet. Call `keep` or `discard`; a kept file can no longer be discarded. */
export interface StagedBlob {
  /** 64 lower-case hex digits. */
  readonly sha256: string
  readonly size: number
  /** The temporary file, for readers that must look inside before deciding. */
  readonly path: string
  /** Renames into place (atomic, durable). Keeping bytes that are already stored is harmless. */
  keep(): Promise<void>
  discard(): Promise<void>
}

export interface BlobRange {
  readonly start: number
  readonly end: number
}

/** The path of a local file with the bytes of this hash. Throws not_found when they are gone. */
export type PathOf = (sha256: string) => Promise<string>

export type Chunks = 'kept' | 'reused'

/** Weight files at rest, addressed by the sha256 of their bytes. One interface for a local folder and for S3. */
export interface BlobStore {
  /** Streams `source` to a temporary file, hashing on the way. More than `maxBytes` is refused with bad_request. */
  stage(source: AsyncIterable<Uint8Array>, limits: { readonly maxBytes: number }): Promise<StagedBlob>
  /** A path in the staging area for a file that a worker will write; pass it to `adopt` when written. */
  scratchPath(): Promise<string>
  /** Hashes a finished scratch file, fsyncs it and stages it. */
  adopt(scratchPath: string): Promise<StagedBlob>
  /**
   * A stream of bytes [start, end] (inclusive; the whole file when absent). Throws not_found when it is gone.
   * The buffers of `reused` chunks are overwritten after they were written: only for `pipe`, into a destination that calls
   * back when it has written a chunk; they may come from a local copy. Default: `kept`, from where the file is stored.
   */
  read(sha256: string, range?: BlobRange, chunks?: Chunks): Promise<Readable>
  /** Runs work that needs files with paths, for random access. Files from `pathOf` stay until the work has ended. */
  withPaths<Result>(work: (pathOf: PathOf) => Promise<Result>): Promise<Result>
  has(sha256: string): Promise<boolean>
  remove(sha256: string): Promise<void>
  /** An address under which anyone can fetch the file for an hour, without this service; absent where there is none. */
  presign?(sha256: string, fileName: string): Promise<string>
  /** Deletes staging files older than `olderThan`, except those that this process is using. */
  sweep(olderThan: Date): Promise<number>
}

const SHA256 = /^[0-9a-f]{64}$/

export const requireSha256 = (sha256: string): string => {
  if (!SHA256.test(sha256)) throw new Error(`not a sha256 in hex: ${JSON.stringify(sha256)}`)
  return sha256
}

export const gone = (sha256: string, cause: unknown): ServiceError =>
  new ServiceError('not_found', `The file sha256:${sha256} is no longer in storage.`, { cause })

/** The storage path shown on the wire: `sha256/ab/abcd…`. */
export const blobPath = (sha256: string): string => `sha256/${sha256.slice(0, 2)}/${sha256}`
