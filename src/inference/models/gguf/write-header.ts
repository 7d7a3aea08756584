import type { GgufTensor } from './container.ts'

/** Returns the first bytes of a GGUF file of version 3, before its metadata. */
export const startBytes = (tensors: number, entries: number): Buffer => {
  const bytes = Buffer.alloc(24)
  bytes.write('GGUF', 'latin1')
  bytes.writeUInt32LE(3, 4)
  bytes.writeBigUInt64LE(BigInt(tensors), 8)
  bytes.writeBigUInt64LE(BigInt(entries), 16)
  return bytes
}

/** Returns one entry of the tensor list, which follows the metadata. `offset` is relative to the start of the data. */
export const tensorBytes = (
  { name, shape, typeNumber }: Pick<GgufTensor, 'name' | 'shape' | 'typeNumber'>,
  offset: number,
): Buffer => {
  const text = Buffer.from(name, 'utf8')
  const bytes = Buffer.alloc(8 + text.length + 4 + 8 * shape.length + 4 + 8)
  let at = bytes.writeBigUInt64LE(BigInt(text.length))
  at += text.copy(bytes, at)
  at = bytes.writeUInt32LE(shape.length, at)
  for (const size of shape) at = bytes.writeBigUInt64LE(BigInt(size), at)
  at = bytes.writeUInt32LE(typeNumber, at)
  bytes.writeBigUInt64LE(BigInt(offset), at)
  return bytes
}
