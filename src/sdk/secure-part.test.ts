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
  it.each([
    [1, 'before it sent its keys'],
    [2, 'before it sent its shares'],
    [4, 'before it showed shares of others'],
  ])('at write %i, %s, continues when restarted', async (write) => {
    const { world, members } = await secureFleet(4)
    const roundId = await startRound(world, members)
    const others = Promise.all(members.slice(1).map((member) => take(member, roundId)))
    const memory = killedAt(write)
    await expect(take(members[0]!, roundId, { memory })).rejects.toThrow('killed')
    await take(members[0]!, roundId, { memory })
    await others
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
    const first = members.slice(0, 3).map((member, i) => take(member, roundId, i === 0 ? { memory } : {}))
    const stopped = new AbortController()
    const last = take(members[3]!, roundId, { signal: stopped.signal })
    await Promise.all([...first, last])
    // It has completed every step, and runs once more.
    await take(members[0]!, roundId, { memory })
    expect(await resultOf(world, members[0]!, roundId)).toEqual(plainResult(members, settings).tensors)
  })
})

it('changes beyond the range are clipped, counted, and logged only on the device', async () => {
  const { world, members } = await secureFleet(4)
  const roundId = await startRound(world, members)
  const reported: string[] = []
  // The largest change of a weight between two of these models is below 8, the range.
  await Promise.all(members.map((member) => take(member, roundId, { log: (message) => reported.push(message) })))
  expect(reported).toEqual([])
  expect(await resultOf(world, members[0]!, roundId)).toEqual(plainResult(members, settings).tensors)
})

it('a trainer may return its weights as a Blob', async () => {
  const { world, members } = await secureFleet(4)
  const roundId = await startRound(world, members)
  const parts = members.map(({ device, update, loss }) =>
    takePart(device, roundId, async () => ({
      weights: new Blob([update]) as never,
      report: { numSamples: 1, localLoss: loss, localAccuracy: 1 - loss / 10 },
      globalModel: null,
    })),
  )
  expect((await Promise.all(parts)).map(({ submission }) => submission.alreadyKept)).toEqual(Array(4).fill(false))
  expect(await resultOf(world, members[0]!, roundId)).toEqual(plainResult(members, settings).tensors)
})

it('taking part always returns the update that was trained: it resumes no part', async () => {
  const { world, members } = await secureFleet(4)
  const roundId = await startRound(world, members)
  const memory: SecureMemory = { load: () => expect.unreachable(), save: () => expect.unreachable() }
  const report = { numSamples: 1 }
  const parts = members.map(({ device, update: weights }) => {
    const options: object = { memory }
    return takePart(device, roundId, async () => ({ weights, report, globalModel: null }), options)
  })
  expect((await Promise.all(parts)).map((part) => [part.weights, part.report])).toEqual(
    members.map(({ update }) => [update, report]),
  )
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
