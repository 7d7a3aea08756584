/** Types of metadata values with their numbers in GGUF files (gguf.h, enum gguf_type). */
const NUMBERS = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8 } as const

type ItemType = keyof typeof NUMBERS

export type MetadataValue =
  | readonly [ItemType, number | boolean | string]
  | readonly ['array', ItemType, readonly (number | string | boolean)[]]

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}

const text = (value: string): Buffer => {
  const bytes = Buffer.alloc(8 + Buffer.byteLength(value))
  bytes.writeBigUInt64LE(BigInt(bytes.length - 8))
  bytes.write(value, 8)
  return bytes
}

const item = (type: ItemType, value: number | boolean | string): Buffer => {
  switch (type) {
    case 'string':
      return text(String(value))
    case 'bool':
      return Buffer.from([Number(value)])
    case 'u32':
    case 'i32':
      return u32(Number(value))
    case 'f32': {
      const bytes = Buffer.alloc(4)
      bytes.writeFloatLE(Number(value))
      return bytes
    }
  }
}

/** Encodes a metadata key and its value as in a GGUF file. */
export const metadataBytes = (key: string, value: MetadataValue): Buffer => {
  if (value[0] !== 'array') return Buffer.concat([text(key), u32(NUMBERS[value[0]]), item(value[0], value[1])])
  const [, type, items] = value
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(items.length))
  return Buffer.concat([text(key), u32(9), u32(NUMBERS[type]), length, ...items.map((one) => item(type, one))])
}
