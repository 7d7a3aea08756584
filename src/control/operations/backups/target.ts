import type { Readable } from 'node:stream'

export interface StoredFile {
  /** From the target's root, with slashes: `files/ab/abcd…`. */
  readonly path: string
  readonly size: number
  readonly modifiedAt: Date
}

/** Where backups are kept: files by path, each whole or not there. */
export interface BackupTarget {
  /** Without passwords, for people. */
  readonly url: string
  /** Null when there is no such file. */
  read(path: string): Promise<Readable | null>
  /** Durable when it returns; over an existing file too. When it throws, what was there before is there. */
  write(path: string, source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void>
  /** All files below a folder; none when it is not there. */
  list(folder: string): Promise<readonly StoredFile[]>
  remove(path: string): Promise<void>
  /** Whether there is nothing in it, or only what a killed writer has left behind. */
  isEmpty(): Promise<boolean>
  /** Deletes what killed writers have left behind. */
  sweep(): Promise<void>
}
