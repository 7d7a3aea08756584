import { randomBytes } from '@noble/ciphers/utils.js'
import { x25519 } from '@noble/curves/ed25519.js'
import { hkdf } from '@noble/hashes/hkdf.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { badRequest } from '../domain/errors.ts'
import type { MaskStream } from './mask.ts'

export const KEY_BYTES = 32

/** The source of random bytes: the platform's cryptographic source, except in tests with known answers. */
export type RandomBytes = (length: number) => Uint8Array
export const systemRandom: RandomBytes = randomBytes

export const publicKeyOf = (secretKey: Uint8Array): Uint8Array => x25519.getPublicKey(secretKey)

/**
 * Derives 32 bytes for a single purpose: HKDF-SHA256 (RFC 5869) with the round's id as salt. The info is the purpose and the
 * devices, each prefixed with its length, so that no two lists are encoded alike.
 */
const derive = (secret: Uint8Array, roundId: string, purpose: string, devices: readonly string[]): Uint8Array => {
  const info = [`tributary secure aggregation v1: ${purpose}`, ...devices].flatMap((part) => {
    const bytes = utf8ToBytes(part)
    return [new Uint8Array([bytes.length >> 8, bytes.length & 255]), bytes]
  })
  return hkdf(sha256, secret, utf8ToBytes(roundId), concatBytes(...info), KEY_BYTES)
}

/** X25519 (RFC 7748). Throws if the result is zero. */
export type KeyAgreement = (secretKey: Uint8Array, publicKey: Uint8Array) => Uint8Array
const portableAgreement: KeyAgreement = (secretKey, publicKey) => x25519.getSharedSecret(secretKey, publicKey)

const agree = (
  secretKey: Uint8Array,
  publicKey: Uint8Array,
  peer: string,
  agreement: KeyAgreement = portableAgreement,
): Uint8Array => {
  try {
    return agreement(secretKey, publicKey)
  } catch {
    // Points of small order give a shared secret that is publicly known (RFC 7748, section 6.1).
    throw badRequest(`The public key of device '${peer}' is not valid for key agreement.`)
  }
}

/** Throws bad_request if no secret can be agreed on with the public key; otherwise the peers would find out, and leave. */
export const requireUsable = (publicKey: Uint8Array, device: string): void => {
  agree(new Uint8Array(KEY_BYTES).fill(1), publicKey, device)
}

/** Returns the key with which `from` encrypts shares for `to`. Only these two can compute it. */
export const shareKey = (
  { roundId, from, to }: { readonly roundId: string; readonly from: string; readonly to: string },
  ours: { readonly device: string; readonly secretKey: Uint8Array; readonly theirPublicKey: Uint8Array },
): Uint8Array => {
  const peer = ours.device === from ? to : from
  return derive(agree(ours.secretKey, ours.theirPublicKey, peer), roundId, 'share encryption', [from, to])
}

/**
 * Returns the mask between two devices, as applied to the vector of `device`: the one with the smaller name adds it and the
 * other subtracts it (Bonawitz et al. 2017, section 4.0.1), so that it cancels in the sum. `agreement` may be a faster
 * equivalent, such as createPlatformAgreement's.
 */
export const pairMask = (
  roundId: string,
  device: string,
  secretKey: Uint8Array,
  peer: string,
  peerPublicKey: Uint8Array,
  agreement?: KeyAgreement,
): MaskStream => {
  const pair = device < peer ? [device, peer] : [peer, device]
  return {
    key: derive(agree(secretKey, peerPublicKey, peer, agreement), roundId, 'pairwise mask', pair),
    sign: device < peer ? 1 : -1,
  }
}

/** Returns the mask that a device adds so that its vector stays hidden even if it arrives late (section 4.0.2). */
export const selfMask = (roundId: string, device: string, seed: Uint8Array): MaskStream => ({
  key: derive(seed, roundId, 'self mask', [device]),
  sign: 1,
})

/** Returns a commitment that shows whether a seed was reconstructed correctly, and reveals nothing else about it. */
export const seedCommitment = (roundId: string, device: string, seed: Uint8Array): Uint8Array =>
  derive(seed, roundId, 'commitment to the self mask', [device])
