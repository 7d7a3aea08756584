import { randomBytes } from '@noble/ciphers/utils.js'
import { x25519 } from '@noble/curves/ed25519.js'
import { hkdf } from '@noble/hashes/hkdf.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { badRequest } from '../domain/errors.ts'
import type { MaskStream } from './mask.ts'

export const KEY_BYTES = 32

/** Where random bytes come from: the platform's cryptographic source, except in tests with known answers. */
export type RandomBytes = (length: number) => Uint8Array
export const systemRandom: RandomBytes = randomBytes

export const publicKeyOf = (secretKey: Uint8Array): Uint8Array => x25519.getPublicKey(secretKey)

/**
 * 32 bytes that are good for one purpose only: HKDF-SHA256 (RFC 5869) with the round's id as salt. The info is the
 * purpose and the devices concerned, each with its length before it, so that no two lists can look alike.
 */
const derive = (secret: Uint8Array, roundId: string, purpose: string, devices: readonly string[]): Uint8Array => {
  const info = [`tributary secure aggregation v1: ${purpose}`, ...devices].flatMap((part) => {
    const bytes = utf8ToBytes(part)
    return [new Uint8Array([bytes.length >> 8, bytes.length & 255]), bytes]
  })
  return hkdf(sha256, secret, utf8ToBytes(roundId), concatBytes(...info), KEY_BYTES)
}

const agree = (secretKey: Uint8Array, publicKey: Uint8Array, peer: string): Uint8Array => {
  try {
    return x25519.getSharedSecret(secretKey, publicKey)
  } catch {
    // Points of small order give a shared secret that everybody knows (RFC 7748, section 6.1).
    throw badRequest(`The public key of device '${peer}' is not valid for key agreement.`)
  }
}

/** Throws bad_request where no secret can be agreed on with a public key. The peers would otherwise find out, and leave. */
export const requireUsable = (publicKey: Uint8Array, device: string): void => {
  agree(new Uint8Array(KEY_BYTES).fill(1), publicKey, device)
}

/** The key under which `from` encrypts shares for `to`; both can compute it, and nobody else. */
export const shareKey = (
  { roundId, from, to }: { readonly roundId: string; readonly from: string; readonly to: string },
  ours: { readonly device: string; readonly secretKey: Uint8Array; readonly theirPublicKey: Uint8Array },
): Uint8Array => {
  const peer = ours.device === from ? to : from
  return derive(agree(ours.secretKey, ours.theirPublicKey, peer), roundId, 'share encryption', [from, to])
}

/**
 * The mask between two devices, as it enters the vector of `device`: the one with the smaller name adds it, the other
 * takes it away (Bonawitz et al. 2017, section 4.0.1), so that the sum of both has none.
 */
export const pairMask = (
  roundId: string,
  device: string,
  secretKey: Uint8Array,
  peer: string,
  peerPublicKey: Uint8Array,
): MaskStream => {
  const pair = device < peer ? [device, peer] : [peer, device]
  return {
    key: derive(agree(secretKey, peerPublicKey, peer), roundId, 'pairwise mask', pair),
    sign: device < peer ? 1 : -1,
  }
}

/** The mask that a device adds for itself, so that late arrival of its vector does not uncover it (section 4.0.2). */
export const selfMask = (roundId: string, device: string, seed: Uint8Array): MaskStream => ({
  key: derive(seed, roundId, 'self mask', [device]),
  sign: 1,
})

/** Tells a seed put together from wrong shares from the right one, and says nothing about it otherwise. */
export const seedCommitment = (roundId: string, device: string, seed: Uint8Array): Uint8Array =>
  derive(seed, roundId, 'commitment to the self mask', [device])
