import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { badRequest } from '../domain/errors.ts'
import { KEY_BYTES } from './secrets.ts'
import { SEALED_BYTES, SHARE_BYTES } from './shares.ts'

// The messages. Bytes are lowercase hex, so that messages are plain data that can be sent, stored, and compared.

/** Step 1, to all: two X25519 public keys, one for encrypting shares for the device, one for agreeing on masks. */
export interface KeysMessage {
  readonly encryptionKey: string
  readonly maskingKey: string
}

/** Step 2: an encrypted pair of shares for every other device of the roster, and the seed's commitment for the service. */
export interface SharesMessage {
  readonly seedCommitment: string
  readonly sealed: Readonly<Record<string, string>>
}

/** Step 4: one share per device of step 2: of the self mask's seed if it delivered, otherwise of its masking key. */
export interface UnmaskMessage {
  readonly selfMasks: Readonly<Record<string, string>>
  readonly maskingKeys: Readonly<Record<string, string>>
}

/** What the service sends after step 1: the participating devices and their keys. */
export type Roster = Readonly<Record<string, KeysMessage>>

export const compareIds = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

export const toHex = (bytes: Uint8Array): string => bytesToHex(bytes)

/** Returns the bytes of `hex`. Throws bad_request naming `what` if the length or format is wrong. */
export const fromHex = (hex: unknown, length: number, what: string): Uint8Array => {
  if (typeof hex !== 'string' || hex.length !== 2 * length || !/^[0-9a-f]*$/.test(hex)) {
    throw badRequest(`${what} must be ${length} bytes in lowercase hex.`)
  }
  return hexToBytes(hex)
}

/** Throws bad_request unless both keys have the right length and differ. */
export const requireKeys = (device: string, keys: KeysMessage): void => {
  fromHex(keys.encryptionKey, KEY_BYTES, `encryption_key of '${device}'`)
  fromHex(keys.maskingKey, KEY_BYTES, `masking_key of '${device}'`)
  if (keys.encryptionKey === keys.maskingKey) {
    throw badRequest(`encryption_key and masking_key of '${device}' are the same; each needs a key of its own.`)
  }
}

export const sealedOf = (hex: unknown, device: string): Uint8Array =>
  fromHex(hex, SEALED_BYTES, `The encrypted shares for '${device}'`)

export const shareOf = (hex: unknown, device: string): Uint8Array => {
  const share = fromHex(hex, SHARE_BYTES, `The share of '${device}'`)
  if (share[SHARE_BYTES - 1] === 0) {
    throw badRequest(`The share of '${device}' claims place 0, where the secret itself lies.`)
  }
  return share
}

/** Throws bad_request unless `actual` contains exactly the names in `expected`, each once, in any order. */
export const requireNames = (expected: readonly string[], actual: readonly string[], what: string): void => {
  const given = new Set(actual)
  const missing = expected.find((name) => !given.has(name))
  if (missing !== undefined) throw badRequest(`${what} lacks device '${missing}'.`)
  const known = new Set(expected)
  const extra = actual.find((name) => !known.has(name))
  if (extra !== undefined) throw badRequest(`${what} names device '${extra}', which has no part in it.`)
  if (actual.length !== given.size) throw badRequest(`${what} names a device twice.`)
}
