import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { organizations } from '../../../../test/organizations.ts'
import {
  connect,
  GLOBAL,
  type Member,
  plainResult,
  secureFleet,
  stepsOf,
  tensorsOf,
} from '../../../../test/secure-fleet.ts'
import { formOf, startWorld, type World } from '../../../../test/world.ts'
import { takePart } from '../../../sdk/take-part.ts'
import { advertise } from '../../../secure-aggregation/device-part.ts'
import { TRAILER } from '../../../secure-aggregation/fixed-point.ts'
import { type SecureSettings, secureSettings } from '../../../secure-aggregation/settings.ts'

const openOrganization = organizations()

interface Round {
  readonly id: string
  readonly status: string
  readonly aggregated_model_id: string
  readonly failure_reason: string | null
  readonly loss: number
  readonly accuracy: number
}

const start = (world: World, by: Member, fields: object) =>
  world.request('POST', '/api/v1/training/rounds/start', {
    key: by.key,
    body: { min_devices: 2, global_model_id: 'small', secure_aggregation: {}, timeout_seconds: 300, ...fields },
  })
const startOk = async (world: World, members: readonly Member[], fields: object = {}): Promise<Round> => {
  const response = await start(world, members[0]!, { target_devices: members.length, ...fields })
  expect(response).toMatchObject({ status: 201 })
  return response.body as Round
}
const statusOf = async (world: World, by: Member, id: string) =>
  (await world.request('GET', `/api/v1/training/rounds/${id}/status`, { key: by.key })).body as Round
const download = async (world: World, by: Member, modelId: string) => {
  const path = `/api/v1/models/${modelId}/versions/1/download`
  const file = await fetch(`${world.baseUrl}${path}`, { headers: { authorization: `Bearer ${by.key}` } })
  return tensorsOf(new Uint8Array(await file.arrayBuffer()))
}

type Step = 'nothing' | 'keys' | 'shares' | 'masked' | 'unmask'
const STEPS: readonly Step[] = ['nothing', 'keys', 'shares', 'masked', 'unmask']
/** When each step ends at the latest, in seconds, in a round of 300 s. */
const END_OF = { keys: 75, shares: 120, masked: 255, unmask: 285 }

/** Takes every member up to its last action; advances the clock to the end of a step in which a member is silent. */
const play = async (
  world: World,
  round: Round,
  settings: SecureSettings,
  last: readonly (readonly [Member, Step])[],
): Promise<void> => {
  const steps = stepsOf(round.id, settings)
  const began = world.now().getTime()
  for (const step of ['keys', 'shares', 'masked', 'unmask'] as const) {
    const active = last.filter(([, until]) => STEPS.indexOf(until) >= STEPS.indexOf(step))
    for (const [member] of active) await steps[step](member)
    const elapsed = (world.now().getTime() - began) / 1000
    if (active.length < last.length) await world.advance(END_OF[step] - elapsed)
    else await world.service.runDueTasks()
    if ((await statusOf(world, last[0]![0], round.id)).status === 'failed') return
  }
  await world.service.runDueTasks()
}

describe('a secure round', () => {
  it('gives exactly the plain fixed-point mean, bit for bit, and the means of losses and accuracies', async () => {
    const { world, members } = await secureFleet(4, openOrganization())
    const round = await startOk(world, members)
    const settings = secureSettings({ devices: 4 })
    expect(round).toMatchObject({
      strategy: 'fedavg',
      secure_aggregation: { devices: 4, threshold: 3, range: 8, max_weight: 1 },
    })
    await play(
      world,
      round,
      settings,
      members.map((member) => [member, 'unmask']),
    )
    const done = await statusOf(world, members[0]!, round.id)
    const plain = plainResult(members, settings)
    expect(done).toMatchObject({ status: 'completed', loss: plain.totals.loss, accuracy: plain.totals.accuracy })
    expect(await download(world, members[0]!, done.aggregated_model_id)).toEqual(plain.tensors)

    const path = `/api/v1/training/rounds/${round.id}`
    const { body: receipt } = await world.request('GET', `${path}/receipt`, { key: members[0]!.key })
    expect(receipt).toMatchObject({
      secure_aggregation: { devices: 4, threshold: 3, range: 8, max_weight: 1 },
      updates: members.map(({ name }) => ({ device_id: name, num_samples: 1, weight: 0.25 })),
    })
    const { body: updates } = await world.request('GET', `${path}/updates`, { key: members[0]!.key })
    expect(updates).toMatchObject({
      updates: members.map(() => ({ local_loss: null, local_accuracy: null, norm: null, cosine: null })),
    })
    const { body: replay } = await world.request('POST', `${path}/receipt/replay`, { key: members[0]!.key })
    expect(replay).toMatchObject({ matches: true })
  })

  it('does so even if devices are lost in every step, down to the threshold', async () => {
    const { world, members } = await secureFleet(8, openOrganization())
    const round = await startOk(world, members, { secure_aggregation: { threshold: 5 }, target_devices: 8 })
    const settings = secureSettings({ devices: 8, threshold: 5 })
    const steps: Step[] = ['keys', 'shares', 'unmask', 'unmask', 'unmask', 'unmask', 'unmask', 'masked']
    await play(
      world,
      round,
      settings,
      members.map((member, i) => [member, steps[i]!]),
    )
    const done = await statusOf(world, members[0]!, round.id)
    expect(done).toMatchObject({ status: 'completed', failure_reason: null })
    const plain = plainResult(members.slice(2), settings)
    expect(await download(world, members[0]!, done.aggregated_model_id)).toEqual(plain.tensors)
    expect(done.loss).toBe(plain.totals.loss)
  })

  it.each([
    ['keys', 'nothing', 'sent their public keys'],
    ['shares', 'keys', 'sent their shares'],
    ['masked', 'shares', 'delivered their masked updates'],
    ['unmask', 'masked', 'sent their shares for unmasking'],
  ] as const)('fails and reveals nothing if too few devices remain in the step of %s', async (_step, last, step) => {
    const { world, members } = await secureFleet(4, openOrganization())
    const round = await startOk(world, members)
    const steps: Step[] = ['unmask', 'unmask', last, last]
    await play(
      world,
      round,
      secureSettings({ devices: 4 }),
      members.map((member, i) => [member, steps[i]!]),
    )
    expect(await statusOf(world, members[0]!, round.id)).toMatchObject({
      status: 'failed',
      aggregated_model_id: null,
      failure_reason: `Secure aggregation needs 3 devices; only 2 devices ${step} in time. Nothing of any update was revealed.`,
    })
    const state = await members[0]!.device.secure.state(round.id)
    expect(state).toMatchObject({ status: 'failed', roster: null, shares: null, delivered: null })
  })

  it('continues without waiting when a device reports a failure', async () => {
    const { world, members } = await secureFleet(4, openOrganization())
    const round = await startOk(world, members)
    const steps = stepsOf(round.id, secureSettings({ devices: 4 }))
    for (const member of members) await steps.keys(member)
    await members[3]!.device.reportFailure(round.id, 'battery')
    for (const member of members.slice(0, 3)) await steps.shares(member)
    expect(await members[0]!.device.secure.state(round.id)).toMatchObject({ status: 'masking', counted: true })
    expect(await members[3]!.device.secure.state(round.id)).toMatchObject({ counted: false, shares: null })
  })

  it('leaves out a device that failed after it sent shares, and still waits for the others', async () => {
    const { world, members } = await secureFleet(4, openOrganization())
    const round = await startOk(world, members)
    const steps = stepsOf(round.id, secureSettings({ devices: 4 }))
    for (const member of members) await steps.keys(member)
    await steps.shares(members[0]!)
    await members[0]!.device.reportFailure(round.id, 'no memory')
    for (const member of members.slice(1, 3)) await steps.shares(member)
    expect(await members[3]!.device.secure.state(round.id)).toMatchObject({ status: 'sharing', counted: true })
    await steps.shares(members[3]!)
    for (const step of ['masked', 'unmask'] as const) {
      for (const member of members.slice(1)) await steps[step](member)
      await world.service.runDueTasks()
    }
    const done = await statusOf(world, members[1]!, round.id)
    expect(done).toMatchObject({ status: 'completed', failure_reason: null })
  })

  it('can no longer be replayed once a device that dropped out is erased', async () => {
    const { world, members } = await secureFleet(4)
    const round = await startOk(world, members)
    const settings = secureSettings({ devices: 4 })
    await play(
      world,
      round,
      settings,
      members.map((member, i) => [member, i === 3 ? 'shares' : 'unmask']),
    )
    const { key } = members[0]!
    const replay = () => world.request('POST', `/api/v1/training/rounds/${round.id}/receipt/replay`, { key })
    expect((await replay()).body).toMatchObject({ matches: true })
    expect(
      (
        await world.request('POST', `/api/v1/devices/${members[3]!.name}/erase`, {
          key,
          body: { confirm: members[3]!.name },
        })
      ).status,
    ).toBe(200)
    expect((await replay()).body).toMatchObject({
      error: 'conflict',
      message:
        'A device of this secure round was erased, and its keys with it: the masks of the others cannot be removed again.',
    })
  })

  it('gives the place of a device that failed after it sent its keys to another', async () => {
    const { world, members } = await secureFleet(5, openOrganization())
    const round = await startOk(world, members, { target_devices: 4, secure_aggregation: { threshold: 4 } })
    const selection = ({ key }: Member) =>
      world.request('GET', `/api/v1/training/rounds/${round.id}/selection`, { key }).then(({ body }) => body)
    const selected = await Promise.all(
      members.map(async (member) => (await selection(member)) as { selected: boolean }),
    )
    const [first, ...others] = members.filter((_, at) => selected[at]!.selected)
    const another = members.find((_, at) => !selected[at]!.selected)!
    const steps = stepsOf(round.id, secureSettings({ devices: 4, threshold: 4 }))
    await steps.keys(first!)
    await first!.device.reportFailure(round.id, 'no memory')
    expect((await another.device.heartbeat()).pendingRoundId).toBe(round.id)
    for (const member of [...others, another]) await steps.keys(member)
    expect(await another.device.secure.state(round.id)).toMatchObject({ status: 'sharing', counted: true })
  })

  it('continues with absent devices that sent their keys all the same', async () => {
    const { world, members } = await secureFleet(4, openOrganization())
    const round = await startOk(world, members, { secure_aggregation: { threshold: 3 } })
    const [steps, three] = [stepsOf(round.id, secureSettings({ devices: 4, threshold: 3 })), members.slice(0, 3)]
    for (const { device } of members.slice(0, 2)) await device.plan(round.id)
    await world.advance(61)
    for (const { device } of members.slice(2)) await device.plan(round.id)
    for (const member of three) await steps.keys(member)
    // Causes a review.
    await members[3]!.device.reportFailure(round.id, 'no memory')
    for (const step of ['shares', 'masked', 'unmask'] as const) {
      for (const member of three) await steps[step](member)
      await world.service.runDueTasks()
    }
    expect(await statusOf(world, members[0]!, round.id)).toMatchObject({ status: 'completed', completed_devices: 3 })
  })

  it('fails at once when too few devices are left to reach its threshold', async () => {
    const { world, members } = await secureFleet(4, openOrganization())
    const round = await startOk(world, members, { target_devices: 4, secure_aggregation: { threshold: 3 } })
    const steps = stepsOf(round.id, secureSettings({ devices: 4 }))
    for (const member of members.slice(0, 2)) await steps.keys(member)
    for (const member of members.slice(2)) await member.device.reportFailure(round.id, 'no memory')
    await world.service.runDueTasks()
    expect(await statusOf(world, members[0]!, round.id)).toMatchObject({
      status: 'failed',
      failure_reason: expect.stringContaining('At least 3 updates were needed'),
    })
  })

  it('fails at once, with the reasons, when so many devices fail that too few are left', async () => {
    const { world, members } = await secureFleet(4, openOrganization())
    const round = await startOk(world, members)
    const steps = stepsOf(round.id, secureSettings({ devices: 4 }))
    for (const step of ['keys', 'shares'] as const) {
      for (const member of members) await steps[step](member)
      await world.service.runDueTasks()
    }
    for (const member of members.slice(0, 2)) await steps.masked(member)
    for (const member of members.slice(2)) await member.device.reportFailure(round.id, 'no memory')
    await world.service.runDueTasks()
    expect(await statusOf(world, members[0]!, round.id)).toMatchObject({
      status: 'failed',
      failure_reason: '2 of 4 devices failed: no memory (2). At least 3 updates were needed',
    })
  })

  it('with over-selection, closes after as many masked updates as were requested', async () => {
    const { world, members } = await secureFleet(6, openOrganization())
    const { key } = members[0]!
    const body = {
      model: 'small',
      rounds: 1,
      target_devices: 4,
      over_selection: 1.5,
      secure_aggregation: { threshold: 4 },
    }
    const { body: job } = await world.request('POST', '/api/v1/training/jobs', { key, body })
    const path = `/api/v1/training/jobs/${(job as { id: string }).id}`
    const { history } = (await world.request('GET', path, { key })).body as { history: { round_id: string }[] }
    const id = history[0]!.round_id
    const steps = stepsOf(id, secureSettings({ devices: 6, threshold: 4 }))
    for (const step of ['keys', 'shares'] as const) for (const member of members) await steps[step](member)
    for (const member of members.slice(0, 4)) await steps.masked(member)
    await world.service.runDueTasks()
    expect(await members[0]!.device.secure.state(id)).toMatchObject({ status: 'unmasking' })
    await expect(members[4]!.device.submit(id, new Uint8Array(4), { numSamples: 1 })).rejects.toMatchObject({
      status: 409,
      message:
        'The secure round is unmasking, not masking. It stopped waiting for masked updates; this one is not needed.',
    })
    for (const member of members.slice(0, 4)) await steps.unmask(member)
    await world.service.runDueTasks()
    expect(await statusOf(world, members[0]!, id)).toMatchObject({ status: 'completed', completed_devices: 4 })
  })

  it('weights updates by samples within the sum, without revealing the weights', async () => {
    const { world, members } = await secureFleet(3, openOrganization())
    const round = await startOk(world, members, { secure_aggregation: { max_weight: 50 } })
    const settings = secureSettings({ devices: 3, maxWeight: 50 })
    const samples = [1, 20, 70]
    await Promise.all(
      members.map(({ device, update, loss }, i) =>
        takePart(device, round.id, async () => ({
          weights: update,
          report: { numSamples: samples[i]!, localLoss: loss, localAccuracy: 1 - loss / 10 },
          globalModel: null,
        })),
      ),
    )
    await world.service.runDueTasks()
    const done = await statusOf(world, members[0]!, round.id)
    const plain = plainResult(members, settings, samples)
    expect(done).toMatchObject({ status: 'completed', loss: plain.totals.loss })
    expect(await download(world, members[0]!, done.aggregated_model_id)).toEqual(plain.tensors)
    const { body } = await world.request('GET', `/api/v1/training/rounds/${round.id}/receipt`, { key: members[0]!.key })
    expect(body).toMatchObject({ updates: members.map(() => ({ num_samples: 1, weight: null })) })
  })
})

it('warns the starter of settings that lose much of the updates', async () => {
  const { world, members } = await secureFleet(3, openOrganization())
  const fields = { target_devices: 3, secure_aggregation: { max_weight: 1_000_000 } }
  const response = await start(world, members[0]!, fields)
  expect([response.status, response.headers.get('x-service-warning')]).toEqual([
    201,
    'secure_aggregation: with range 8, max_weight 1000000, and 3 devices, an update of weight 1 is rounded to multiples of ' +
      '0.0156, and its loss and accuracy to multiples of 2: lower max_weight or range.',
  ])
})

it('stores no figures of a single device, whatever it sends', async () => {
  const { world, members } = await secureFleet(3, openOrganization())
  const round = await startOk(world, members)
  const steps = stepsOf(round.id, secureSettings({ devices: 3 }))
  for (const step of ['keys', 'shares'] as const) for (const member of members) await steps[step](member)
  const path = `/api/v1/training/rounds/${round.id}/updates`
  const { key } = members[0]!
  // 13 coordinates plus the trailer.
  const masked = new Uint8Array(4 * (13 + TRAILER))
  const sent = { num_samples: 10, local_loss: 0.5, local_accuracy: 0.75, metrics: '{"f1": 0.5}' }
  const response = await world.request('POST', path, { key, body: formOf(masked, sent) })
  expect([response.status, response.headers.get('x-service-warning')]).toEqual([
    201,
    'local_loss, local_accuracy, and metrics not kept: a secure round reveals only the sum of loss and accuracy',
  ])
  const kept = { num_samples: 10, local_loss: null, local_accuracy: null }
  expect(response.body).toMatchObject(kept)
  expect((await world.request('GET', path, { key })).body).toMatchObject({ updates: [{ ...kept, metrics: null }] })
})

it('shows how many updates were needed if its threshold is above min_devices', async () => {
  const { world, members } = await secureFleet(4, openOrganization())
  const round = await startOk(world, members, { secure_aggregation: { threshold: 4 } })
  for (const { device } of members) await device.plan(round.id)
  await members[1]!.device.reportFailure(round.id, 'battery')
  expect(await statusOf(world, members[0]!, round.id)).toMatchObject({
    status: 'failed',
    failure_reason: '1 of 4 devices failed: battery (1). At least 4 updates were needed',
  })
})

describe('the service refuses', () => {
  it('to start invalid rounds', async () => {
    const { world, members } = await secureFleet(1, openOrganization())
    const refused: [fields: object, message: string][] = [
      [{ secure_aggregation: { threshold: 2 } }, 'secure_aggregation.threshold is 2; with 4 devices'],
      [{ secure_aggregation: { threshold: 3 }, min_devices: 4 }, 'min_devices is 4'],
      [{ strategy: 'krum' }, "secure_aggregation cannot be combined with strategy 'krum'"],
      [{ privacy: { noise_multiplier: 1, clip_norm: 1 } }, 'secure_aggregation cannot be combined with privacy'],
      [{ target_devices: 300 }, 'Select between 2 and 255'],
      [{ global_model_id: undefined }, 'secure_aggregation works on the changes of a model'],
    ]
    for (const [fields, message] of refused) {
      expect([fields, await start(world, members[0]!, { target_devices: 4, ...fields })]).toMatchObject([
        fields,
        { status: 400, body: { message: expect.stringContaining(message) } },
      ])
    }
  })

  it('messages that are out of turn, repeated, tampered with, or from a device that is not a participant', async () => {
    const { world, members } = await secureFleet(4, openOrganization())
    const round = await startOk(world, members)
    const stranger = await world.register('late')
    const settings = secureSettings({ devices: 4 })
    const steps = stepsOf(round.id, settings)
    const [a, b] = members as [Member, Member]
    const path = `/api/v1/training/rounds/${round.id}/secure`
    const post = async (step: string, key: string, body: object) => {
      const response = await world.request('POST', `${path}/${step}`, { key, body })
      return [response.status, (response.body as { message?: string }).message ?? ''] as const
    }
    const keys = () => {
      const { message } = advertise({ roundId: round.id, device: 'x', settings })
      return { encryption_key: message.encryptionKey, masking_key: message.maskingKey }
    }
    const conflict = (words: string) => [409, expect.stringContaining(words)]
    const bad = (words: string) => [400, expect.stringContaining(words)]

    const first = keys()
    expect(await post('keys', stranger.key, first)).toEqual(conflict('is not a participant'))
    expect(await post('keys', a.key, { ...first, masking_key: '00' })).toEqual(bad('masking_key'))
    expect(await post('keys', a.key, { ...first, masking_key: '00'.repeat(32) })).toEqual(
      bad('is not valid for key agreement'),
    )
    await steps.keys(a)
    expect(await post('keys', a.key, keys())).toEqual(conflict('the first message counts'))
    const { encryptionKey, maskingKey } = a.part!.step === 'advertised' ? a.part!.message : expect.unreachable()
    const replayed = { encryption_key: maskingKey, masking_key: encryptionKey }
    expect(await post('keys', b.key, replayed)).toEqual(bad('is used by another device'))
    expect(await post('shares', a.key, { seed_commitment: '00'.repeat(32), sealed: {} })).toEqual(
      conflict('is advertising, not sharing'),
    )
    for (const member of members.slice(1)) await steps.keys(member)

    // Once a step is over, no new device gets a place.
    await a.device.reportFailure(round.id, 'gone')
    expect(
      (await world.request('PUT', '/api/v1/devices/late/heartbeat', { key: stranger.key, body: {} })).body,
    ).toEqual(expect.not.objectContaining({ pending_round_id: round.id }))
    expect(await post('shares', b.key, { seed_commitment: '00'.repeat(32), sealed: {} })).toEqual(bad('lacks device'))
    for (const member of members.slice(1)) await steps.shares(member)

    // An unmasked update, which has a different length, and an update from a device that no longer counts.
    await expect(b.device.submit(round.id, GLOBAL, { numSamples: 1 })).rejects.toThrow('words of 4 bytes')
    await expect(a.device.submit(round.id, GLOBAL, { numSamples: 1 })).rejects.toThrow(
      'has already failed in this round',
    )
    for (const member of members.slice(1)) await steps.masked(member)
    await world.service.runDueTasks()
    const { status, delivered } = await b.device.secure.state(round.id)
    expect({ status, delivered }).toEqual({
      status: 'unmasking',
      delivered: members
        .slice(1)
        .map(({ id }) => id)
        .sort(),
    })
    const share = '11'.repeat(33)
    const all = Object.fromEntries(delivered!.map((id) => [id, share]))
    const both = { self_masks: all, masking_keys: { [b.id]: share } }
    expect(await post('unmask', b.key, both)).toEqual(bad('which has no part in it'))
    for (const member of members.slice(1)) await steps.unmask(member)
    await world.service.runDueTasks()
    const done = await statusOf(world, b, round.id)
    expect(await download(world, b, done.aggregated_model_id)).toEqual(plainResult(members.slice(1), settings).tensors)
  })

  it('to show the secure state of a round that has none', async () => {
    const { world, members } = await secureFleet(2, openOrganization())
    const round = await startOk(world, members, { secure_aggregation: undefined })
    const response = await world.request('GET', `/api/v1/training/rounds/${round.id}/secure`, { key: members[0]!.key })
    expect(response.status).toBe(404)
  })
})

it('a wrong share fails the round, and the sum stays masked', async () => {
  const { world, members } = await secureFleet(3, openOrganization())
  const round = await startOk(world, members)
  const steps = stepsOf(round.id, secureSettings({ devices: 3 }))
  for (const step of ['keys', 'shares', 'masked'] as const) for (const member of members) await steps[step](member)
  const { device } = members[0]!
  await world.service.runDueTasks()
  const { delivered } = await device.secure.state(round.id)
  const wrong = Object.fromEntries(delivered!.map((id) => [id, '11'.repeat(33)]))
  await device.secure.sendUnmask(round.id, { selfMasks: wrong, maskingKeys: {} })
  await steps.unmask(members[1]!)
  await world.service.runDueTasks()
  expect(await statusOf(world, members[0]!, round.id)).toMatchObject({
    status: 'failed',
    aggregated_model_id: null,
    failure_reason: expect.stringContaining('do not reconstruct its secret'),
  })
})

it('a secure round survives a restart of the service in every step', async () => {
  const world = await startWorld({ durable: true, database: hasPostgres() ? 'postgres' : 'embedded' })
  const { members } = await secureFleet(3, world)
  const round = await startOk(world, members)
  const settings = secureSettings({ devices: 3 })
  const steps = stepsOf(round.id, settings)
  for (const step of ['keys', 'shares', 'masked', 'unmask'] as const) {
    await steps[step](members[0]!)
    await world.restart()
    for (const member of members) member.device = connect(world, member)
    for (const member of members.slice(1)) await steps[step](member)
  }
  await world.service.runDueTasks()
  const done = await statusOf(world, members[0]!, round.id)
  expect(await download(world, members[0]!, done.aggregated_model_id)).toEqual(plainResult(members, settings).tensors)
})
