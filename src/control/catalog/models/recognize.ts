import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { RecognizedContent } from '../../../domain/model.ts'
import { detectFormat, formatOf } from '../../../tensors/detect.ts'
import { whyOpaque } from '../../../tensors/read-weights.ts'

/** Returns the format of the file at `path` by its content, or null if unknown. Reads only a few small pieces. */
export const recognizeFile = async (path: string): Promise<RecognizedContent | null> => {
  const descriptor = openSync(path, 'r')
  try {
    const source = {
      size: fstatSync(descriptor).size,
      read(offset: number, length: number) {
        const bytes = new Uint8Array(length)
        for (let done = 0; done < length; ) {
          const count = readSync(descriptor, bytes, done, length - done, offset + done)
          if (count === 0) throw new RangeError(`The file ends before byte ${offset + length}.`)
          done += count
        }
        return bytes
      },
    }
    const format = detectFormat(source)
    if (format === null) return null
    const { title, versions, decides } = formatOf(format)
    const advice = whyOpaque(source, format)
    return { title, versions, decides, readable: advice === null, advice: advice ?? '' }
  } finally {
    closeSync(descriptor)
  }
}
