import { createHash } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { organizations } from '../../../../test/organizations.ts'
import { apiOf, formOf, startWorld, type World } from '../../../../test/world.ts'
import { initialModel } from '../../../sdk/trainers/dense-network.ts'
import { encodeModel } from '../../../sdk/trainers/weights-codec.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

// The first service of a file starts slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

interface Job {
  readonly id: string
  readonly status: string
  readonly rounds: number
  readonly rounds_completed: number
  readonly latest_model_id: string
  readonly optimizer_state: string
  readonly history: readonly { round_id: string; status: string }[]
}

const weights = (value: number): Uint8Array => {
  const [weight, bias] = initialModel({ features: 2, hidden: [], classes: 2, seed: 0 })
  weight!.data.fill(value)
  return encodeModel([weight!, bias!], new Map())
}

const openOrganization = organizations()

const setUp = async (world = openOrganization()) => {
  const { key } = await world.register('trainer')
  const ask = apiOf(world, key)
  // Only the first test creates it: all jobs start from its first version.
  await ask('POST', '/models', { name: 'net' })
  await upload(world, key)
  const start = async (fields: object): Promise<string> => {
    const made = await ask('POST', '/training/jobs', { model: 'net@1', min_devices: 1, publish: 'none', ...fields })
    expect(made).toMatchObject({ status: 201 })
    return made.body.id as string
  }
  const jobOf = async (id: string) => (await ask('GET', `/training/jobs/${id}`)).body as unknown as Job
  /** Runs one round of the job, in which its only device submits these weights. */
  const round = async (id: string, value: number, fields: object = {}): Promise<void> => {
    await world.service.runDueTasks()
    const { round_id } = (await jobOf(id)).history.at(-1)!
    const form = formOf(weights(value), { num_samples: 1, ...fields })
    const { strategy } = (await ask('GET', `/training/rounds/${round_id}/plan`)).body
    if (strategy === 'scaffold')
      form.append('control', new Blob([weights(value / 8) as BlobPart]), 'control.safetensors')
    const response = await world.request('POST', `/api/v1/training/rounds/${round_id}/updates`, { key, body: form })
    expect(response).toMatchObject({ status: 201 })
    await world.service.runDueTasks()
  }
  const action = (id: string, verb: string, body: object = {}) => ask('POST', `/training/jobs/${id}/${verb}`, body)
  const resultOf = async (id: string): Promise<string> => {
    const url = `${world.baseUrl}/api/v1/models/${(await jobOf(id)).latest_model_id}/versions/1/download`
    const bytes = await (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).arrayBuffer()
    return createHash('sha256').update(new Uint8Array(bytes)).digest('hex')
  }
  return { world, key, ask, start, jobOf, round, action, resultOf }
}

const upload = (world: World, key: string) =>
  world.request('POST', '/api/v1/models/net/versions/upload', { key, body: formOf(weights(0)) })

const VALUES = [1, 3, 4]

describe('a job that is stopped and resumed', () => {
  it.each([
    ['fedadam', {}],
    ['scaffold', {}],
    ['fedbuff', { strategy_options: { buffer: 1 } }],
    ['fedavg', {}],
  ])(
    'with %s gives the same bytes as one that was not stopped, because it keeps the state of its strategy',
    async (strategy, fields) => {
      const { start, round, action, resultOf, jobOf } = await setUp()
      const straight = await start({ strategy, rounds: 3, ...fields })
      for (const value of VALUES) await round(straight, value)
      const broken = await start({ strategy, rounds: 3, ...fields })
      for (const value of VALUES.slice(0, 2)) await round(broken, value)
      await action(broken, 'stop')
      expect(await action(broken, 'resume')).toMatchObject({
        status: 200,
        body: { status: 'running', rounds: 3, rounds_completed: 2, ended_by: null, reason: null, ended_at: null },
      })
      for (const value of VALUES.slice(2)) await round(broken, value)
      expect(await jobOf(broken)).toMatchObject({ status: 'completed', ended_by: 'rounds_done', rounds_completed: 3 })
      expect(await resultOf(broken)).toBe(await resultOf(straight))
      // A job that completes two rounds and is extended by another gives the same result.
      const extended = await start({ strategy, rounds: 2, ...fields })
      for (const value of VALUES.slice(0, 2)) await round(extended, value)
      expect(await action(extended, 'extend', { rounds: 1 })).toMatchObject({
        status: 200,
        body: { rounds: 3, rounds_completed: 2, optimizer_state: (await jobOf(straight)).optimizer_state },
      })
      for (const value of VALUES.slice(2)) await round(extended, value)
      expect(await resultOf(extended)).toBe(await resultOf(straight))
    },
  )
})

it('tells devices how many rounds it has completed, also in a round that repeats one that failed', async () => {
  const { ask, start, round, action, jobOf } = await setUp()
  const id = await start({ rounds: 3 })
  const told = async () =>
    (await ask('GET', `/training/rounds/${(await jobOf(id)).history.at(-1)!.round_id}/plan`)).body.rounds_completed
  await round(id, 1)
  expect(await told()).toBe(1)
  await action(id, 'stop')
  await action(id, 'resume')
  await round(id, 3)
  expect((await jobOf(id)).history.map(({ status }) => status)).toEqual(['completed', 'failed', 'completed', 'active'])
  expect(await told()).toBe(2)
})

describe.each(['embedded', 'postgres'] as const)('a job on the %s database', (database) => {
  const it_ = it.skipIf(database === 'postgres' && !hasPostgres())

  it_(
    'is resumed only once by simultaneous requests, and ends up resumed or stopped if it is stopped at the same time',
    async () => {
      const { world, start, round, action, jobOf } = await setUp(await startWorld({ database }))
      const id = await start({ rounds: 40 })
      await round(id, 1)
      await action(id, 'stop')
      const responses = await Promise.all(Array.from({ length: 8 }, () => action(id, 'resume')))
      expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(409)])
      for (let time = 0; time < 6; time++) {
        const [stopped, resumed] = await Promise.all([action(id, 'stop'), action(id, 'resume')])
        await world.service.runDueTasks()
        const job = await jobOf(id)
        const inProgress = job.history.filter(({ status }) => status === 'active' || status === 'aggregating')
        expect(stopped.status).toBe(200)
        expect([resumed.status, job.status]).toEqual(resumed.status === 200 ? [200, 'running'] : [409, 'stopped'])
        expect(inProgress).toHaveLength(job.status === 'running' ? 1 : 0)
        if (job.status === 'stopped') expect(await action(id, 'resume')).toMatchObject({ status: 200 })
      }
      await world.service.runDueTasks()
      await round(id, 2)
      expect(await jobOf(id)).toMatchObject({ status: 'running', rounds_completed: 2 })
    },
  )
})

it('a resumed job is shown as running in the response to resume, even if another process starts its round in the meantime', async () => {
  const { world, start, action } = await setUp()
  const id = await start({ rounds: 40 })
  for (let time = 0; time < 5; time++) {
    await action(id, 'stop')
    const ticks = setInterval(() => void world.service.runDueTasks(), 1)
    const { body } = await action(id, 'resume')
    clearInterval(ticks)
    expect(body).toMatchObject({ status: 'running' })
  }
  await world.service.runDueTasks()
})

describe('a job to be continued', () => {
  it('is refused in a wrong status, with what to do instead', async () => {
    const { start, round, action } = await setUp()
    const messageOf = async (id: string, verb: string, body: object = {}) => {
      const response = await action(id, verb, body)
      return [response.status, response.body.message]
    }
    const id = await start({ rounds: 1 })
    expect(await messageOf(id, 'resume')).toEqual([
      409,
      'A training job that is running cannot be resumed. It continues by itself.',
    ])
    await round(id, 1)
    expect(await messageOf(id, 'resume')).toEqual([
      409,
      'A training job that is completed cannot be resumed. Extend it by more rounds.',
    ])
    expect(await messageOf(id, 'extend')).toEqual([400, expect.stringContaining('rounds')])
    expect(await messageOf(id, 'extend', { rounds: 10_000 })).toEqual([
      400,
      'rounds: 10000 more than the 1 completed ones would be 10001; a job has at most 10000. Ask for fewer, or start another job from its result.',
    ])
    expect(await messageOf(id, 'extend', { round: 2 })).toEqual([
      400,
      expect.stringContaining('did you mean `rounds`?'),
    ])
    await action(id, 'extend', { rounds: 1 })
    await action(id, 'stop')
    expect(await messageOf(id, 'extend', { rounds: 1 })).toEqual([
      409,
      'A training job that is stopped cannot be extended. Resume it; that may be for more rounds than it had left.',
    ])
    expect(await action(id, 'resume', { rounds: 5 })).toMatchObject({ status: 200, body: { rounds: 6 } })
  })

  it('applies its stop condition only to the rounds after it was extended', async () => {
    const { start, round, action, jobOf } = await setUp()
    const id = await start({ rounds: 9, stop_when: { loss_improvement_below: 0.1, patience: 1 } })
    await round(id, 1, { local_loss: 0.5 })
    await round(id, 2, { local_loss: 0.5 })
    expect(await jobOf(id)).toMatchObject({ status: 'completed', ended_by: 'converged', rounds_completed: 2 })
    await action(id, 'extend', { rounds: 3 })
    await round(id, 3, { local_loss: 0.5 })
    expect(await jobOf(id)).toMatchObject({ status: 'running', rounds: 5 })
    await round(id, 4, { local_loss: 0.5 })
    expect(await jobOf(id)).toMatchObject({ status: 'completed', ended_by: 'converged', rounds_completed: 4 })
  })

  it('counts failed rounds from zero again after it failed and was resumed', async () => {
    const { world, key, start, round, action, jobOf } = await setUp()
    const id = await start({ rounds: 2, timeout_seconds: 60 })
    await round(id, 1)
    for (let time = 0; time < 6; time++) {
      await world.request('PUT', '/api/v1/devices/trainer/heartbeat', { key })
      await world.advance(61)
    }
    expect(await jobOf(id)).toMatchObject({ status: 'failed', ended_by: 'rounds_failed', rounds_failed_in_a_row: 3 })
    expect(await action(id, 'resume')).toMatchObject({ status: 200, body: { rounds_failed_in_a_row: 0, rounds: 2 } })
  })

  it('is visible to members of its federation, who get 403 with the owner when they try to change it', async () => {
    const { world, send, keyOf, found } = await openFederation()
    const keys = { acme: await keyOf('acme'), rival: await keyOf('rival'), other: await keyOf('other') }
    const federation = await found(['rival'])
    const model = await send(keys.acme, 'POST', '/models', { name: 'net' })
    await upload(world, keys.acme)
    const job = await send(keys.acme, 'POST', '/training/jobs', { model: 'net', federation, rounds: 2 })
    const path = `/training/jobs/${job.body.id}`
    await send(keys.acme, 'POST', `${path}/stop`, {})
    const modelName = async (key: string) => (await send(key, 'GET', path)).body.model_name
    expect([await modelName(keys.acme), await modelName(keys.rival)]).toEqual(['net', null])
    await send(keys.acme, 'POST', `/federations/${federation}/models`, { model_id: model.body.id })
    expect(await modelName(keys.rival)).toBe('net')
    expect((await send(keys.rival, 'GET', '/training/jobs')).body.jobs).toMatchObject([{ model_name: 'net' }])
    for (const [name, seen, changed] of [
      ['rival', 200, 403],
      ['other', 404, 404],
    ] as const) {
      expect((await send(keys[name], 'GET', path)).status).toBe(seen)
      expect((await send(keys[name], 'POST', `${path}/resume`, {})).status).toBe(changed)
      expect((await send(keys[name], 'POST', `${path}/extend`, { rounds: 1 })).status).toBe(changed)
    }
    expect((await send(keys.acme, 'POST', `${path}/resume`, {})).status).toBe(200)
  })
})

describe('the privacy budget', () => {
  const privacy = { target_epsilon: 4, clip_norm: 1 }

  it('of a job leaves as many rounds as its target_epsilon allows, counting stopped rounds', async () => {
    const { start, action, jobOf } = await setUp()
    const id = await start({ rounds: 3, privacy })
    await action(id, 'stop')
    // The stopped round used up one of the three.
    expect(await action(id, 'resume')).toMatchObject({ status: 200, body: { rounds: 2, rounds_completed: 0 } })
    await action(id, 'stop')
    expect(await action(id, 'resume', { rounds: 3 })).toMatchObject({
      status: 409,
      body: {
        message:
          "rounds: the job's target_epsilon 4 allows 1 of the 3 additional rounds; rounds that failed or were " +
          'stopped count too. Ask for fewer, or start another job from its result, with a new budget.',
      },
    })
    expect(await action(id, 'resume')).toMatchObject({ status: 200, body: { rounds: 1 } })
    await action(id, 'stop')
    expect(await action(id, 'resume')).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('allows 0 of the 1 additional rounds') },
    })
    expect(await jobOf(id)).toMatchObject({
      status: 'stopped',
      privacy_spent: { rounds: 3 },
      privacy: { target_epsilon: 4 },
    })
  })

  it('of its federation is checked before the job continues', async () => {
    const { world, send, keyOf, found } = await openFederation()
    const acme = await keyOf('acme')
    const federation = await found([])
    await send(acme, 'POST', '/models', { name: 'net' })
    await upload(world, acme)
    const budget = (total_epsilon_budget: number) =>
      send(acme, 'PUT', `/federations/${federation}/privacy/budget`, { total_epsilon_budget })
    await budget(20)
    const noisy = {
      model: 'net',
      federation,
      rounds: 3,
      min_devices: 1,
      privacy: { noise_multiplier: 2, clip_norm: 1 },
    }
    const job = await send(acme, 'POST', '/training/jobs', noisy)
    const path = `/training/jobs/${job.body.id}`
    await send(acme, 'POST', `${path}/stop`, {})
    await budget(1)
    expect(await send(acme, 'POST', `${path}/resume`, {})).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('The privacy budget does not allow this') },
    })
    await budget(20)
    expect(await send(acme, 'POST', `${path}/resume`, {})).toMatchObject({ status: 200, body: { rounds: 3 } })
  })
})

it('the report window of a job takes precedence over the straggler grace that an operator has set', async () => {
  const { world, start, round, jobOf } = await setUp(await startWorld({ config: { stragglerGraceSeconds: 5 } }))
  await world.register('straggler')
  const id = await start({ rounds: 1, target_devices: 2, report_window_seconds: 100 })
  await round(id, 1)
  await world.advance(20)
  expect((await jobOf(id)).history).toMatchObject([{ status: 'active' }])
  await world.advance(100)
  expect((await jobOf(id)).history).toMatchObject([{ status: 'completed' }])
})
