import { describe, expect, it } from 'vitest'
import { GLOBAL, type Member, plainResult, secureFleet, tensorsOf } from '../../test/secure-fleet.ts'
import type { World } from '../../test/world.ts'
import type { DevicePart } from '../secure-aggregation/device-part.ts'
import { secureSettings } from '../secure-aggregation/settings.ts'
import type { SecureCalls } from './device.ts'
import { type SecureMemory, type SecureOptions, takeSecurePart } from './secure-part.ts'
import { takePart } from './take-part.ts'

const settings = secureSettings({ devices: 4 })

const startRound = async (world: World, members: readonly Member[]): Promise<string> => {
  const body = { target_devices: 4, min_devices: 2, global_model_id: 'small', secure_aggregation: {} }
  const response = await world.request('POST', '/api/v1/training/rounds/start', { key: members[0]!.key, body })
  return (response.body as { id: string }).id
}

const take = (member: Member, roundId: string, options: SecureOptions = {}) => {
  const { update: weights, loss } = member
  const report = { numSamples: 1, localLoss: loss, localAccuracy: 1 - loss / 10 }
  return takeSecurePart(member.device, roundId, async () => ({ global: GLOBAL, weights, report }), options)
}

const resultOf = async (world: World, member: Member, roundId: string) => {
  await world.service.runDueTasks()
  const headers = { key: member.key }
  const { body } = await world.request('GET', `/api/v1/training/rounds/${roundId}/status`, headers)
  const path = `/api/v1/models/${(body as { aggregated_model_id: string }).aggregated_model_id}/versions/1/download`
  const file = await fetch(`${world.baseUrl}${path}`, { headers: { authorization: `Bearer ${member.key}` } })
  return tensorsOf(new Uint8Array(await file.arrayBuffer()))
}

/** Fails at the given write, and keeps what was written. */
const killedAt = (write: number) => {
  let saved: DevicePart | null = null
  let count = 0
  const memory: SecureMemory = {
    load: async () => saved,
    save: async (part) => {
      // Like writing to a file and reading it back.
      saved = JSON.parse(JSON.stringify(part)) as DevicePart
      if (++count === write) throw new Error('killed')
    },
  }
  return memory
}

describe('a device that is killed', () => {
  it('before it sent its keys, its shares, or shares of others continues when restarted', async () => {
    const { world, members } = await secureFleet(4)
    const roundId = await startRound(world, members)
    const killed = async (member: Member, write: number): Promise<void> => {
      const memory = killedAt(write)
      await expect(take(member, roundId, { memory })).rejects.toThrow('killed')
      await take(member, roundId, { memory })
    }
    const [first, second, third, fourth] = members
    await Promise.all([killed(first!, 1), killed(second!, 2), killed(third!, 4), take(fourth!, roundId)])
    expect(await resultOf(world, members[0]!, roundId)).toEqual(plainResult(members, settings).tensors)
  })

  it('during delivery leaves the round, and masks no second update', async () => {
    const { world, members } = await secureFleet(4)
    const roundId = await startRound(world, members)
    const others = Promise.all(members.slice(1).map((member) => take(member, roundId)))
    const memory = killedAt(3)
    await expect(take(members[0]!, roundId, { memory })).rejects.toThrow('killed')
    await expect(take(members[0]!, roundId, { memory })).rejects.toThrow('was interrupted while submitting')
    await members[0]!.device.reportFailure(roundId, 'was interrupted')
    await world.service.runDueTasks()
    await others
    expect(await resultOf(world, members[1]!, roundId)).toEqual(plainResult(members.slice(1), settings).tensors)
  })

  it('after delivery is recognized as having delivered', async () => {
    const { world, members } = await secureFleet(4)
    const roundId = await startRound(world, members)
    const memory = killedAt(0)
    // The largest change of a weight between two of these models is below 8, the range: none is clipped.
    const log = (message: string) => expect.unreachable(message)
    await Promise.all(members.map((member, i) => take(member, roundId, i === 0 ? { memory, log } : { log })))
    // It has completed every step, and runs once more.
    await take(members[0]!, roundId, { memory })
    expect(await resultOf(world, members[0]!, roundId)).toEqual(plainResult(members, settings).tensors)
  })
})

it('taking part returns the update that was trained, which may be a Blob, and resumes no part', async () => {
  const { world, members } = await secureFleet(4)
  const roundId = await startRound(world, members)
  const memory: SecureMemory = { load: () => expect.unreachable(), save: () => expect.unreachable() }
  const trained = members.map(({ update, loss }, i) => ({
    weights: i < 2 ? (new Blob([update]) as never) : update,
    report: { numSamples: 1, localLoss: loss, localAccuracy: 1 - loss / 10 },
  }))
  const parts = members.map(({ device }, i) => {
    const options: object = { memory }
    return takePart(device, roundId, async () => trained[i]!, options)
  })
  expect((await Promise.all(parts)).map((part) => [part.weights, part.report, part.submission.alreadyKept])).toEqual(
    trained.map(({ weights, report }) => [weights, report, false]),
  )
  expect(await resultOf(world, members[0]!, roundId)).toEqual(plainResult(members, settings).tensors)
})

it('a trainer with an invalid result gets an error that says what is missing', async () => {
  const { world, members } = await secureFleet(4)
  const roundId = await startRound(world, members)
  const stop = new AbortController()
  const others = members.slice(1).map((member) => take(member, roundId, { signal: stop.signal }))
  const wrong = takeSecurePart(members[0]!.device, roundId, async () => ({ global: GLOBAL, numSamples: 1 }) as never)
  await expect(wrong).rejects.toThrow(/^A trainer returns \{ weights, report: .+; weights is missing\.$/)
  // Otherwise they would wait for it until the round is over.
  stop.abort(new Error('The test is over.'))
  await Promise.allSettled(others)
})

describe('a device refuses a service', () => {
  const lying = (state: object): SecureCalls => {
    const respond = async () => ({
      status: 'advertising' as const,
      reason: null,
      settings,
      device: 'a',
      counted: true,
      answered: false,
      roster: null,
      shares: null,
      delivered: null,
      ...state,
    })
    return { state: respond, sendKeys: respond, sendShares: respond, sendUnmask: respond }
  }
  const refuses = (state: object) =>
    takeSecurePart({ submit: async () => expect.unreachable(), secure: lying(state) }, 'r', async () =>
      expect.unreachable(),
    )

  it('with a threshold of half of the devices', async () => {
    await expect(refuses({ settings: { ...settings, threshold: 2 } })).rejects.toThrow('from 3 (more than half) to 4')
  })

  it('with a round that has started without it, or has failed', async () => {
    await expect(refuses({ status: 'sharing' })).rejects.toThrow(
      'The secure round is sharing, and this device is not part of it.',
    )
    await expect(refuses({ status: 'failed', reason: 'Stopped.' })).rejects.toThrow('has failed. Stopped.')
  })
})
