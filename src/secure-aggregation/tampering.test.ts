import { describe, expect, test } from 'vitest'
import { cohortOf } from './cohort.fixture.ts'
import { advertise, dealShares, type Masked, maskInput, revealShares } from './device-part.ts'
import type { KeysMessage, UnmaskMessage } from './messages.ts'
import {
  checkKeys,
  checkMaskedSize,
  checkShares,
  checkUnmask,
  closeStep,
  failRound,
  isStepOver,
  openRound,
  requireTurn,
  type SecureRound,
} from './server-round.ts'
import { secureSettings } from './settings.ts'
import { unmaskingStreams } from './unmask.ts'

const names = ['a', 'b', 'c', 'd']
const settings = secureSettings({ devices: 4 })
const cohort = await cohortOf(names, settings, 3)
const { roundId, roster } = cohort
const flip = (hex: string, at: number): string =>
  hex.slice(0, at) + (Number.parseInt(hex[at]!, 16) ^ 1).toString(16) + hex.slice(at + 1)
const words = () => cohort.plainWords('a').slice()
const stay = { a: 'answer', b: 'answer', c: 'answer', d: 'answer' } as const

describe('a device does not deal shares', () => {
  const deal = (changed: Record<string, KeysMessage>, round = roundId) =>
    dealShares(cohort.advertised('a'), round, changed)

  test('for another round, or a second time', async () => {
    await expect(deal(roster, 'round-8')).rejects.toThrow('The message is for round round-8; this device takes part in')
    await expect(dealShares(cohort.shared('a'), roundId, roster)).rejects.toThrow('No step is repeated')
  })

  test('if the roster has different keys under its name, or lacks its name', async () => {
    const { message } = advertise({ roundId, device: 'a', settings })
    await expect(deal({ ...roster, a: message })).rejects.toThrow('does not have the keys that this device advertised')
    await expect(deal({ b: roster.b!, c: roster.c!, d: roster.d! })).rejects.toThrow('does not have the keys')
  })

  test('to fewer devices than the threshold or more than agreed', async () => {
    await expect(deal({ a: roster.a!, b: roster.b! })).rejects.toThrow(
      'The roster has 2 devices; this device agreed to',
    )
    const more = { ...roster, e: advertise({ roundId, device: 'e', settings }).message }
    await expect(deal(more)).rejects.toThrow('The roster has 5 devices; this device agreed to between 3 and 4')
  })

  test('if two devices share a key, or a key is invalid', async () => {
    await expect(deal({ ...roster, c: roster.b! })).rejects.toThrow("a public key twice, the second time for 'c'")
    await expect(deal({ ...roster, c: { ...roster.c!, maskingKey: 'ab' } })).rejects.toThrow('must be 32 bytes')
    const smallOrder = { ...roster.c!, encryptionKey: '00'.repeat(32) }
    await expect(deal({ ...roster, c: smallOrder })).rejects.toThrow("key of device 'c' is not valid for key")
  })
})

describe('a device does not mask its update', () => {
  const received = cohort.receivedBy('a', names)
  const refused = (changed: Record<string, string>, message: string, round = roundId) => {
    const input = words()
    expect(() => maskInput(cohort.shared('a'), round, changed, input)).toThrow(message)
    expect(input).toEqual(cohort.plainWords('a'))
  }

  test('for another round or twice', () => {
    refused(received, 'The message is for round round-8', 'round-8')
    const { part } = cohort.masked('a', names)
    expect(() => maskInput(part, roundId, received, words())).toThrow('No step is repeated')
    expect(() => maskInput(cohort.advertised('a'), roundId, received, words())).toThrow(
      "its part in this round is 'adv",
    )
  })

  test('if a single digit of the shares was changed, wherever it is', () => {
    for (const at of [0, 47, 48, 100, received.b!.length - 1]) {
      refused({ ...received, b: flip(received.b!, at) }, "The shares from device 'b' for 'a' cannot be decrypted")
    }
    refused({ ...received, b: received.b!.slice(2) }, 'must be 106 bytes in lowercase hex')
    refused({ ...received, b: received.b!.toUpperCase() }, 'must be 106 bytes in lowercase hex')
  })

  test('if the shares were meant for another device, or come from another device or round', async () => {
    refused({ ...received, b: cohort.shared('b').message.sealed.c! }, "from device 'b' for 'a' cannot be decrypted")
    refused({ ...received, b: received.c! }, "from device 'b' for 'a' cannot be decrypted")
    const elsewhere = { ...cohort.advertised('b'), roundId: 'round-8' }
    const replayed = await dealShares(elsewhere, 'round-8', roster)
    refused({ ...received, b: replayed.message.sealed.a! }, "from device 'b' for 'a' cannot be decrypted")
  })

  test('with fewer devices than the threshold, twice with itself, or with an unknown device', () => {
    refused({ b: received.b! }, 'Only 2 devices sent shares; this device agreed to no fewer than 3')
    refused({ ...received, a: received.b! }, "There are shares from 'a', to which this device sent none")
    refused({ ...received, toString: received.b! }, "There are shares from 'toString'")
  })
})

describe('a device that delivered', () => {
  const { part } = cohort.masked('a', names)

  test('never reveals both shares of a device: refuses a second, different list', () => {
    const first = revealShares(part, roundId, ['a', 'b', 'c'])
    expect(revealShares(first, roundId, ['c', 'a', 'b', 'b'])).toBe(first)
    for (const list of [names, ['a', 'b', 'd']]) {
      expect(() => revealShares(first, roundId, list)).toThrow('has already revealed shares for another list')
    }
    expect(Object.keys(first.message.selfMasks)).toEqual(['a', 'b', 'c'])
    expect(Object.keys(first.message.maskingKeys)).toEqual(['d'])
    // The shares that it did not reveal and its own secrets have been deleted from its state.
    expect(Object.keys(first).sort()).toEqual(['delivered', 'device', 'message', 'roundId', 'settings', 'step'])
    expect(Object.keys(part).sort()).toEqual(['device', 'held', 'roundId', 'settings', 'step'])
  })

  test('reveals nothing for a list below the threshold, without itself, with an unknown device, or for another round', () => {
    expect(() => revealShares(part, roundId, ['a', 'b'])).toThrow('reveals nothing below 3')
    expect(() => revealShares(part, roundId, ['a', 'a', 'b'])).toThrow('reveals nothing below 3')
    expect(() => revealShares(part, roundId, ['b', 'c', 'd'])).toThrow(
      'This device submitted its update, but is missing from the list',
    )
    expect(() => revealShares(part, roundId, [...names, 'e'])).toThrow(
      "'e' is listed as having submitted, but it sent no",
    )
    expect(() => revealShares(part, 'round-8', names)).toThrow('The message is for round round-8')
    expect(() => revealShares(cohort.shared('a'), roundId, names)).toThrow('No step is repeated')
  })

  test('cannot be tricked with different lists: two lists never give enough shares of both secrets', () => {
    const withoutD = ['a', 'b', 'c']
    for (let reported = 0; reported < 2 ** withoutD.length; reported++) {
      const responses = withoutD.map((name, i) =>
        revealShares(cohort.masked(name, names).part as Masked, roundId, reported & (1 << i) ? names : withoutD),
      )
      // 'd' itself only answers for a list that contains its own name.
      responses.push(revealShares(cohort.masked('d', names).part, roundId, names))
      const seeds = responses.filter(({ message }) => message.selfMasks.d !== undefined).length
      const keys = responses.filter(({ message }) => message.maskingKeys.d !== undefined).length
      expect(seeds >= settings.threshold && keys >= settings.threshold).toBe(false)
    }
  })
})

describe('the service refuses', () => {
  const advertising = openRound(roundId, settings)
  const sharing = closeStep(advertising, names)
  const { round: done, messages: received } = cohort.run({ ...stay, d: 'shares' })
  const unmasking: SecureRound = { ...done, status: 'unmasking' }

  test('keys of another device, the same key twice in one message, and invalid keys', () => {
    const { b } = roster as { b: KeysMessage }
    expect(() => checkKeys('a', { encryptionKey: b.maskingKey, maskingKey: roster.a!.maskingKey }, { b })).toThrow(
      "A public key of 'a' is used by another device of the round",
    )
    expect(() => checkKeys('a', { encryptionKey: b.maskingKey, maskingKey: b.maskingKey }, {})).toThrow('are the same')
    expect(() => checkKeys('a', { ...b, maskingKey: `${b.maskingKey}00` }, {})).toThrow("masking_key of 'a' must be 32")
    expect(() => checkKeys('a', { ...b, maskingKey: '00'.repeat(32) }, {})).toThrow('is not valid for key')
  })

  test('shares that lack a device, name an unknown device or the sender, or have another length', () => {
    const { message } = cohort.shared('a')
    const { b, ...rest } = message.sealed
    expect(() => checkShares(sharing, 'a', message)).not.toThrow()
    expect(() => checkShares(sharing, 'a', { ...message, sealed: rest })).toThrow("The list of shares lacks device 'b'")
    expect(() => checkShares(sharing, 'a', { ...message, sealed: { ...message.sealed, e: b! } })).toThrow("device 'e'")
    expect(() => checkShares(sharing, 'a', { ...message, sealed: { ...message.sealed, a: b! } })).toThrow("device 'a'")
    expect(() => checkShares(sharing, 'a', { ...message, sealed: { ...message.sealed, b: 'ff' } })).toThrow('106 bytes')
    expect(() => checkShares(sharing, 'a', { ...message, seedCommitment: '' })).toThrow('seed_commitment must be 32')
  })

  test('a masked update of another length', () => {
    expect(() => checkMaskedSize(32, 8)).not.toThrow()
    expect(() => checkMaskedSize(31, 8)).toThrow('has 31 bytes; the model takes 8 words of 4 bytes, 32')
  })

  test('responses that reveal both shares of a device, the wrong one, none, or a share at position 0', () => {
    const message = received.responses.a!
    const { a, ...rest } = message.selfMasks
    const changed = (part: Partial<UnmaskMessage>) => () => checkUnmask(unmasking, { ...message, ...part })
    expect(changed({})).not.toThrow()
    expect(changed({ maskingKeys: { ...message.maskingKeys, a: a! } })).toThrow("masking_keys names device 'a'")
    expect(changed({ selfMasks: { ...message.selfMasks, d: a! } })).toThrow("self_masks names device 'd'")
    expect(changed({ selfMasks: rest })).toThrow("self_masks lacks device 'a'")
    expect(changed({ maskingKeys: {} })).toThrow("masking_keys lacks device 'd'")
    expect(changed({ selfMasks: { ...message.selfMasks, a: `${a!.slice(0, -2)}00` } })).toThrow('claims place 0')
  })

  test('messages out of turn, repeated, from a device that has left, and from more devices than there are places', () => {
    const none = new Set<string>()
    expect(() => requireTurn(advertising, 'sharing', 'a', none)).toThrow('is advertising, not sharing')
    expect(() => requireTurn(advertising, 'advertising', 'a', new Set(['a']))).toThrow(
      'has sent its public keys already',
    )
    expect(() => requireTurn(advertising, 'advertising', 'e', new Set(names))).toThrow('All 4 places')
    expect(() => requireTurn(unmasking, 'unmasking', 'd', none)).toThrow("'d' was dropped from the round")
    const failed = failRound(sharing, 'Stopped.')
    expect(() => requireTurn(failed, 'sharing', 'a', none)).toThrow('The secure round is failed, not sharing. Stopped.')
  })

  test('to unmask with a tampered share of either kind', async () => {
    const tampered = (kind: keyof UnmaskMessage, name: string, at: number) => {
      const response = received.responses.b!
      const b = { ...response, [kind]: { ...response[kind], [name]: flip(response[kind][name]!, at) } }
      return unmaskingStreams(done, { ...received, responses: { ...received.responses, b } })
    }
    // X25519 ignores some bits of the first and the last byte of a key, so changes there may have no effect. Digit 64 belongs
    // to the share's position, which is random; changing it may give 0.
    for (const at of [2, 61, 64]) {
      for (const [kind, name] of [
        ['selfMasks', 'a'],
        ['maskingKeys', 'd'],
      ] as const) {
        await expect(tampered(kind, name, at)).rejects.toThrow(
          new RegExp(`of device '${name}' do not reconstruct its secret|of '${name}' claims place 0`),
        )
      }
    }
    const twice = { ...received.responses, b: received.responses.a! }
    await expect(unmaskingStreams(done, { ...received, responses: twice })).rejects.toThrow(
      'do not reconstruct its secret',
    )
  })
})

describe('the steps of a secure round', () => {
  test('follow the table, and a finished round stays finished', () => {
    const steps = ['advertising', 'sharing', 'masking', 'unmasking', 'done'] as const
    for (const [index, status] of steps.slice(0, -1).entries()) {
      const round: SecureRound = { ...openRound(roundId, settings), status }
      expect(closeStep(round, names).status).toBe(steps[index + 1])
      expect(failRound(round, 'Stopped.')).toEqual({ ...round, status: 'failed', reason: 'Stopped.' })
    }
    for (const status of ['done', 'failed'] as const) {
      const round: SecureRound = { ...openRound(roundId, settings), status }
      expect(() => closeStep(round, names)).toThrow(`The secure round is ${status} already.`)
      expect(() => failRound(round, 'x')).toThrow(`The secure round is ${status}; it cannot fail.`)
    }
  })

  test('end when all have answered or at the deadline; the last one as soon as enough have answered', () => {
    const round = openRound(roundId, settings)
    expect(isStepOver(round, 3, 4, false)).toBe(false)
    expect(isStepOver(round, 4, 4, false)).toBe(true)
    expect(isStepOver(round, 0, 4, true)).toBe(true)
    const sharing = closeStep(round, ['c', 'a', 'b'])
    expect(sharing.cohort).toEqual(['a', 'b', 'c'])
    const unmasking: SecureRound = { ...round, status: 'unmasking', cohort: names }
    expect([isStepOver(unmasking, 2, 4, false), isStepOver(unmasking, 3, 4, false)]).toEqual([false, true])
    expect(isStepOver({ ...round, status: 'done' }, 4, 4, true)).toBe(false)
  })
})

test('device names can be anything, even names of properties that every object has', async () => {
  const odd = ['__proto__', 'constructor', 'ü', 'x"]']
  const strange = await cohortOf(odd, settings, 2)
  const {
    round,
    messages: received,
    delivered,
  } = strange.run(Object.fromEntries(odd.map((name) => [name, 'answer' as const])))
  expect(round.status).toBe('done')
  expect(delivered).toEqual(odd)
  expect(await unmaskingStreams(round, received)).toHaveLength(4)
})
