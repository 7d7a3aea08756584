import { describe, expect, it } from 'vitest'
import {
  comeOnce,
  type FleetDevice,
  type JobBody,
  jobOf,
  play,
  startFleet,
  startJob,
  uploadModel,
} from '../../../../test/training-fleet.ts'
import { startWorld, type World, type WorldOptions } from '../../../../test/world.ts'
import type { LocalUpdate } from '../../../sdk/trainers/built-in.ts'

type Body = Record<string, unknown>

const get = async (world: World, key: string, path: string) =>
  (await world.request('GET', `/api/v1/training/rounds/${path}`, { key })).body as Body

const begin = async (count: number, fields: object, options: WorldOptions = {}) => {
  const world = await startWorld(options)
  const fleet = await startFleet(world, count)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  const response = await startJob(world, key, { strategy: 'fedbuff', rounds: 2, ...fields })
  return { world, fleet, key, response, job: response.body as JobBody }
}

const trainFor = async ({ device, trainer }: FleetDevice, roundId: string): Promise<LocalUpdate> => {
  const plan = await device.plan(roundId)
  return trainer(await device.model(plan), plan, undefined, { control: null })
}

const deliver = ({ device }: FleetDevice, roundId: string, { weights, report }: LocalUpdate) =>
  device.submit(roundId, weights, report)

/** A job whose first round ended while two of its five devices were still training. */
const laggards = async () => {
  const begun = await begin(5, { strategy_options: { buffer: 3 }, target_devices: 5, rounds: 2 })
  const { world, fleet, key } = begun
  const late = fleet.slice(3)
  const first = (await late[0]!.device.heartbeat()).pendingRoundId!
  const updates = [await trainFor(late[0]!, first), await trainFor(late[1]!, first)] as const
  expect(await comeOnce(fleet.slice(0, 3))).toBe(3)
  await world.service.runDueTasks()
  const second = (await get(world, key, 'current')).id as string
  expect(second).not.toBe(first)
  return { ...begun, late: late as [FleetDevice, FleetDevice], first, second, updates }
}

const updatesOf = async (world: World, key: string, roundId: string) => {
  const { updates } = (await get(world, key, `${roundId}/updates`)) as { updates: Body[] }
  return updates.map(({ device_identifier, staleness, base_round_id }) => [device_identifier, staleness, base_round_id])
}

describe('a device carried over by an asynchronous job', () => {
  it('was not replaced because it had stopped sending heartbeats', async () => {
    const { world, fleet, key, job } = await begin(3, { strategy_options: { buffer: 2 }, target_devices: 3 })
    const late = fleet[2]!
    const first = (await late.device.heartbeat()).pendingRoundId!
    const updates: LocalUpdate[] = []
    for (const device of fleet) updates.push(await trainFor(device, first))
    await world.advance(2)
    await late.device.heartbeat({ training: true })
    await world.advance(100)
    for (const n of [0, 1]) await deliver(fleet[n]!, first, updates[n]!)
    await world.service.runDueTasks()
    expect((await get(world, key, 'current')).id).not.toBe(first)
    await deliver(late, first, updates[2]!)
    expect(await comeOnce(fleet.slice(0, 1))).toBe(1)
    await world.service.runDueTasks()
    expect(await jobOf(world, key, job.id)).toMatchObject({ status: 'completed', rounds_completed: 2 })
  })

  it.each(['plan and model', 'plan', 'model'] as const)(
    'trains from the current round once it fetches its %s',
    async (what) => {
      const { world, fleet, key, job, late, first, second, updates } = await laggards()
      const { device } = late[0]
      expect((await device.heartbeat()).pendingRoundId).toBe(first)
      const path = `/api/v1/training/rounds/${second}`
      if (what !== 'model') await world.request('GET', `${path}/plan`, { key: late[0].key })
      if (what !== 'plan') await world.request('GET', `${path}/model`, { key: late[0].key })
      expect((await device.heartbeat()).pendingRoundId).toBe(second)
      await deliver(late[0], second, await trainFor(late[0], second))
      // The other device submits its first-round training to the second round: that update is as stale as its base model.
      await deliver(late[1], second, updates[1])
      await comeOnce(fleet.slice(0, 1))
      await world.service.runDueTasks()
      expect(await updatesOf(world, key, second)).toEqual([
        ['d0', 0, null],
        ['d3', 0, null],
        ['d4', 1, first],
      ])
      expect(await jobOf(world, key, job.id)).toMatchObject({ status: 'completed' })
      const replay = await world.request('POST', `/api/v1/training/rounds/${second}/receipt/replay`, { key })
      expect(replay.body).toMatchObject({ matches: true })
    },
  )

  it('keeps its base round after it has delivered, and when it only fetches the base round again', async () => {
    const { world, fleet, key, late, first, second, updates } = await laggards()
    await late[0].device.plan(first)
    await deliver(late[0], first, updates[0])
    await late[0].device.plan(second)
    await comeOnce(fleet.slice(0, 2))
    await world.service.runDueTasks()
    expect(await updatesOf(world, key, second)).toEqual([
      ['d0', 0, null],
      ['d1', 0, null],
      ['d3', 1, first],
    ])
  })

  it('can no longer submit to the round that it left', async () => {
    const { late, first, second, updates } = await laggards()
    await late[0].device.plan(second)
    await expect(deliver(late[0], first, updates[0])).rejects.toThrow('updates are accepted only while it is active')
  })
})

describe('an asynchronous job with places', () => {
  it('gives the place of a device that has delivered to another device until the buffer is full', async () => {
    const fields = { strategy_options: { buffer: 4 }, target_devices: 2, min_devices: 1 }
    const { world, fleet, key, job } = await begin(5, fields)
    const pending = () => Promise.all(fleet.map(async ({ device }) => (await device.heartbeat()).pendingRoundId))
    const [first] = (await pending()).filter((id) => id !== null) as [string]
    const delivered: string[] = []
    for (let count = 1; count <= 4; count++) {
      const asked = await pending()
      const training = fleet.filter((_, index) => asked[index] === first)
      // Two devices train at any time: a free place goes to another device with its next heartbeat.
      expect(training).toHaveLength(2)
      const [next] = training as [FleetDevice]
      await deliver(next, first, await trainFor(next, first))
      delivered.push(next.name)
      await world.service.runDueTasks()
      const { status, completed_devices } = await get(world, key, `${first}/status`)
      expect([status, completed_devices]).toEqual(count < 4 ? ['active', count] : ['completed', 4])
    }
    expect(new Set(delivered).size).toBe(4)
    // Devices that delivered may take part in the next round.
    expect((await play(world, job.id, fleet)).status).toBe('completed')
  })

  it('closes a round early if no other active device can deliver, and warns of this at the start', async () => {
    const { world, fleet, key, response, job } = await begin(3, { strategy_options: { buffer: 10 }, min_devices: 2 })
    expect(response.headers.get('x-service-warning')).toContain(
      'strategy_options.buffer is 10, and 3 devices are active. A device delivers once to a round, so a round closes with fewer ' +
        'updates, at least min_devices (2), once all active devices have delivered. Lower buffer, or add devices.',
    )
    await comeOnce(fleet.slice(0, 2))
    await world.service.runDueTasks()
    expect(await get(world, key, 'current')).toMatchObject({ status: 'active', completed_devices: 2, round_number: 1 })
    await comeOnce(fleet.slice(2))
    await world.service.runDueTasks()
    expect(await get(world, key, 'current')).toMatchObject({ status: 'active', round_number: 2 })
    expect((await jobOf(world, key, job.id)).history[0]).toMatchObject({ status: 'completed', completed_devices: 3 })
  })

  it('does not warn if enough devices are active, or if min_devices equals the buffer', async () => {
    const enough = await begin(3, { strategy_options: { buffer: 3 }, min_devices: 2 })
    expect(enough.response.headers.get('x-service-warning')).toBeNull()
    const whole = await begin(2, { strategy_options: { buffer: 3 }, min_devices: 3 })
    expect(whole.response.headers.get('x-service-warning')).toBeNull()
  })
})
