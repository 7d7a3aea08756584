import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { organizations } from '../../../../test/organizations.ts'
import {
  comeOnce,
  type JobBody,
  jobOf,
  judge,
  play,
  startFleet,
  startJob,
  uploadModel,
} from '../../../../test/training-fleet.ts'
import { startWorld, type World } from '../../../../test/world.ts'
import { isTreeStrategy, STRATEGY_NAMES } from '../../../domain/strategy-rules.ts'
import { NotNeeded } from '../../../sdk/not-needed.ts'
import { takePart } from '../../../sdk/take-part.ts'

const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const at = '2026-01-01T00:00:00.000Z'

const openOrganization = organizations()

const prepared = async (devices: number, alike = false, world = openOrganization()) => {
  const fleet = await startFleet(world, devices, alike)
  const { key } = fleet[0]!
  const modelId = await uploadModel(world, key, `model-${randomUUID()}`)
  const start = (fields: object = {}) => startJob(world, key, { model: modelId, ...fields })
  const startOk = async (fields: object = {}): Promise<JobBody> => {
    const response = await start(fields)
    if (response.status !== 201) throw new Error(`the job was answered with ${JSON.stringify(response.body)}`)
    return response.body as JobBody
  }
  return { world, fleet, key, modelId, start, startOk }
}

const get = async (world: World, key: string, path: string) =>
  (await world.request('GET', `/api/v1/training/rounds/${path}`, { key })).body as Record<string, unknown>

describe('a training job', () => {
  it('has hyperparameters of at most 65,536 characters, with finite numbers; lists leave out those of more than about 8,000', async () => {
    const { world, key, start: withFields } = await prepared(2, false, await startWorld())
    const start = (length: number) => withFields({ hyperparameters: { note: 'x'.repeat(length) } })
    expect(await start(65_526)).toMatchObject({
      status: 400,
      body: { message: 'hyperparameters must be at most 65536 characters of JSON.' },
    })
    const infinite = await world.request('POST', '/api/v1/training/jobs', {
      key,
      body: '{"model":"m","hyperparameters":{"rates":[0.1,-1e999]}}',
      headers: { 'content-type': 'application/json' },
    })
    expect(infinite).toMatchObject({
      status: 400,
      body: { message: 'hyperparameters must have finite numbers only; rates[1] is out of range.' },
    })
    const { body } = await start(65_525)
    const { id } = body as JobBody
    const list = await world.request('GET', '/api/v1/training/jobs', { key })
    expect(list.body).toMatchObject({
      jobs: [{ id, strategy: 'fedavg', hyperparameters: {}, omitted: ['hyperparameters'] }],
    })
    const whole = await jobOf(world, key, id)
    expect(whole).toMatchObject({ hyperparameters: { note: 'x'.repeat(65_525) } })
    expect(whole).not.toHaveProperty('omitted')
    const rounds = await world.request('GET', `/api/v1/training/jobs/${id}/rounds`, { key })
    expect(rounds.body).toMatchObject({ rounds: [{ strategy: 'fedavg', job_id: id }] })
  })

  it('treats fedyogi, fedadagrad, and fedavgm as variants of fedopt', async () => {
    const { modelId, startOk } = await prepared(1)
    for (const [strategy, variant] of [
      ['fedyogi', 'yogi'],
      ['fedadagrad', 'adagrad'],
      ['fedavgm', 'momentum'],
    ] as const) {
      expect(await startOk({ model: modelId, strategy })).toMatchObject({
        strategy: 'fedopt',
        strategy_options: { variant },
      })
    }
  })

  it('begins with the model that it names, regardless of earlier training', async () => {
    const { world, fleet, key, startOk } = await prepared(2, true)
    const earlier = await startOk({ rounds: 1, min_devices: 2 })
    expect(await play(world, earlier.id, fleet)).toMatchObject({ status: 'completed' })
    const other = await uploadModel(world, key, 'other')
    const job = await startOk({ model: 'other', rounds: 2, min_devices: 2 })
    await comeOnce(fleet)
    await world.service.runDueTasks()
    await comeOnce(fleet)
    const { body } = await world.request('GET', `/api/v1/training/jobs/${job.id}/rounds`, { key })
    const [second, first] = (body as { rounds: { global_model_id: string; aggregated_model_id: string | null }[] })
      .rounds
    expect(first).toMatchObject({ global_model_id: other })
    expect(second).toMatchObject({ global_model_id: first!.aggregated_model_id })
  })

  it('is not started if a field is misspelled, or a limit has another name; the error names the intended field', async () => {
    const { world, key, modelId } = await prepared(1, false, await startWorld())
    const refused = async (fields: object) => {
      const { status, body } = await world.request('POST', '/api/v1/training/jobs', {
        key,
        body: { model: modelId, ...fields },
      })
      return [status, (body as { message: string }).message]
    }
    expect(await refused({ round: 3 })).toEqual([400, 'unknown field `round`; did you mean `rounds`?'])
    expect(await refused({ timout_seconds: 60 })).toEqual([
      400,
      'unknown field `timout_seconds`; did you mean `timeout_seconds`?',
    ])
    expect(await refused({ privacy: { clipnorm: 1, noise_multiplier: 1 } })).toEqual([
      400,
      'unknown field `privacy.clipnorm`; did you mean `privacy.clip_norm`?',
    ])
    expect(await refused({ epsilon: 1 })).toEqual([400, 'unknown field `epsilon`; did you mean `privacy`?'])
    expect(await refused({ device_ids: ['a'] })).toEqual([400, 'unknown field `device_ids`; did you mean `group`?'])
    const jobs = await world.request('GET', '/api/v1/training/jobs', { key })
    expect(jobs.body).toMatchObject({ total: 0 })
  })

  it('is returned with every default', async () => {
    const { modelId, start } = await prepared(1, false, await startWorld())
    const response = await start({ rounds: undefined, hyperparameters: undefined, name: 'first' })
    expect(response).toMatchObject({ status: 201 })
    expect(response.body).toEqual({
      id: uuid,
      org_id: null,
      name: 'first',
      status: 'pending',
      model_id: modelId,
      model_version: 1,
      publish: 'last',
      latest_model_id: null,
      strategy: 'fedavg',
      strategy_options: {},
      rounds: 10,
      rounds_completed: 0,
      rounds_failed_in_a_row: 0,
      min_devices: 2,
      target_devices: 2,
      over_selection: 1,
      timeout_seconds: 300,
      report_window_seconds: null,
      wait_for_devices_seconds: 3600,
      group_id: null,
      federation_id: null,
      hyperparameters: {},
      privacy: null,
      secure_aggregation: null,
      stop_when: null,
      metric: 'loss',
      goal: 'minimize',
      ended_by: null,
      reason: null,
      waiting_for: 'Waits for 2 active devices that train; 1 is active.',
      waiting_until: '2026-01-01T01:00:00.000Z',
      created_at: at,
      started_at: null,
      ended_at: null,
      resumed_at: null,
      optimizer_state: 'none',
    })
  })

  it.each(STRATEGY_NAMES.filter((name) => !isTreeStrategy(name)))(
    'with %s runs its rounds with real devices, and every receipt replays',
    async (strategy) => {
      const { world, fleet, key, startOk } = await prepared(5, true)
      const options = strategy === 'fedbuff' ? { strategy_options: { buffer: 5 } } : {}
      const job = await startOk({ strategy, rounds: 2, min_devices: 5, ...options })
      const done = await play(world, job.id, fleet)
      expect(done).toMatchObject({
        status: 'completed',
        ended_by: 'rounds_done',
        reason: 'All 2 requested rounds are completed.',
        rounds_completed: 2,
        latest_model_id: uuid,
        ended_at: world.now().toISOString(),
      })
      expect(done.history.map((round) => [round.status, round.completed_devices])).toEqual(
        Array(2).fill(['completed', 5]),
      )
      for (const { loss, accuracy } of done.history) {
        expect(loss).toBeGreaterThan(0)
        expect(accuracy).toBeGreaterThan(0)
      }
      // It began with equal scores for all classes, which is a loss of ln 3.
      expect((await judge(world, done.history[1]!.round_id, fleet)).loss).toBeLessThan(1)
      for (const { round_id: id } of done.history) {
        const replay = await world.request('POST', `/api/v1/training/rounds/${id}/receipt/replay`, { key })
        expect(replay.body).toMatchObject({ matches: true })
      }
    },
  )

  it('records how each update compares with the others', async () => {
    const { world, fleet, key, startOk } = await prepared(3)
    const job = await startOk({ rounds: 1, min_devices: 3 })
    const { history } = await play(world, job.id, fleet)
    const { updates, total } = (await get(world, key, `${history[0]!.round_id}/updates`)) as {
      updates: Record<string, unknown>[]
      total: number
    }
    expect(total).toBe(3)
    expect(updates.map((update) => update.device_identifier)).toEqual(['d0', 'd1', 'd2'])
    for (const update of updates) {
      expect(update).toMatchObject({ non_finite: 0, staleness: null, base_round_id: null, id: uuid })
      expect(update.norm).toBeGreaterThan(0)
      expect(Math.abs(update.cosine as number)).toBeLessThanOrEqual(1)
    }
    expect(updates.reduce((sum, { weight }) => sum + (weight as number), 0)).toBeCloseTo(1, 12)
  })

  it('carries the server state over: the second round continues the Adam state of the first', async () => {
    const { world, fleet, key, startOk } = await prepared(2)
    const job = await startOk({ strategy: 'fedadam', rounds: 2 })
    const { history } = await play(world, job.id, fleet)
    const [first, second] = await Promise.all(history.map(({ round_id: id }) => get(world, key, `${id}/receipt`)))
    expect(first).toMatchObject({ state_sha256: null, next_state_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(second).toMatchObject({ state_sha256: first!.next_state_sha256 })
    expect(second!.next_state_sha256).not.toBe(first!.next_state_sha256)
  })

  it('selects more devices than it needs updates from, and closes with the first ones that arrive', async () => {
    const { world, fleet, key, startOk } = await prepared(6, false, await startWorld())
    const job = await startOk({ rounds: 1, min_devices: 2, target_devices: 4, over_selection: 1.5 })
    const { history } = await jobOf(world, key, job.id)
    const id = history[0]!.round_id
    expect(await get(world, key, `${id}/status`)).toMatchObject({ target_devices: 6, wanted_updates: 4 })
    await comeOnce(fleet.slice(0, 4))
    await world.service.runDueTasks()
    expect(await jobOf(world, key, job.id)).toMatchObject({ status: 'completed' })
    expect(await get(world, key, `${id}/status`)).toMatchObject({ completed_devices: 4, failed_devices: 2 })
    const { body } = await world.request('GET', `/api/v1/training/rounds/${id}/selection`, { key: fleet[5]!.key })
    expect(body).toMatchObject({ reason: 'Not needed: enough other devices had submitted an update.' })
    // They may be drawn for the next round without another heartbeat.
    const { rows } = await sql`select from devices where missed_at is not null`.execute(world.database!.sql)
    expect(rows).toEqual([])
    const slow = fleet[4]!
    const sent = takePart(slow.device, id, slow.trainer)
    await expect(sent).rejects.toThrow(NotNeeded)
    await expect(sent).rejects.toThrow("This device's update is not needed: The round is completed")
  })

  it('ends when it has converged', async () => {
    const { world, fleet, startOk } = await prepared(2)
    const stop = { loss_improvement_below: 1000, patience: 1 }
    const job = await startOk({ rounds: 50, stop_when: stop })
    expect(await play(world, job.id, fleet)).toMatchObject({
      status: 'completed',
      ended_by: 'converged',
      rounds_completed: 2,
    })
  })

  it('does not wait for devices longer than wait_for_devices_seconds', async () => {
    const { world, key, startOk } = await prepared(1)
    const job = await startOk({ wait_for_devices_seconds: 60 })
    await world.advance(59)
    expect(await jobOf(world, key, job.id)).toMatchObject({ status: 'pending' })
    await world.advance(1)
    expect(await jobOf(world, key, job.id)).toMatchObject({
      status: 'failed',
      ended_by: 'no_devices',
      reason: 'Waited 60 s for at least 2 active devices; there was 1.',
    })
  })

  it('waits for as many devices as its strategy needs', async () => {
    const { world, key, startOk } = await prepared(2)
    const job = await startOk({ strategy: 'krum', wait_for_devices_seconds: 60 })
    expect(await jobOf(world, key, job.id)).toMatchObject({
      status: 'pending',
      waiting_for:
        "Waits for 5 active devices that train; 2 are active. Strategy 'krum' with byzantine 1 needs 2f + 3 = 5 updates.",
      history: [],
    })
    await world.advance(60)
    expect(await jobOf(world, key, job.id)).toMatchObject({
      ended_by: 'no_devices',
      waiting_for: null,
      reason: 'Waited 60 s for at least 5 active devices; there were 2.',
    })
  })

  it('fails after three consecutive rounds without updates', async () => {
    const { world, fleet, key, startOk } = await prepared(2)
    const job = await startOk({ timeout_seconds: 60 })
    for (let round = 0; round < 3; round++) {
      await Promise.all(fleet.map(({ device }) => device.heartbeat()))
      await world.service.runDueTasks()
      await world.advance(60)
    }
    const ended = await jobOf(world, key, job.id)
    expect(ended).toMatchObject({
      status: 'failed',
      ended_by: 'rounds_failed',
      reason: '3 rounds failed one after another. The last: Timed out after 60 s: 0 of at least 2 updates had arrived.',
    })
    expect(ended.history.map((round) => round.status)).toEqual(['failed', 'failed', 'failed'])
  })

  it('stops at once, and its participants learn of it when they ask', async () => {
    const { world, fleet, key, startOk } = await prepared(2)
    const job = await startOk()
    const { pendingRoundId } = await fleet[1]!.device.heartbeat()
    const stopped = await world.request('POST', `/api/v1/training/jobs/${job.id}/stop`, { key })
    expect(stopped).toMatchObject({
      status: 200,
      body: { status: 'stopped', ended_by: 'stopped', reason: 'The training job was stopped.' },
    })
    expect((await fleet[1]!.device.heartbeat()).pendingRoundId).toBeNull()
    expect(await get(world, key, `${pendingRoundId}/status`)).toMatchObject({
      status: 'failed',
      failure_reason: 'The training job was stopped.',
    })
    expect(await get(world, fleet[1]!.key, `${pendingRoundId}/selection`)).toMatchObject({
      state: 'failed',
      reason: 'The training job was stopped.',
    })
    const again = await world.request('POST', `/api/v1/training/jobs/${job.id}/stop`, { key })
    expect(again).toMatchObject({
      status: 409,
      body: { message: 'A training job that is stopped cannot be stopped.' },
    })
    await world.service.runDueTasks()
    expect((await jobOf(world, key, job.id)).history).toHaveLength(1)
  })

  it('takes turns with the other jobs of its organization', async () => {
    const { world, fleet, key, startOk } = await prepared(2, false, await startWorld())
    const first = await startOk({ rounds: 2 })
    await world.advance(1)
    const jobs = [first, await startOk({ rounds: 2 })]
    const order: string[] = []
    const waits: unknown[] = []
    for (let time = 0; time < 4; time++) {
      const round = await get(world, key, 'current')
      order.push(round.job_id as string)
      for (const { id } of jobs) waits.push((await jobOf(world, key, id)).waiting_for)
      await comeOnce(fleet)
      await world.advance(1)
    }
    expect(order).toEqual([jobs[0]!.id, jobs[1]!.id, jobs[0]!.id, jobs[1]!.id])
    const turn = 'Waits for its turn: only one round can be in progress at a time.'
    expect(waits).toEqual([null, turn, turn, null, null, turn, null, null])
    for (const { id } of jobs) expect(await jobOf(world, key, id)).toMatchObject({ status: 'completed' })
  })

  it('trains only with the devices of its group', async () => {
    const { world, fleet, key, startOk } = await prepared(4, false, await startWorld())
    const group = await world.request('POST', '/api/v1/device-groups', { key, body: { name: 'beta', org_id: 'acme' } })
    const { id: groupId } = group.body as { id: string }
    await world.request('POST', `/api/v1/device-groups/${groupId}/devices`, {
      key,
      body: { device_ids: ['d2', 'd3'] },
    })
    const job = await startOk({ group: 'beta', rounds: 1 })
    expect(job).toMatchObject({ group_id: groupId })
    expect((await fleet[0]!.device.heartbeat()).pendingRoundId).toBeNull()
    const { history } = await play(world, job.id, fleet)
    const { updates } = (await get(world, key, `${history[0]!.round_id}/updates`)) as {
      updates: { device_identifier: string }[]
    }
    expect(updates.map((update) => update.device_identifier)).toEqual(['d2', 'd3'])

    const next = await startOk({ group: 'beta', min_devices: 3, wait_for_devices_seconds: 60 })
    expect(next).toMatchObject({
      waiting_for: 'Waits for 3 active devices of its device group that train; 2 are active.',
    })
    await world.request('DELETE', `/api/v1/device-groups/${groupId}`, { key })
    await world.advance(1)
    expect(await jobOf(world, key, next.id)).toMatchObject({
      ended_by: 'cannot_start',
      reason: 'The device group of this job was deleted. Start another job for its devices.',
    })
  })

  it('rejects invalid fields and names them', async () => {
    const { start } = await prepared(1)
    const refused: [fields: object, named: string][] = [
      [{ model: 'nothing' }, 'model:'],
      [{ strategy: 'sgd' }, 'strategy'],
      [{ strategy: 'krum', strategy_options: { byzantine: -1 } }, 'strategy_options.byzantine'],
      [{ strategy_options: { mu: 1 } }, 'strategy_options.mu'],
      [{ rounds: 0 }, 'rounds'],
      [{ rounds: 10_001 }, 'rounds'],
      [{ min_devices: 3, target_devices: 2 }, 'min_devices'],
      [{ group: 'nobody' }, 'group'],
      [{ over_selection: 0.5 }, 'over_selection'],
      [{ privacy: { clip_norm: 1 } }, 'noise_multiplier'],
      [{ strategy: 'fedmedian', privacy: { clip_norm: 1, noise_multiplier: 1 } }, 'privacy'],
    ]
    for (const [fields, named] of refused) {
      expect([fields, await start(fields)]).toMatchObject([
        fields,
        { status: 400, body: { message: expect.stringContaining(named) } },
      ])
    }
  })

  it('is listed by model and status, newest first', async () => {
    const { world, key, modelId, startOk } = await prepared(1, false, await startWorld())
    const jobs = [await startOk(), await startOk()]
    const list = async (query: string) =>
      (await world.request('GET', `/api/v1/training/jobs${query}`, { key })).body as { jobs: JobBody[]; total: number }
    expect((await list(`?model=${modelId}`)).jobs.map(({ id }) => id)).toEqual([jobs[1]!.id, jobs[0]!.id])
    expect(await list('?status=completed')).toMatchObject({ jobs: [], total: 0 })
    expect(await list('?limit=1')).toMatchObject({ jobs: [{ id: jobs[1]!.id }], total: 2 })
  })
})

describe('attackers in the fleet', () => {
  it.each([
    ['krum', true],
    ['fedmedian', true],
    ['fedavg', false],
  ] as const)('with %s, whether the model still learns: %s', async (strategy, learns) => {
    const { world, fleet, startOk } = await prepared(7, true)
    for (const attacker of fleet.slice(5)) {
      const honest = attacker.trainer
      // Ten times the change, in the opposite direction.
      attacker.trainer = async (weights, ...rest) => {
        const update = await honest(weights, ...rest)
        return { ...update, weights: flipped(weights!, update.weights) }
      }
    }
    const options = strategy.endsWith('krum') ? { strategy_options: { byzantine: 2 } } : {}
    const job = await startOk({ strategy, rounds: 3, min_devices: 7, ...options })
    const { history } = await play(world, job.id, fleet)
    const { accuracy } = await judge(world, history.at(-1)!.round_id, fleet.slice(0, 5))
    if (learns) expect(accuracy).toBeGreaterThan(0.9)
    else expect(accuracy).toBeLessThan(0.2)
  })
})

const flipped = (from: Uint8Array, to: Uint8Array): Uint8Array<ArrayBuffer> => {
  const out = Uint8Array.from(to)
  const header = 8 + Number(new DataView(to.buffer, to.byteOffset).getBigUint64(0, true))
  const fromHeader = 8 + Number(new DataView(from.buffer, from.byteOffset).getBigUint64(0, true))
  const view = new DataView(out.buffer)
  const start = new DataView(from.buffer, from.byteOffset)
  for (let byte = 0; header + byte < out.length; byte += 4) {
    const base = start.getFloat32(fromHeader + byte, true)
    view.setFloat32(header + byte, base - 10 * (view.getFloat32(header + byte, true) - base), true)
  }
  return out
}
