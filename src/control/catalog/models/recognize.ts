import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { RecognizedContent } from '../../../domain/model.ts'
import { detectFormat } from '../../../tensors/detect.ts'
import { adviceFor, formatOf, isWeightFormat } from '../../../tensors/formats.ts'

/** What the file at `path` is, by its content; null when it is nothing we know. Reads a few small pieces of it. */
export const recognizeFile = async (path: string): Promise<RecognizedContent | null> => {
  const descriptor = openSync(path, 'r')
  try {
    const format = detectFormat({
      size: fstatSync(descriptor).size,
      read(offset, length) {
        const bytes = new Uint8Array(length)
        for (let done = 0; done < length; ) {
          const count = readSync(descriptor, bytes, done, length - done, offset + done)
          if (count === 0) throw new RangeError(`The file ends before byte ${offset + length}.`)
          done += count
        }
        return bytes
      },
    })
    if (format === null) return null
    const { title, versions, decides } = formatOf(format)
    return { title, versions, decides, readable: isWeightFormat(format), advice: adviceFor(format) }
  } finally {
    closeSync(descriptor)
  }
}
