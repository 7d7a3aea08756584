import type { ByteSource } from '../../tensors/weight-file.ts'

const HEAD = 64

/** Compressions of joblib that cannot be read, with their first bytes. */
const COMPRESSIONS: readonly (readonly [string, string])[] = [
  ['bz2', 'BZh'],
  ['xz', '\xfd7zXZ'],
  ['lzma', ']\0\0'],
  ['lz4', '\x04"M\x18'],
]

/** In protocols 0 and 1, the pickle of an object begins with the name of the function that creates it. */
const OLD_PICKLE = /^c(copy_?reg|numpy|sklearn|joblib)[\w.]*\n\w+\n/

/** Names the unsupported format of a saved model and how to save it instead; null for other files. */
export const unreadableModel = (source: ByteSource): string | null => {
  const head = String.fromCharCode(...source.read(0, Math.min(HEAD, source.size)))
  if (OLD_PICKLE.test(head))
    return 'a pickle of protocol 0 or 1. Save the model with protocol 2 or higher: pickle.dump(model, file, protocol=4).'
  const found = COMPRESSIONS.find(([, start]) => head.startsWith(start))
  if (found === undefined) return null
  return `compressed with ${found[0]}. Save the model with zlib instead: joblib.dump(model, path, compress=("zlib", 3)).`
}
