import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { badRequest } from '../domain/errors.ts'
import { detectFormat, formatOf } from '../tensors/detect.ts'

const readAt = (descriptor: number, offset: number, length: number): Uint8Array => {
  const bytes = new Uint8Array(length)
  for (let done = 0; done < length; ) {
    const count = readSync(descriptor, bytes, done, length - done, offset + done)
    if (count === 0) throw badRequest('The file is shorter than its announced length.')
    done += count
  }
  return bytes
}

/** Returns the file extension for a weight file's content, because training scripts often rely on it; `.bin` if unknown. */
export const extensionByContent = (path: string): string => {
  const descriptor = openSync(path, 'r')
  try {
    const { size } = fstatSync(descriptor)
    const format = detectFormat({ size, read: (offset, length) => readAt(descriptor, offset, length) })
    return format === null ? '.bin' : `.${formatOf(format).extensions[0]}`
  } finally {
    closeSync(descriptor)
  }
}
