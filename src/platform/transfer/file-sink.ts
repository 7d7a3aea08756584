import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { addPathToError } from '../files/durable-file.ts'
import type { Digest } from './remote-file.ts'
import type { Sink } from './resume-download.ts'

export interface FileSink extends Sink {
  /** Hex digest of everything received. */
  sha256(): Promise<string>
  sync(): Promise<void>
  close(): Promise<void>
}

/** Returns the digest of a local file. Git identifies a blob by the SHA-1 of its length and its bytes. */
export const digestOf = async (path: string, algorithm: Digest['algorithm']): Promise<string> => {
  const hash = createHash(algorithm === 'sha256' ? 'sha256' : 'sha1')
  if (algorithm === 'git-blob') hash.update(`blob ${(await stat(path)).size}\0`)
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

/** Collects a download in a file, resuming what an earlier run left there. Uses constant memory. */
export const openFileSink = async (path: string): Promise<FileSink> => {
  const file = await open(path, 'a')
  let size = (await file.stat()).size
  return {
    received: () => size,
    append: async (bytes) => {
      await file.appendFile(bytes).catch(addPathToError(path))
      size += bytes.length
    },
    reset: async () => {
      await file.truncate(0)
      size = 0
    },
    sha256: () => digestOf(path, 'sha256'),
    sync: () => file.sync().catch(addPathToError(path)),
    close: () => file.close(),
  }
}
