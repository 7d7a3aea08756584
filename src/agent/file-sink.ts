import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { DownloadSink } from '../sdk/download.ts'

export interface FileSink extends DownloadSink {
  close(): Promise<void>
}

/** Collects a download in a file, going on behind what an earlier run of this program left there. Flat memory. */
export const openFileSink = async (path: string): Promise<FileSink> => {
  const file = await open(path, 'a')
  let size = (await file.stat()).size
  return {
    received: () => size,
    append: async (bytes) => {
      await file.appendFile(bytes)
      size += bytes.length
    },
    reset: async () => {
      await file.truncate(0)
      size = 0
    },
    sha256: async () => {
      const hash = createHash('sha256')
      await pipeline(createReadStream(path), hash)
      return hash.digest('hex')
    },
    close: () => file.close(),
  }
}
