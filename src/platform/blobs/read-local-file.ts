import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { BlobRange, Chunks } from './blob-store.ts'
import { DoubleBufferedStream } from './double-buffered-stream.ts'

export const CHUNK = 256 * 1024

const closingOnError = <T>(handle: FileHandle, work: () => Promise<T>): Promise<T> =>
  work().catch(async (error: unknown) => {
    await handle.close()
    throw error
  })

export const inOneChunk = (bytes: Buffer, range: BlobRange | undefined): Readable =>
  new Readable({
    read() {
      this.push(range === undefined ? bytes : bytes.subarray(range.start, range.end + 1))
      this.push(null)
    },
  })

/** Returns a stream of the file at `path`, or of a part of it. `whole` receives the content if it fits in one chunk. */
export const readLocalFile = async (
  path: string,
  range: BlobRange | undefined,
  chunks: Chunks | undefined,
  whole?: (bytes: Buffer) => void,
): Promise<Readable> => {
  const handle = await open(path, 'r')
  const { size } = await closingOnError(handle, () => handle.stat())
  if (size <= CHUNK) {
    const bytes = await handle.readFile().finally(() => handle.close())
    whole?.(bytes)
    return inOneChunk(bytes, range)
  }
  if (chunks !== 'reused') return handle.createReadStream({ highWaterMark: CHUNK, ...range })
  return new DoubleBufferedStream(handle, CHUNK, range ?? { start: 0, end: size - 1 })
}
