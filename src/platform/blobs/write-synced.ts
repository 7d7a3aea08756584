import { createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { finished, pipeline } from 'node:stream/promises'

/**
 * Writes the source to a new file and syncs it; `chunkBytes` are held in memory. When it throws, a partial file may
 * exist, but nothing writes to it anymore.
 */
export const writeSynced = async (
  path: string,
  source: AsyncGenerator<Uint8Array, void>,
  chunkBytes: number,
): Promise<void> => {
  const options = { flag: 'wx', flush: true, mode: 0o600 } as const
  const beginning: Uint8Array[] = []
  for (let held = 0; held < chunkBytes; ) {
    const { value, done } = await source.next()
    // A small file, as most updates of small devices are: streams would cost more than the writing.
    if (done === true) return writeFile(path, Buffer.concat(beginning), options)
    beginning.push(value)
    held += value.byteLength
  }
  const file = createWriteStream(path, { ...options, flags: options.flag, highWaterMark: chunkBytes })
  try {
    await pipeline(async function* () {
      yield* beginning.splice(0)
      yield* source
    }, file)
  } catch (error) {
    // The file may still be opening: removing it before that has ended would leave it behind.
    if (!file.closed) await finished(file).catch(() => undefined)
    await source.return()
    throw error
  }
}
