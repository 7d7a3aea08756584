import { describe, expect, test } from 'vitest'
import { advertise, dealShares, maskInput } from './device-part.ts'
import { encodeContribution } from './fixed-point.ts'
import { addMasks, addWords } from './mask.ts'
import { fromHex, toHex } from './messages.ts'
import { pairMask, seedCommitment, selfMask, shareKey } from './secrets.ts'
import { combineShares, openShares, sealShares, splitSecret } from './shares.ts'
import { testVectors } from './test-vectors.fixture.ts'

const known = testVectors
const { roundId, settings } = known
const bytes = (hex: string) => fromHex(hex, hex.length / 2, 'test')
const names = Object.keys(known.devices)
/** Returns the given byte strings in order. */
const scripted = (...parts: string[]) => {
  const rest = [...parts]
  return () => bytes(rest.shift()!)
}
const advertised = (device: string) => {
  const { encryption, masking, seed } = known.devices[device]!.secrets
  return advertise({ roundId, device, settings }, scripted(encryption, masking, seed))
}
const roster = Object.fromEntries(names.map((name) => [name, known.devices[name]!.keys]))

describe('every step gives the same results as libsodium and OpenSSL', () => {
  test('X25519 public keys', () => {
    for (const name of names) expect(advertised(name).message).toEqual(known.devices[name]!.keys)
  })

  test('pairwise masks, the same from both ends with opposite signs', () => {
    for (const [pair, key] of Object.entries(known.pairMasks)) {
      const [a, b] = pair.split(' ') as [string, string]
      const of = (device: string, peer: string) =>
        pairMask(
          roundId,
          device,
          bytes(known.devices[device]!.secrets.masking),
          peer,
          bytes(known.devices[peer]!.keys.maskingKey),
        )
      expect(of(a, b)).toEqual({ key: bytes(key), sign: 1 })
      expect(of(b, a)).toEqual({ key: bytes(key), sign: -1 })
    }
  })

  test('self masks and their commitments', () => {
    for (const name of names) {
      const { secrets, selfMask: key, commitment } = known.devices[name]!
      expect(selfMask(roundId, name, bytes(secrets.seed))).toEqual({ key: bytes(key), sign: 1 })
      expect(toHex(seedCommitment(roundId, name, bytes(secrets.seed)))).toBe(commitment)
    }
  })

  test('encrypted shares, from both ends', () => {
    const { from, to, key, nonce, maskingKey, selfMask: seedShare, bytes: sealed } = known.sealed
    const route = { roundId, from, to }
    const ends = [
      { device: from, peer: to },
      { device: to, peer: from },
    ]
    for (const { device, peer } of ends) {
      const ours = {
        device,
        secretKey: bytes(known.devices[device]!.secrets.encryption),
        theirPublicKey: bytes(known.devices[peer]!.keys.encryptionKey),
      }
      expect(toHex(shareKey(route, ours))).toBe(key)
    }
    const pair = { maskingKey: bytes(maskingKey), selfMask: bytes(seedShare) }
    expect(toHex(sealShares(bytes(key), route, pair, scripted(nonce)))).toBe(sealed)
    expect(openShares(bytes(key), route, bytes(sealed))).toEqual(pair)
  })

  test("Shamir's shares over GF(256)", async () => {
    const [first, second, third] = known.shamir.shares.map(bytes) as [Uint8Array, Uint8Array, Uint8Array]
    for (const two of [
      [first, second],
      [third, first],
      [second, third],
    ]) {
      expect(toHex(await combineShares(two))).toBe(known.shamir.secret)
    }
    const dealt = await splitSecret(bytes(known.shamir.secret), 5, 3)
    expect(toHex(await combineShares(dealt.slice(1, 4)))).toBe(known.shamir.secret)
    expect(toHex(await combineShares(dealt.slice(1, 3)))).not.toBe(known.shamir.secret)
  })

  test('fixed-point words with clipped coordinates, weights, losses and accuracies', () => {
    for (const name of names) {
      const { delta, numSamples, loss, accuracy, words } = known.devices[name]!.input
      const encoded = encodeContribution(
        { delta, numSamples, loss: loss ?? undefined, accuracy: accuracy ?? undefined },
        settings,
      )
      expect({ words: [...encoded.words], clipped: encoded.clipped }).toEqual({ words, clipped: 1 })
    }
  })

  test('masked vectors, whose sum contains only the self masks', async () => {
    const parts = await Promise.all(names.map((name) => dealShares(advertised(name), roundId, roster)))
    const sum = new Uint32Array(known.sum.length)
    for (const part of parts) {
      const received = parts
        .filter((other) => other !== part)
        .map((other) => [other.device, other.message.sealed[part.device]!])
      const words = Uint32Array.from(known.devices[part.device]!.input.words)
      maskInput(part, roundId, Object.fromEntries(received), words)
      expect([...words]).toEqual(known.devices[part.device]!.masked)
      addWords(sum, words)
    }
    const selfMasks = names.map((name) => ({ key: bytes(known.devices[name]!.selfMask), sign: -1 as const }))
    addMasks(sum, selfMasks)
    expect([...sum]).toEqual(known.sum)
  })
})
