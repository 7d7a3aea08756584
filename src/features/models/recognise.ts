import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Container } from '../../domain/model.ts'
import { detectFormat } from '../../tensors/detect.ts'

/** What the file at `path` is, by its content; null when it is nothing we know. Reads a few small pieces of it. */
export const recogniseFile = async (path: string): Promise<Container | null> => {
  const descriptor = openSync(path, 'r')
  try {
    return detectFormat({
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
  } finally {
    closeSync(descriptor)
  }
}
