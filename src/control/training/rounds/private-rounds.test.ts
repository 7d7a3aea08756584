import { describe, expect, it } from 'vitest'
import { distance, openPrivate } from '../../../../test/private-rounds.ts'
import { coinBound, leastTarget } from '../../../domain/poisson-sampling.ts'

describe('the start of a private round', () => {
  it('is refused if the draw would often be too small, with a target that works or a note that none does', async () => {
    const { start, fleet } = await openPrivate(4)
    expect(await start({ target_devices: 2, min_devices: 2 })).toEqual({
      status: 400,
      body: {
        error: 'bad_request',
        message:
          'target_devices: a private round draws each device independently at random. 4 devices are eligible, and with a ' +
          'target of 2 the draw would be smaller than min_devices (2) in 31% of rounds; at most 1% is allowed. Set ' +
          'target_devices to at least 4, or lower min_devices.',
        status_code: 400,
      },
    })
    expect((await start({ target_devices: 4, min_devices: 2 })).status).toBe(201)
    expect(fleet).toHaveLength(4)
    const alone = await openPrivate(1)
    expect(await alone.start({ target_devices: 5, min_devices: 2 })).toMatchObject({
      status: 400,
      body: {
        message: expect.stringContaining('only 1 device is eligible, so a private round that needs 2 cannot start'),
      },
    })
  })

  it("fixes N and q, shows the adjacency that epsilon refers to, and leaves the starter's selection to chance", async () => {
    const { world, fleet, send, start, isSelected, setSeed, seedThatDraws } = await openPrivate(12)
    setSeed(seedThatDraws(3, coinBound(6 / 12)!))
    const { status, body } = await start({ target_devices: 6, min_devices: 1, timeout_seconds: 300 })
    const sampling = { denominator: 6, sample_rate: 0.5, sampling: 'poisson', population: 12, adjacency: 'zero-out' }
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { status: 'active', privacy: { ...sampling, closes_at: '2026-01-01T00:05:00.000Z' } },
    })
    expect((await send('GET', `/training/rounds/${body.id}/plan`)).body).toMatchObject({
      clip_norm: 1,
      privacy: { clip_norm: 1, ...sampling },
    })
    const selected: boolean[] = []
    for (const device of fleet) selected.push(await isSelected(body.id, device))
    expect(selected.filter(Boolean)).toHaveLength(3)
    expect(selected[0]).toBe(false)

    // No device joins later, neither one that was not drawn nor a new one.
    const late = await world.register('late')
    for (const [at, { deviceId, key }] of [...fleet, late].entries()) {
      const beat = await send('PUT', `/devices/${deviceId}/heartbeat`, {}, key)
      expect(beat.body.pending_round_id).toBe(selected[at] ? body.id : undefined)
    }
    const why = async (name: string) =>
      (await send('GET', `/training/rounds/${body.id}/selection?device_id=${name}`)).body.reason
    expect(await why(fleet[selected.indexOf(true)]!.deviceId)).toMatch(/^Selected: each eligible device was drawn/)
    expect(await why(fleet[selected.indexOf(false)]!.deviceId)).toMatch(/^Not selected: each eligible device was drawn/)
  })

  it('ends at once, with the reason, if the draw is smaller than min_devices', async () => {
    const { send, start, setSeed, seedThatDraws } = await openPrivate(10)
    const target = leastTarget(1, 10)!
    setSeed(seedThatDraws(0, coinBound(target / 10)!))
    const { status, body } = await start({ target_devices: target, min_devices: 1 })
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { status: 'failed', failure_reason: expect.stringMatching(/^The draw gave 0 of at least 1 device: /) },
    })
    expect((await send('GET', '/training/rounds/current')).body).toEqual(body)
    setSeed(null)
    expect((await start({ target_devices: 10, min_devices: 1 })).body.status).toBe('active')
  })
})

describe('a private job', () => {
  it('is charged for a draw that was too small, and draws again in its next round', async () => {
    const { world, fleet, send, deliver, setSeed, seedThatDraws } = await openPrivate(10)
    const privacy = { noise_multiplier: 2, clip_norm: 1 }
    const target_devices = leastTarget(1, 10)!
    setSeed(seedThatDraws(0, coinBound(target_devices / 10)!))
    const job = { model: 'zeros', rounds: 1, min_devices: 1, target_devices, timeout_seconds: 60, privacy }
    const { id } = (await send('POST', '/training/jobs', job)).body
    // Set before the next round, which begins within a second.
    setSeed(seedThatDraws(2, coinBound(target_devices / 10)!))
    const detail = async () => (await send('GET', `/training/jobs/${id}`)).body
    const failed = await detail()
    expect(failed).toMatchObject({ status: 'running', rounds_failed_in_a_row: 1 })
    expect((failed.history as unknown[])[0]).toMatchObject({
      status: 'failed',
      failure_reason: expect.stringMatching(/^The draw gave 0 of at least 1 device/),
    })
    await world.service.runDueTasks()
    const { round_id } = ((await detail()).history as { round_id: string }[])[1]!
    for (const device of fleet) await deliver(round_id, device, [1, 0, 0, 0])
    await world.service.runDueTasks()
    expect(await detail()).toMatchObject({ status: 'completed', rounds_completed: 1, privacy_spent: { rounds: 2 } })
  })

  it('ends after three draws in a row that are too small', async () => {
    const { world, send, setSeed, seedThatDraws } = await openPrivate(10)
    const target_devices = leastTarget(1, 10)!
    setSeed(seedThatDraws(0, coinBound(target_devices / 10)!))
    const privacy = { noise_multiplier: 2, clip_norm: 1 }
    const { id } = (await send('POST', '/training/jobs', { model: 'zeros', min_devices: 1, target_devices, privacy }))
      .body
    for (let time = 0; time < 4; time++) await world.service.runDueTasks()
    expect((await send('GET', `/training/jobs/${id}`)).body).toMatchObject({
      status: 'failed',
      ended_by: 'rounds_failed',
      ended_at: expect.any(String),
      privacy_spent: { rounds: 3 },
    })
  })
})

describe('the end of a private round', () => {
  it('comes when all devices have reported, or at a fixed time that reaching min_devices does not change', async () => {
    const { world, fleet, start, deliver, round } = await openPrivate(4)
    const { body } = await start({ target_devices: 4, min_devices: 2, timeout_seconds: 300 })
    await deliver(body.id, fleet[0]!, [0, 0, 0, 0])
    await world.advance(100)
    await deliver(body.id, fleet[1]!, [0, 0, 0, 0])
    await world.advance(199)
    expect(await round(body.id)).toMatchObject({ status: 'active', completed_devices: 2 })
    expect((await deliver(body.id, fleet[2]!, [0, 0, 0, 0])).status).toBe(201)
    await world.advance(1)
    expect(await round(body.id)).toMatchObject({ status: 'completed', completed_devices: 3, failed_devices: 1 })
  })

  it('comes when the straggler grace that an operator has set is over, counted from the start', async () => {
    const { world, fleet, start, deliver, round } = await openPrivate(3, { config: { stragglerGraceSeconds: 20 } })
    const { body } = await start({ target_devices: 3, min_devices: 2 })
    expect(body.privacy).toMatchObject({ closes_at: '2026-01-01T00:00:20.000Z' })
    await world.advance(15)
    for (const device of fleet.slice(0, 2)) await deliver(body.id, device, [0, 0, 0, 0])
    await world.advance(4)
    expect((await round(body.id)).status).toBe('active')
    await world.advance(1)
    expect((await round(body.id)).status).toBe('completed')

    const second = await start({ target_devices: 3, min_devices: 2 })
    await deliver(second.body.id, fleet[0]!, [0, 0, 0, 0])
    await world.advance(20)
    expect(await round(second.body.id)).toMatchObject({
      status: 'failed',
      failure_reason: 'Timed out after 20 s: 1 of at least 2 updates had arrived.',
    })
  })

  it('comes at once if all devices have reported but too few have delivered', async () => {
    const { fleet, send, start, deliver, round } = await openPrivate(3)
    const { body } = await start({ target_devices: 3, min_devices: 2 })
    for (const { key } of fleet.slice(1))
      await send('POST', `/training/rounds/${body.id}/failures`, { reason: 'hot' }, key)
    await deliver(body.id, fleet[0]!, [0, 0, 0, 0])
    expect(await round(body.id)).toMatchObject({
      status: 'failed',
      failure_reason: 'All devices have reported: 1 of at least 2 updates had arrived.',
    })
  })
})

describe('a private round whose devices have all failed', () => {
  it('ends at once, because no device may take their places', async () => {
    const { fleet, send, start, round } = await openPrivate(3)
    const { body } = await start({ target_devices: 3, min_devices: 1, timeout_seconds: 300 })
    for (const { key } of fleet)
      await send('POST', `/training/rounds/${body.id}/failures`, { reason: 'out of memory' }, key)
    expect(await round(body.id)).toMatchObject({
      status: 'failed',
      failure_reason: 'All devices have reported: 0 of at least 1 update had arrived.',
    })
  })
})

describe('the sum of a private round', () => {
  /** Devices submit, fail, or stay silent according to their plans; returns the noisy sum. */
  const play = async (
    { world, fleet, send, start, deliver, round, sumOf }: Awaited<ReturnType<typeof openPrivate>>,
    plans: readonly { readonly at: number; readonly values: readonly number[] | null }[],
  ) => {
    // Only active devices are drawn.
    for (const { deviceId, key } of fleet) await send('PUT', `/devices/${deviceId}/heartbeat`, {}, key)
    const { body } = await start({ target_devices: plans.length, min_devices: 2, timeout_seconds: 60 })
    for (let second = 0; second <= 60; second += 10) {
      for (const [at, { at: due, values }] of plans.entries()) {
        if (due !== second || (await round(body.id)).status !== 'active') continue
        if (values !== null) await deliver(body.id, fleet[at]!, values)
        else await send('POST', `/training/rounds/${body.id}/failures`, { reason: 'out of memory' }, fleet[at]!.key)
      }
      await world.advance(10)
    }
    expect((await round(body.id)).status).toBe('completed')
    return sumOf(body.id)
  }

  it('moves by at most the clip norm, whether one device sends much, little, or nothing, early or late', async () => {
    const others = [
      { at: 0, values: [-9, 0, 0, 0] },
      { at: 20, values: [-9, 0, 0, 0] },
      { at: 40, values: [0, -3, 0, 0] },
    ]
    const never = 1000
    const opened = await openPrivate(1 + others.length)
    const without = await play(opened, [{ at: never, values: null }, ...others])
    // Two updates clipped to -1 in the same coordinate and one in the next: none was left out.
    expect(distance(without, [-2, -1, 0, 0])).toBeLessThan(0.02)
    for (const x of [
      { at: 0, values: [1e6, 0, 0, 0] },
      { at: 10, values: [0, 0, 0.25, 0] },
      { at: 30, values: [9, 9, 9, 9] },
      { at: 50, values: [-1, 0, 0, 0] },
      { at: 10, values: null },
    ]) {
      expect(distance(await play(opened, [x, ...others]), without)).toBeLessThan(1 + 0.02)
    }
  })

  it('is divided by target_devices, however many were drawn and delivered; each update has one share as its weight', async () => {
    const { world, fleet, send, start, deliver, sumOf, setSeed, isSelected, seedThatDraws } = await openPrivate(8)
    setSeed(seedThatDraws(7, coinBound(5 / 8)!))
    const { body } = await start({ target_devices: 5, min_devices: 1, timeout_seconds: 60 })
    const drawn = []
    for (const device of fleet) if (await isSelected(body.id, device)) drawn.push(device)
    expect(drawn).toHaveLength(7)
    for (const device of drawn.slice(0, 6)) expect((await deliver(body.id, device, [2, 0, 0, 0])).status).toBe(201)
    await world.advance(60)
    expect(distance(await sumOf(body.id), [6, 0, 0, 0])).toBeLessThan(0.02)
    const { updates } = (await send('GET', `/training/rounds/${body.id}/updates`)).body as { updates: object[] }
    expect(updates).toHaveLength(6)
    for (const update of updates) expect(update).toMatchObject({ weight: 1 / 5, norm: null, local_loss: null })
    const receipt = (await send('GET', `/training/rounds/${body.id}/receipt`)).body
    expect(receipt).toMatchObject({ privacy: { denominator: 5, sampling: 'poisson', population: 8 } })
    expect((receipt.updates as object[])[0]).toMatchObject({ weight: 1 / 5 })
    expect((await send('POST', `/training/rounds/${body.id}/receipt/replay`)).body).toMatchObject({ matches: true })
  })

  it('has other noise for other updates, so that a round that ends again after a restore reveals no difference', async () => {
    const { world, fleet, start, deliver, sumOf } = await openPrivate(2)
    const sumWith = async (values: readonly number[]) => {
      const { id } = (await start({ target_devices: 2, min_devices: 2 }, 1)).body as { id: string }
      await world.database!.sql.updateTable('rounds').set('noise_seed', 'ab'.repeat(32)).where('id', '=', id).execute()
      for (const device of fleet) await deliver(id, device, values)
      return world.advance(1).then(() => sumOf(id))
    }
    const [first, again] = [await sumWith([0.5, 0, 0, 0]), await sumWith([0.5, 0, 0, 0])]
    expect(again).toEqual(first)
    expect((await sumWith([0, 0.5, 0, 0]))[2]).not.toBe(first[2])
  })
})
