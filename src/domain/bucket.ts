const HUNDRED = 100
const TWO_TO_32 = 2 ** 32

const encoder = new TextEncoder()

const rotate = (x: number, by: number): number => (x << by) | (x >>> (32 - by))

/** Mixes one block of four bytes, least significant first, into the hash. */
const mix = (hash: number, block: number): number => {
  const mixed = hash ^ Math.imul(rotate(Math.imul(block, 0xcc9e2d51), 15), 0x1b873593)
  return (Math.imul(rotate(mixed, 13), 5) + 0xe6546b64) | 0
}

/** Mixes in the last bytes (fewer than four; 0 for none) and the length in bytes, then applies the final avalanche. */
const finish = (hash: number, tail: number, length: number): number => {
  let last = hash ^ Math.imul(rotate(Math.imul(tail, 0xcc9e2d51), 15), 0x1b873593) ^ length
  last = Math.imul(last ^ (last >>> 16), 0x85ebca6b)
  last = Math.imul(last ^ (last >>> 13), 0xc2b2ae35)
  return (last ^ (last >>> 16)) >>> 0
}

/** MurmurHash3_x86_32 (Appleby, public domain) of the text's UTF-8 bytes: an unsigned 32-bit number. */
export const murmur3 = (text: string, seed = 0): number => {
  const bytes = encoder.encode(text)
  const blocks = bytes.length & ~3
  let hash = seed
  for (let at = 0; at < blocks; at += 4) {
    hash = mix(hash, bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24))
  }
  let tail = 0
  for (let at = bytes.length - 1; at >= blocks; at--) tail = (tail << 8) | bytes[at]!
  return finish(hash, tail, bytes.length)
}

/**
 * Returns a device's fixed position in a plan, in [0, 100): uniform over devices, and independent between plans. A plan at p %
 * includes the device if its bucket is below p, so raising p never removes a device.
 */
export const bucketOf = (deviceId: string, planId: string): number =>
  (murmur3(`${planId}:${deviceId}`) / TWO_TO_32) * HUNDRED

/** `bucketOf` for many devices of one plan: the plan's part of the hash is computed only once. */
export const bucketsIn = (planId: string): ((deviceId: string) => number) => {
  const start = encoder.encode(`${planId}:`)
  let atDevice = 0
  let carried = 0
  let carriedBits = 0
  for (const byte of start) {
    carried |= byte << carriedBits
    carriedBits = (carriedBits + 8) & 31
    if (carriedBits > 0) continue
    atDevice = mix(atDevice, carried)
    carried = 0
  }
  return (deviceId) => {
    let hash = atDevice
    let block = carried
    let bits = carriedBits
    for (let at = 0; at < deviceId.length; at++) {
      const code = deviceId.charCodeAt(at)
      // Non-ASCII characters take more than one byte.
      if (code > 127) return bucketOf(deviceId, planId)
      block |= code << bits
      bits = (bits + 8) & 31
      if (bits > 0) continue
      hash = mix(hash, block)
      block = 0
    }
    return (finish(hash, block, start.length + deviceId.length) / TWO_TO_32) * HUNDRED
  }
}
