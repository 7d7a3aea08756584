import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import {
  comeOnce,
  type FleetDevice,
  type JobBody,
  jobOf,
  startFleet,
  startJob,
  uploadModel,
} from '../../../../test/training-fleet.ts'
import { startWorld, type World } from '../../../../test/world.ts'
import { takePart } from '../../../sdk/take-part.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

const get = async (world: World, key: string, path: string) =>
  (await world.request('GET', `/api/v1/training/rounds/${path}`, { key })).body as Record<string, unknown>

describe('an asynchronous job', () => {
  const begin = async (fields: object = {}) => {
    const world = await startWorld()
    const fleet = await startFleet(world, 4)
    const { key } = fleet[0]!
    await uploadModel(world, key)
    const response = await startJob(world, key, {
      strategy: 'fedbuff',
      strategy_options: { buffer: 3 },
      target_devices: 4,
      rounds: 2,
      ...fields,
    })
    return { world, fleet, key, job: response.body as JobBody }
  }

  it('accepts into its current round an update that a slow device began two rounds ago, at a lower weight', async () => {
    const { world, fleet, key, job } = await begin({ rounds: 3 })
    const slow = fleet[3]!
    const { pendingRoundId: base } = await slow.device.heartbeat()
    const plan = await slow.device.plan(base!)
    const model = await slow.device.model(plan)
    for (let round = 0; round < 2; round++) {
      expect(await comeOnce(fleet.slice(0, 3))).toBe(3)
      await world.service.runDueTasks()
    }
    const present = await get(world, key, 'current')
    expect(present).toMatchObject({ status: 'active', round_number: 3 })
    // Its heartbeat still names the round whose model it has, so that it keeps training.
    expect((await slow.device.heartbeat()).pendingRoundId).toBe(base)
    const update = await slow.trainer(model, plan, undefined, { control: null })
    await slow.device.submit(base!, update.weights, update.report)
    await comeOnce(fleet.slice(0, 2))
    await world.service.runDueTasks()
    expect(await jobOf(world, key, job.id)).toMatchObject({ status: 'completed', ended_by: 'rounds_done' })
    const { updates } = (await get(world, key, `${present.id}/updates`)) as { updates: Record<string, unknown>[] }
    expect(updates.map((one) => [one.device_identifier, one.staleness, one.base_round_id])).toEqual([
      ['d0', 0, null],
      ['d1', 0, null],
      ['d3', 2, base],
    ])
    // The update stays recorded when the device submits again to the round that it began with.
    const again = await slow.device.submit(base!, update.weights, update.report)
    expect(again).toEqual({ updateId: null, alreadyKept: true })
    const replay = await world.request('POST', `/api/v1/training/rounds/${present.id}/receipt/replay`, { key })
    expect(replay.body).toMatchObject({ matches: true })
  })

  it('drops a device that is too far behind, and all devices when it ends', async () => {
    const { world, fleet, key, job } = await begin({ strategy_options: { buffer: 3, max_staleness: 0 } })
    const slow = fleet[3]!
    const { pendingRoundId: base } = await slow.device.heartbeat()
    const plan = await slow.device.plan(base!)
    const update = await slow.trainer(await slow.device.model(plan), plan, undefined, { control: null })
    await comeOnce(fleet.slice(0, 3))
    await world.service.runDueTasks()
    await expect(slow.device.submit(base!, update.weights, update.report)).rejects.toThrow(
      'The round is completed, and the update is too old for the rounds after it: an update counts up to 0 rounds later ' +
        '(strategy_options.max_staleness), and no later than the timeout. Send a heartbeat, and train again from the model of ' +
        'the current round.',
    )
    const { pendingRoundId: next } = await slow.device.heartbeat()
    expect(next).not.toBe(base)
    expect(next).not.toBeNull()
    await comeOnce(fleet.slice(0, 3))
    await world.service.runDueTasks()
    expect(await jobOf(world, key, job.id)).toMatchObject({ status: 'completed' })
    expect((await slow.device.heartbeat()).pendingRoundId).toBeNull()
    await expect(takePart(slow.device, next!, slow.trainer)).rejects.toThrow(/updates are accepted only while/)
  })

  it('holds an update that arrives between two rounds for the next round', async () => {
    const { world, fleet, key } = await begin()
    const late = fleet[3]!
    const { pendingRoundId: base } = await late.device.heartbeat()
    const plan = await late.device.plan(base!)
    const update = await late.trainer(await late.device.model(plan), plan, undefined, { control: null })
    // The third update closes the round; the fourth arrives during the aggregation.
    const [, submission] = await Promise.all([
      comeOnce(fleet.slice(0, 3)),
      late.device.submit(base!, update.weights, update.report),
    ])
    expect(submission).toMatchObject({ alreadyKept: false })
    await world.service.runDueTasks()
    const { updates } = (await get(world, key, `${base}/updates`)) as { updates: unknown[] }
    expect(updates.length).toBe(3)
  })
})

describe('a job of a federation', () => {
  const federation = async () => {
    const open = await openFederation()
    const { world, send, keyOf, found } = open
    const keys = { acme: await keyOf('acme'), globex: await keyOf('globex'), initech: await keyOf('initech') }
    const id = await found(['globex'])
    await uploadModel(world, keys.acme)
    return { ...open, keys, id, send, world }
  }

  const deviceOf = async (world: World, key: string, name: string, template: FleetDevice['rows']) => {
    const response = await world.request('POST', '/api/v1/devices/register', { key, body: { device_id: name } })
    const { api_key } = response.body as { api_key: string }
    const { createDevice } = await import('../../../sdk/device-client.ts')
    const { localTrainer } = await import('../../../sdk/trainers/local-trainer.ts')
    const now = () => world.now().getTime()
    const device = createDevice({ baseUrl: world.baseUrl, deviceId: name, apiKey: api_key, now })
    return { name, key: api_key, device, rows: template, trainer: localTrainer(template, { deviceId: name }) }
  }

  it('trains with the devices of all members and no others, and is visible to the members', async () => {
    const { world, keys, id } = await federation()
    const { syntheticDevices } = await import('../../../sdk/trainers/synthetic.ts')
    const rows = syntheticDevices({ alpha: 0, beta: 0, devices: 3, seed: 1, features: 5, classes: 3, maxRows: 50 })
    const fleet = [
      await deviceOf(world, keys.acme, 'a', rows[0]!),
      await deviceOf(world, keys.globex, 'g', rows[1]!),
      await deviceOf(world, keys.initech, 'i', rows[2]!),
    ]
    const job = (await startJob(world, keys.acme, { federation: id, rounds: 1 })).body as JobBody
    expect((await fleet[2]!.device.heartbeat()).pendingRoundId).toBeNull()
    expect(await comeOnce(fleet)).toBe(2)
    await world.service.runDueTasks()
    expect(await jobOf(world, keys.globex, job.id)).toMatchObject({ status: 'completed', federation_id: id })
    expect(await jobOf(world, keys.initech, job.id)).toMatchObject({ error: 'not_found' })
    const stop = await world.request('POST', `/api/v1/training/jobs/${job.id}/stop`, { key: keys.globex })
    expect([stop.status, stop.body]).toMatchObject([
      403,
      { message: "Only 'acme', which started the job, can stop it." },
    ])
    expect((await startJob(world, keys.initech, { federation: id })).status).toBe(404)
  })

  it('spends the budget with its rounds, is refused if it would exceed it, and ends when others have spent it', async () => {
    const { world, keys, id, admin } = await federation()
    const { syntheticDevices } = await import('../../../sdk/trainers/synthetic.ts')
    const rows = syntheticDevices({ alpha: 0, beta: 0, devices: 2, seed: 1, features: 5, classes: 3, maxRows: 50 })
    const fleet = [await deviceOf(world, keys.acme, 'a', rows[0]!), await deviceOf(world, keys.globex, 'g', rows[1]!)]
    const privacy = { noise_multiplier: 1, clip_norm: 1 }
    const start = (fields: object) => startJob(world, keys.acme, { federation: id, privacy, ...fields })
    expect(await start({ rounds: 1 })).toMatchObject({ status: 409, body: { message: /has no privacy budget/ } })
    const path = `/api/v1/federations/${id}/privacy/budget`
    const budget = { total_epsilon_budget: 8, total_delta_budget: 1e-5 }
    expect((await world.request('PUT', path, { key: admin, body: budget })).status).toBe(200)
    // One such round costs 4.377, two 6.6, three 8.6 (PLD); the first number is in REFERENCE.
    expect(await start({ rounds: 3 })).toMatchObject({ status: 409, body: { message: /epsilon 0 of 8/ } })
    const first = (await start({ rounds: 2 })).body as JobBody
    await world.advance(1)
    const second = (await start({ rounds: 1 })).body as JobBody
    for (let round = 0; round < 4; round++) {
      await comeOnce(fleet)
      await world.advance(1)
    }
    const ended = [await jobOf(world, keys.acme, first.id), await jobOf(world, keys.acme, second.id)]
    expect(ended.map(({ ended_by }) => ended_by)).toEqual(['budget_spent', 'rounds_done'])
    expect(ended.map((job) => job.rounds_completed)).toEqual([1, 1])
    expect(ended[0]).toMatchObject({ status: 'completed', reason: expect.stringMatching(/epsilon 6\.\d+ of 8/) })
    const replay = await world.request(
      'POST',
      `/api/v1/training/rounds/${ended[0]!.history[0]!.round_id}/receipt/replay`,
      { key: admin },
    )
    expect(replay.body).toMatchObject({ matches: true })
  })

  it('finds the noise multiplier for a target epsilon', async () => {
    const { world, keys } = await federation()
    const privacy = { target_epsilon: 4.377178, target_delta: 1e-5, clip_norm: 1 }
    const job = await startJob(world, keys.acme, { rounds: 1, privacy })
    expect((job.body as { privacy: { noise_multiplier: number } }).privacy.noise_multiplier).toBeCloseTo(1, 2)
  })

  it('refuses a target epsilon that needs more noise than rounds accept', async () => {
    const { world, keys } = await federation()
    const of = (target_epsilon: number) =>
      startJob(world, keys.acme, { rounds: 1, privacy: { target_epsilon, target_delta: 1e-5, clip_norm: 1 } })
    const message =
      /^privacy.target_epsilon 0.0005 needs a noise_multiplier of \d+; the maximum is 1000\. Choose a higher/
    expect(await of(0.0005)).toMatchObject({ status: 400, body: { message: expect.stringMatching(message) } })
  })
})

describe('a job that outlives the service', () => {
  it('continues after a restart with its state', async () => {
    const world = await startWorld({ durable: true, database: hasPostgres() ? 'postgres' : 'embedded' })
    const fleet = await startFleet(world, 2)
    const { key } = fleet[0]!
    await uploadModel(world, key)
    const job = (await startJob(world, key, { strategy: 'fedadam', rounds: 2 })).body as JobBody
    const results: string[] = []
    for (let round = 0; round < 2; round++) {
      await world.restart()
      const present = await Promise.all(
        fleet.map(async ({ name, rows, key: own }) => {
          const { createDevice } = await import('../../../sdk/device-client.ts')
          const now = () => world.now().getTime()
          const device = createDevice({ baseUrl: world.baseUrl, deviceId: name, apiKey: own, now })
          const { localTrainer } = await import('../../../sdk/trainers/local-trainer.ts')
          return { name, key: own, rows, device, trainer: localTrainer(rows, { deviceId: name }) }
        }),
      )
      expect(await comeOnce(present)).toBe(2)
      await world.restart()
      await world.service.runDueTasks()
      const { history } = await jobOf(world, key, job.id)
      results.push(history[round]!.status)
    }
    expect(results).toEqual(['completed', 'completed'])
    const { history } = await jobOf(world, key, job.id)
    const receipts = await Promise.all(history.map((round) => get(world, key, `${round.round_id}/receipt`)))
    expect(receipts[1]!.state_sha256).toBe(receipts[0]!.next_state_sha256)
  })
})

it.skipIf(!hasPostgres())('two processes on one PostgreSQL server run a job just as one would', async () => {
  const { createControlPlane } = await import('../../app.ts')
  const { readConfig } = await import('../../../config.ts')
  const { emptyFolder, freshPostgresUrl } = await import('../../../../test/databases.ts')
  const config = {
    ...readConfig({ SERVICE_LOG_LEVEL: 'error', SERVICE_RATE_LIMIT_PER_MINUTE: '100000' }),
    databaseUrl: await freshPostgresUrl(),
    dataDir: await emptyFolder(),
  }
  const members = await Promise.all([createControlPlane(config), createControlPlane(config)])
  try {
    const urls = await Promise.all(members.map(({ app }) => app.listen({ host: '127.0.0.1', port: 0 })))
    const worlds = urls.map((baseUrl) => seenAt(baseUrl))
    const fleet = await startFleet(worlds[0]!, 4)
    const { key } = fleet[0]!
    await uploadModel(worlds[0]!, key)
    const job = (await startJob(worlds[0]!, key, { rounds: 3, min_devices: 4 })).body as JobBody
    const { createDevice } = await import('../../../sdk/device-client.ts')
    const spread = fleet.map((one, index) => ({
      ...one,
      device: createDevice({ baseUrl: urls[index % 2]!, deviceId: one.name, apiKey: one.key }),
    }))
    let seen = await jobOf(worlds[1]!, key, job.id)
    for (const until = Date.now() + 60_000; seen.ended_by === null && Date.now() < until; ) {
      await comeOnce(spread)
      await Promise.all(members.map((service) => service.runDueTasks()))
      seen = await jobOf(worlds[1]!, key, job.id)
    }
    expect(seen).toMatchObject({ status: 'completed', rounds_completed: 3 })
    expect(seen.history.map((round) => [round.status, round.completed_devices])).toEqual(
      Array(3).fill(['completed', 4]),
    )
  } finally {
    await Promise.all(members.map((service) => service.close()))
  }
})

/** The parts of a world that the fixtures need, at an address and with the real clock. */
const seenAt = (baseUrl: string): World => {
  const request: World['request'] = async (method, path, { key, body } = {}) => {
    const isForm = body instanceof FormData
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json(), headers: response.headers }
  }
  const register: World['register'] = async (deviceId) => {
    const { body } = await request('POST', '/api/v1/devices/register', { body: { device_id: deviceId } })
    const { id, api_key: key } = body as { id: string; api_key: string }
    return { id, deviceId, key }
  }
  return { baseUrl, request, register, now: () => new Date() } as World
}
