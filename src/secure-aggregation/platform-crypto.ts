import { createCipheriv, createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from 'node:crypto'
import type { ExpandMask } from './mask.ts'
import type { KeyAgreement } from './secrets.ts'

// OpenSSL's equivalents, about ten times as fast. For Node only; all other files of this folder also run in browsers.

const WORDS_PER_BLOCK = 16
const ZEROS = new Uint8Array(64 * 1024)

/** Gives the same words as `expandMask`. */
export const platformExpandMask: ExpandMask = (key, offsetWords, words) => {
  const skipped = offsetWords % WORDS_PER_BLOCK
  // OpenSSL's 16-byte IV is RFC 8439's block counter, little-endian, followed by its nonce.
  const start = new DataView(new ArrayBuffer(16))
  start.setUint32(0, (offsetWords - skipped) / WORDS_PER_BLOCK, true)
  const cipher = createCipheriv('chacha20', key, new Uint8Array(start.buffer))
  if (skipped > 0) cipher.update(ZEROS.subarray(0, 4 * skipped))
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
  for (let at = 0; at < bytes.length; at += ZEROS.length) {
    bytes.set(cipher.update(ZEROS.subarray(0, Math.min(ZEROS.length, bytes.length - at))), at)
  }
}

/** What precedes the 32 bytes of an X25519 key in DER (RFC 8410, sections 4 and 7). */
const PRIVATE_KEY = Buffer.from('302e020100300506032b656e04220420', 'hex')
const PUBLIC_KEY = Buffer.from('302a300506032b656e032100', 'hex')

/** Keys that were read, by their bytes: reading one takes longer than agreeing on a secret. */
const keyReader = (read: (bytes: Uint8Array) => KeyObject) => {
  const known = new Map<string, KeyObject>()
  return (bytes: Uint8Array): KeyObject => {
    const name = Buffer.from(bytes).toString('hex')
    const key = known.get(name) ?? read(bytes)
    known.set(name, key)
    return key
  }
}

/** Gives the same secrets as `portableAgreement`, and keeps the keys in memory as long as it exists. */
export const createPlatformAgreement = (): KeyAgreement => {
  const privateKeyOf = keyReader((bytes) =>
    createPrivateKey({ key: Buffer.concat([PRIVATE_KEY, bytes]), format: 'der', type: 'pkcs8' }),
  )
  const publicKeyOf = keyReader((bytes) =>
    createPublicKey({ key: Buffer.concat([PUBLIC_KEY, bytes]), format: 'der', type: 'spki' }),
  )
  return (secretKey, publicKey) =>
    diffieHellman({ privateKey: privateKeyOf(secretKey), publicKey: publicKeyOf(publicKey) })
}
