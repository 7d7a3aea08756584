import { startsLikeNpy } from './npy.ts'
import { startsLikeOnnx } from './onnx-sign.ts'
import { startsLikeSafetensors } from './safetensors.ts'
import { copyOf, viewOf } from './sources.ts'
import { startsLikeTorchLegacy } from './torch-legacy.ts'
import { findTorchPickle } from './torch-zip.ts'
import type { ByteSource, WeightFormat } from './weight-file.ts'
import { readZip, startsLikeZip } from './zip.ts'

/** Containers we recognise; the last four cannot be aggregated. */
export type DetectedFormat = Exclude<WeightFormat, 'raw'> | 'onnx' | 'hdf5' | 'gguf' | 'pickle'

const HEAD = 4096

const startsWith = (head: Uint8Array, sign: string): boolean =>
  head.length >= sign.length && [...sign].every((char, i) => head[i] === char.charCodeAt(0))

/** Opcodes that can follow the protocol of a pickle that holds something: } ] ( ) c X K M J G N T U, true, false, long. */
const FIRST_OPCODES = new Set([...'}](c)XKMJGNTU'].map((char) => char.charCodeAt(0)).concat(0x88, 0x89, 0x8a, 0x8c))

const startsLikePickle = (head: Uint8Array, size: number): boolean => {
  if (head.length < 4 || head[0] !== 0x80) return false
  const protocol = head[1]!
  if (protocol === 2 || protocol === 3) return FIRST_OPCODES.has(head[2]!)
  if (protocol !== 4 && protocol !== 5) return false
  // Frames are left out of pickles that are only a few bytes long.
  if (head[2] !== 0x95) return head.length < 16 && FIRST_OPCODES.has(head[2]!)
  return head.length >= 11 && viewOf(head).getBigUint64(3, true) < BigInt(size) * 2n + 1024n
}

const firstMemberName = (head: Uint8Array): string => {
  if (head.length < 30 || head[3] !== 4) return ''
  return new TextDecoder().decode(head.subarray(30, 30 + viewOf(head).getUint16(26, true)))
}

const memberNames = (source: ByteSource, head: Uint8Array): readonly { readonly name: string }[] => {
  try {
    return readZip(source)
  } catch {
    // A truncated archive has lost its directory; its first member still tells what it was.
    return [{ name: firstMemberName(head) }]
  }
}

const detectZip = (source: ByteSource, head: Uint8Array): 'torch-zip' | 'npz' | null => {
  const names = memberNames(source, head)
  if (findTorchPickle(names) !== undefined) return 'torch-zip'
  return names.some(({ name }) => name.endsWith('.npy')) ? 'npz' : null
}

/**
 * Tells a file's container by its content alone; null is a container we do not know, or none (perhaps a raw vector).
 * Never throws for what the bytes are.
 */
export const detectFormat = (source: ByteSource): DetectedFormat | null => {
  const head = copyOf(source.read(0, Math.min(HEAD, source.size)))
  if (startsLikeZip(head)) return detectZip(source, head)
  if (startsLikeNpy(head)) return 'npy'
  if (startsLikeTorchLegacy(head)) return 'torch-legacy'
  if (startsWith(head, '\x89HDF\r\n\x1a\n')) return 'hdf5'
  if (startsWith(head, 'GGUF')) return 'gguf'
  if (startsLikePickle(head, source.size)) return 'pickle'
  if (startsLikeSafetensors(head, source.size)) return 'safetensors'
  return startsLikeOnnx(head) ? 'onnx' : null
}
