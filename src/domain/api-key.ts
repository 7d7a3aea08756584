const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const PREFIX = 'sk_live_'
const RANDOM_CHARS = 26
const CHECK_CHARS = 6

/** How many characters of a key may be shown after its creation: enough to recognize it, useless to an attacker. */
export const SHOWN_CHARS = PREFIX.length + 6

/**
 * `sk_live_` + 26 random base62 characters + a 6-character CRC-32 of the preceding characters, so that typos and leaked keys
 * are recognized without calling the service. `randomBytes` must come from a cryptographic source; 26 characters carry 154
 * bits.
 */
export const composeKey = (randomBytes: (count: number) => Uint8Array): string => {
  let body = ''
  while (body.length < RANDOM_CHARS) {
    for (const byte of randomBytes(RANDOM_CHARS)) {
      // 248 = 4 x 62: larger bytes are discarded so that every character is equally likely.
      if (byte < 248 && body.length < RANDOM_CHARS) body += ALPHABET[byte % 62]
    }
  }
  return PREFIX + body + checkOf(PREFIX + body)
}

/** True if `text` has the format of a key and its check characters are correct. The key may still be unknown. */
export const isWellFormedKey = (text: string): boolean =>
  text.length === PREFIX.length + RANDOM_CHARS + CHECK_CHARS &&
  /^sk_live_[0-9A-Za-z]{32}$/.test(text) &&
  text.slice(-CHECK_CHARS) === checkOf(text.slice(0, -CHECK_CHARS))

const checkOf = (text: string): string => {
  let rest = crc32(text)
  let check = ''
  for (let digit = 0; digit < CHECK_CHARS; digit++) {
    check = ALPHABET[rest % 62]! + check
    rest = Math.floor(rest / 62)
  }
  return check
}

/** CRC-32 (IEEE 802.3, reflected 0xEDB88320) of ASCII text, as an unsigned number. */
const crc32 = (text: string): number => {
  let crc = 0xffffffff
  for (let index = 0; index < text.length; index++) {
    crc ^= text.charCodeAt(index)
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}
