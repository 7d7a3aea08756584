const HUNDRED = 100
const TWO_TO_32 = 2 ** 32

const encoder = new TextEncoder()

const rotate = (x: number, by: number): number => (x << by) | (x >>> (32 - by))

/** MurmurHash3_x86_32 (Appleby, public domain) of the text's UTF-8 bytes: an unsigned 32-bit number. */
export const murmur3 = (text: string, seed = 0): number => {
  const bytes = encoder.encode(text)
  const blocks = bytes.length & ~3
  let hash = seed
  for (let at = 0; at < blocks; at += 4) {
    const block = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
    hash ^= Math.imul(rotate(Math.imul(block, 0xcc9e2d51), 15), 0x1b873593)
    hash = (Math.imul(rotate(hash, 13), 5) + 0xe6546b64) | 0
  }
  let tail = 0
  for (let at = bytes.length - 1; at >= blocks; at--) tail = (tail << 8) | bytes[at]!
  if (bytes.length > blocks) hash ^= Math.imul(rotate(Math.imul(tail, 0xcc9e2d51), 15), 0x1b873593)
  hash ^= bytes.length
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/**
 * Where a device stands in a plan, in [0, 100): the same for ever, uniform over devices, and independent between plans. A
 * device is inside a plan at p % when its bucket is below p, so raising p never moves a device out.
 */
export const bucketOf = (deviceId: string, planId: string): number =>
  (murmur3(`${planId}:${deviceId}`) / TWO_TO_32) * HUNDRED
