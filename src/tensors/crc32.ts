/** The CRC-32 used by zip (reflected, polynomial 0xedb88320) over `bytes`, continuing from `seed`. Node's zlib.crc32 fits. */
export type Crc32 = (bytes: Uint8Array, seed: number) => number

// Slicing-by-8: table k holds the checksum of a byte followed by k zeros. Source: Kounavis and Berry, 2008.
const TABLES = Array.from({ length: 8 }, () => new Uint32Array(256))
for (let byte = 0; byte < 256; byte++) {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  TABLES[0]![byte] = value
}
for (let k = 1; k < 8; k++)
  for (let byte = 0; byte < 256; byte++) {
    const before = TABLES[k - 1]![byte]!
    TABLES[k]![byte] = (before >>> 8) ^ TABLES[0]![before & 0xff]!
  }
type Eight<T> = [T, T, T, T, T, T, T, T]
const [T0, T1, T2, T3, T4, T5, T6, T7] = TABLES as Eight<Uint32Array>

/** CRC-32 in plain JavaScript, for browsers. */
export const crc32: Crc32 = (bytes, seed) => {
  let crc = ~seed
  let at = 0
  for (const stop = bytes.length - 7; at < stop; at += 8) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
    crc =
      T7[crc & 0xff]! ^
      T6[(crc >>> 8) & 0xff]! ^
      T5[(crc >>> 16) & 0xff]! ^
      T4[crc >>> 24]! ^
      T3[bytes[at + 4]!]! ^
      T2[bytes[at + 5]!]! ^
      T1[bytes[at + 6]!]! ^
      T0[bytes[at + 7]!]!
  }
  for (; at < bytes.length; at++) crc = (crc >>> 8) ^ T0[(crc ^ bytes[at]!) & 0xff]!
  return ~crc >>> 0
}
