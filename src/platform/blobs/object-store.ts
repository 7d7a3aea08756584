import type { Readable } from 'node:stream'
import type { BlobRange } from './blob-store.ts'
import type { FetchedFile } from './fetch-file.ts'

export interface ListedObject {
  readonly path: string
  readonly size: number
  readonly modifiedAt: Date
}

/** Objects by key, below a prefix in a bucket. Throws `unavailable`, with Retry-After, if the store is unreachable. */
export interface ObjectStore {
  /** @throws Error naming what an operator must fix; not if the store is only temporarily unreachable */
  check(): Promise<void>
  put(key: string, bytes: Uint8Array): Promise<void>
  /** Uploads a large object in parts. When it returns, the object is complete. */
  putFile(key: string, file: { readonly path: string; readonly size: number }): Promise<void>
  /** Uploads in parts while the source is read; if the source throws, the previous object, if any, is unchanged. */
  putStream(key: string, source: Readable): Promise<void>
  /** Returns all objects whose keys have this prefix. For backups only: client requests never list. */
  list(beginning: string): Promise<readonly ListedObject[]>
  /**
   * Returns the bytes of an object, or a part of them, resuming after a broken connection. Sends no request until the first
   * byte is requested. Throws not_found.
   */
  read(key: string, range?: BlobRange): AsyncGenerator<Uint8Array, void>
  /** Downloads the whole object to a new file; the caller checks the hash. Throws not_found, and errors of the disk. */
  fetchFile(key: string, path: string): Promise<FetchedFile>
  has(key: string): Promise<boolean>
  /** Does nothing if there is no such object. */
  remove(key: string): Promise<void>
  /** Returns an address where anyone can fetch the object for a while, under this file name. */
  presign(key: string, fileName: string): Promise<string>
  /** Aborts multipart uploads left by dead processes. */
  abandonUploads(olderThan: Date): Promise<number>
}
