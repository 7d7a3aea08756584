import type { Readable } from 'node:stream'
import { ServiceError } from '../../domain/errors.ts'

/** A complete, hashed file that is not stored yet. Call `keep` or `discard`; a kept file can no longer be discarded. */
export interface StagedBlob {
  /** 64 lowercase hex digits. */
  readonly sha256: string
  readonly size: number
  /** The temporary file, for readers that must inspect it before deciding. */
  readonly path: string
  /** Renames into place (atomic, durable). Keeping a file that is already stored is harmless. */
  keep(): Promise<void>
  discard(): Promise<void>
}

/** First and last byte, both inclusive. */
export interface BlobRange {
  readonly start: number
  readonly end: number
}

/** Returns the path of a local file with this hash. Throws not_found if it no longer exists. */
export type PathOf = (sha256: string) => Promise<string>

export type Chunks = 'kept' | 'reused'

/** Stored weight files, addressed by their SHA-256. One interface for a local folder and for S3. */
export interface BlobStore {
  /** Streams `source` to a temporary file and hashes it. Throws bad_request if it exceeds `maxBytes`. */
  stage(source: AsyncIterable<Uint8Array>, limits: { readonly maxBytes: number }): Promise<StagedBlob>
  /** Returns a path in the staging area for a file that a worker will write; pass it to `adopt` when written. */
  scratchPath(): Promise<string>
  /** Hashes a finished scratch file, fsyncs it and stages it. */
  adopt(scratchPath: string): Promise<StagedBlob>
  /**
   * Returns a stream of bytes [start, end] (inclusive; by default the whole file). Throws not_found if the file no longer
   * exists. Buffers of `reused` chunks are overwritten once written: use only with `pipe`, to a destination that calls back
   * when it has written a chunk; may read from a local copy. Default: `kept`, read from the storage.
   */
  read(sha256: string, range?: BlobRange, chunks?: Chunks): Promise<Readable>
  /** Runs work that needs files with paths, for random access. Files from `pathOf` are kept until the work has ended. */
  withPaths<Result>(work: (pathOf: PathOf) => Promise<Result>): Promise<Result>
  has(sha256: string): Promise<boolean>
  remove(sha256: string): Promise<void>
  /** Returns an address where anyone can fetch the file for an hour, without this service; absent if unsupported. */
  presign?(sha256: string, fileName: string): Promise<string>
  /** Deletes staging files of dead processes, and those older than `olderThan` that this process is not using. */
  sweep(olderThan: Date): Promise<number>
  /** Deletes this process's copies of files that others removed: `unstored` returns those of the hashes that are not stored. */
  dropCopies(unstored: (hashes: readonly string[]) => Promise<readonly string[]>): Promise<void>
  /** Deletes everything that only this process uses. */
  close(): Promise<void>
}

const SHA256 = /^[0-9a-f]{64}$/

export const requireSha256 = (sha256: string): string => {
  if (!SHA256.test(sha256)) throw new Error(`not a sha256 in hex: ${JSON.stringify(sha256)}`)
  return sha256
}

export const gone = (sha256: string, cause: unknown): ServiceError =>
  new ServiceError('not_found', `The file sha256:${sha256} is no longer in storage.`, { cause })

/** The storage path shown in the API: `sha256/ab/abcd…`. */
export const blobPath = (sha256: string): string => `sha256/${sha256.slice(0, 2)}/${sha256}`
