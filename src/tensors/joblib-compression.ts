import { Decompress } from 'fflate'
import { badRequest } from '../domain/errors.ts'
import { isFflateError } from './inflate.ts'
import { bytesSource, copyOf, joinBytes } from './sources.ts'
import type { ByteSource } from './weight-file.ts'

/** Python's compressions other than zlib and gzip, by their first bytes. */
const OTHERS: readonly (readonly [string, readonly number[]])[] = [
  ['bz2', [0x42, 0x5a, 0x68]],
  ['xz', [0xfd, 0x37, 0x7a, 0x58]],
  ['lzma', [0x5d, 0x00, 0x00]],
  ['lz4', [0x04, 0x22, 0x4d, 0x18]],
]
const MAX_INFLATED = 256 * 1024 * 1024
const STEP = 64 * 1024

const isZlibOrGzip = (head: Uint8Array): boolean =>
  (head[0] === 0x78 && ((head[0] << 8) | head[1]!) % 31 === 0) || (head[0] === 0x1f && head[1] === 0x8b)

/** Inflates chunks of a file; `isWhole` means that they are the whole file. Throws fflate's errors. */
const inflate = (steps: Iterable<Uint8Array>, isWhole: boolean): Uint8Array => {
  const parts: Uint8Array[] = []
  let size = 0
  const stream = new Decompress((chunk) => {
    size += chunk.length
    if (size > MAX_INFLATED)
      throw badRequest(`The file inflates to more than ${MAX_INFLATED} bytes. Save it with compress=0.`)
    parts.push(chunk)
  })
  for (const step of steps) stream.push(step, false)
  if (isWhole) stream.push(new Uint8Array(0), true)
  return joinBytes(parts)
}

function* stepsOf(source: ByteSource): Generator<Uint8Array> {
  for (let at = 0; at < source.size; at += STEP) yield copyOf(source.read(at, Math.min(STEP, source.size - at)))
}

/** Inflates the first bytes of a zlib or gzip file, as joblib writes; null for other files. */
export const startOfCompressed = (head: Uint8Array): Uint8Array | null => {
  if (!isZlibOrGzip(head)) return null
  try {
    return inflate([copyOf(head)], false)
  } catch {
    return null
  }
}

/** Returns the file, inflated if it is zlib or gzip. Throws bad_request for other compressions and for damage. */
export const plainPickle = (source: ByteSource): ByteSource => {
  const head = source.read(0, Math.min(source.size, 4))
  const other = OTHERS.find(([, sign]) => sign.every((byte, at) => head[at] === byte))
  if (other !== undefined)
    throw badRequest(
      `The joblib file is compressed with ${other[0]}. Save it with joblib.dump(model, path, compress=0).`,
    )
  if (!isZlibOrGzip(head)) return source
  try {
    return bytesSource(inflate(stepsOf(source), true))
  } catch (cause) {
    if (!isFflateError(cause)) throw cause
    throw badRequest('The compressed joblib file is damaged. Send the whole file again.')
  }
}
