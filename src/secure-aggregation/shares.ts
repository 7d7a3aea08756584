import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { combine, split } from 'shamir-secret-sharing'
import { badRequest } from '../domain/errors.ts'
import { KEY_BYTES, type RandomBytes } from './secrets.ts'

/** A share: the polynomial's value for each byte of the secret, followed by its position. */
export const SHARE_BYTES = KEY_BYTES + 1
const NONCE_BYTES = 24
const TAG_BYTES = 16
/** A sealed pair: nonce, both shares encrypted, tag. */
export const SEALED_BYTES = NONCE_BYTES + 2 * SHARE_BYTES + TAG_BYTES

/** A device's shares of another device's secrets. It reveals only one of the two. */
export interface SharePair {
  readonly maskingKey: Uint8Array
  readonly selfMask: Uint8Array
}

/** Shamir's scheme over GF(256): any `threshold` of the `count` shares give the secret; fewer reveal nothing about it. */
export const splitSecret = (secret: Uint8Array, count: number, threshold: number): Promise<Uint8Array[]> =>
  split(secret, count, threshold)

/** Reconstructs the secret from exactly `threshold` shares. Wrong shares give a wrong secret: check the result. */
export const combineShares = (shares: readonly Uint8Array[]): Promise<Uint8Array> => combine([...shares])

export interface Route {
  readonly roundId: string
  readonly from: string
  readonly to: string
}

const associatedData = ({ roundId, from, to }: Route): Uint8Array =>
  utf8ToBytes(JSON.stringify(['shares', roundId, from, to]))

/** Encrypts a pair for a peer with XChaCha20-Poly1305, which also authenticates the round and both names. */
export const sealShares = (key: Uint8Array, route: Route, pair: SharePair, random: RandomBytes): Uint8Array => {
  const nonce = random(NONCE_BYTES)
  const plain = concatBytes(pair.maskingKey, pair.selfMask)
  return concatBytes(nonce, xchacha20poly1305(key, nonce, associatedData(route)).encrypt(plain))
}

/** Throws bad_request if the bytes were changed or meant for another round, sender, or receiver. */
export const openShares = (key: Uint8Array, route: Route, sealed: Uint8Array): SharePair => {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  let plain: Uint8Array
  try {
    if (sealed.length !== SEALED_BYTES) throw new Error('length')
    plain = xchacha20poly1305(key, nonce, associatedData(route)).decrypt(sealed.subarray(NONCE_BYTES))
  } catch {
    throw badRequest(
      `The shares from device '${route.from}' for '${route.to}' cannot be decrypted: they were changed on the way, or ` +
        'belong to another round.',
    )
  }
  return { maskingKey: plain.slice(0, SHARE_BYTES), selfMask: plain.slice(SHARE_BYTES) }
}
