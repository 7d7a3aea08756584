import type { Readable } from 'node:stream'

export interface StoredFile {
  /** Relative to the target's root, with slashes: `files/ab/abcd…`. */
  readonly path: string
  readonly size: number
  readonly modifiedAt: Date
}

/** Where backups are stored: files by path, each complete or absent. */
export interface BackupTarget {
  /** Without passwords, for display. */
  readonly url: string
  /** Null if there is no such file. */
  read(path: string): Promise<Readable | null>
  /** Durable when it returns; may replace a file. If it throws, the previous file is still there. */
  write(path: string, source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void>
  /** All files below a folder; none if it does not exist. */
  list(folder: string): Promise<readonly StoredFile[]>
  remove(path: string): Promise<void>
  /** True if it contains nothing, or only what killed writers have left behind. */
  isEmpty(): Promise<boolean>
  /** Deletes what killed writers have left behind, after a day. */
  sweep(): Promise<void>
}
