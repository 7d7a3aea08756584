import type { Readable } from 'node:stream'
import type { BlobRange } from './blob-store.ts'
import type { FetchedFile } from './fetch-file.ts'

export interface ListedObject {
  readonly path: string
  readonly size: number
  readonly modifiedAt: Date
}

/** Objects by their keys, in a bucket below a prefix. Whatever cannot be reached is `unavailable`, with Retry-After. */
export interface ObjectStore {
  /** @throws Error saying what an operator has to mend; nothing where the store is merely away */
  check(): Promise<void>
  put(key: string, bytes: Uint8Array): Promise<void>
  /** In parts where it is large. When it has returned, the object is there whole. */
  putFile(key: string, file: { readonly path: string; readonly size: number }): Promise<void>
  /** In parts, while it is read; when the source throws, there is no such object, or the one that was there before. */
  putStream(key: string, source: Readable): Promise<void>
  /** All objects whose keys begin so. For backups: no request of a client lists. */
  list(beginning: string): Promise<readonly ListedObject[]>
  /**
   * The bytes of an object, or a part of them; a connection that breaks is continued where it broke. Nothing is asked for
   * before the first byte is. Throws not_found.
   */
  read(key: string, range?: BlobRange): AsyncGenerator<Uint8Array, void>
  /** The whole object in a new file; whoever needs it checks the hash. Throws not_found, and the disk's errors. */
  fetchFile(key: string, path: string): Promise<FetchedFile>
  has(key: string): Promise<boolean>
  /** Harmless where there is none. */
  remove(key: string): Promise<void>
  /** An address under which anyone can fetch the object for a while, under this name. */
  presign(key: string, fileName: string): Promise<string>
  /** Ends uploads in parts that a process which died has left. */
  abandonUploads(olderThan: Date): Promise<number>
}
