import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { apiOf, formOf, startWorld, type World } from '../../../../test/world.ts'
import { openFederation } from '../../../control/federations/federation.fixture.ts'
import { initialModel } from '../../../sdk/trainers/dense-network.ts'
import { encodeModel } from '../../../sdk/trainers/weights-codec.ts'

interface Version {
  readonly version: number
  readonly version_label: string
  readonly model_hash: string
  readonly trained_by: { readonly round_number: number; readonly metrics: object } | null
}

interface Job {
  readonly id: string
  readonly status: string
  readonly latest_model_id: string
  readonly published: readonly { version_label: string }[]
  readonly history: readonly { round_id: string; status: string }[]
}

const weights = (value: number): Uint8Array => {
  const [weight, bias] = initialModel({ features: 2, hidden: [], classes: 2, seed: 0 })
  weight!.data.fill(value)
  return encodeModel([weight!, bias!], new Map())
}

const setUp = async (options: Parameters<typeof startWorld>[0] = {}) => {
  const world = await startWorld(options)
  const { key } = await world.register('trainer')
  const ask = apiOf(world, key)
  await ask('POST', '/models', { name: 'net' })
  await push(world, key, weights(0), { version_label: '1.4.2' })
  const start = async (fields: object): Promise<string> => {
    const made = await ask('POST', '/training/jobs', { model: 'net', min_devices: 1, ...fields })
    expect(made).toMatchObject({ status: 201 })
    return made.body.id as string
  }
  const jobOf = async (id: string) => (await ask('GET', `/training/jobs/${id}`)).body as unknown as Job
  /** Runs one round of the job, in which its only device submits these weights. */
  const round = async (id: string, value: number, fields: object = {}): Promise<void> => {
    await world.service.runDueTasks()
    const { round_id } = (await jobOf(id)).history.at(-1)!
    const form = formOf(weights(value), { num_samples: 1, ...fields })
    const response = await world.request('POST', `/api/v1/training/rounds/${round_id}/updates`, { key, body: form })
    expect(response.status).toBe(201)
    await world.service.runDueTasks()
  }
  const versions = async () => (await ask('GET', '/models/net')).body.versions as Version[]
  const download = async (path: string): Promise<string> => {
    const url = `${world.baseUrl}/api/v1/models/${path}/download`
    const bytes = await (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).arrayBuffer()
    return createHash('sha256').update(new Uint8Array(bytes)).digest('hex')
  }
  return { world, key, ask, start, jobOf, round, versions, download }
}

const push = (world: World, key: string, bytes: Uint8Array, fields: object = {}) =>
  world.request('POST', '/api/v1/models/net/versions/upload', { key, body: formOf(bytes, fields as never) })

describe('publishing', () => {
  it('adds the last result to the model as the next minor version, with its origin', async () => {
    const { ask, start, jobOf, round, versions, download } = await setUp()
    const id = await start({ rounds: 2 })
    await round(id, 1, { local_loss: 0.5, local_accuracy: 0.75 })
    expect(await versions()).toHaveLength(1)
    await round(id, 2, { local_loss: 0.25 })
    const job = await jobOf(id)
    expect(job).toMatchObject({ status: 'completed', publish: 'last' })
    const [, published] = await versions()
    const { round_id } = job.history[1]!
    const round_number = (job.history[1] as unknown as { round_number: number }).round_number
    expect(published).toMatchObject({
      version: 2,
      version_label: '1.5.0',
      aliases: [],
      trained_by: {
        job_id: id,
        round_id,
        round_number,
        metrics: { loss: 0.25 },
        receipt_path: `/api/v1/training/rounds/${round_id}/receipt`,
      },
    })
    expect(job.published).toEqual([{ version: 2, version_label: '1.5.0', round_id, round_number }])
    // A download by name returns exactly the bytes that were trained.
    const trained = await download(`${job.latest_model_id}/versions/1`)
    expect(await download('net/versions/latest')).toBe(trained)
    expect(published!.model_hash).toBe(`sha256:${trained}`)
    expect(trained).not.toBe(await download('net/versions/1'))
    // The round's model is named after the model that it trained, and can be left out of the list.
    const all = (await ask('GET', '/models')).body.models as { name: string; round_id: string | null }[]
    expect(all.map(({ name }) => name)).toEqual([
      `net (round ${round_number})`,
      `net (round ${round_number - 1})`,
      'net',
    ])
    expect(await download(`net%20(round%20${round_number})/versions/1`)).toBe(trained)
    const own = (await ask('GET', '/models?round_models=false')).body
    expect([own.total, (own.models as { name: string }[]).map(({ name }) => name)]).toEqual([1, ['net']])
  })

  it('adds every result, or each new best one by loss, as requested', async () => {
    const { start, jobOf, round, versions } = await setUp()
    const labels = async (id: string) => (await jobOf(id)).published.map(({ version_label }) => version_label)
    const every = await start({ rounds: 3, publish: 'every' })
    for (const value of [1, 2, 3]) await round(every, value)
    expect(await labels(every)).toEqual(['1.5.0', '1.6.0', '1.7.0'])
    const best = await start({ rounds: 4, publish: 'best' })
    for (const [value, local_loss] of [
      [4, 0.5],
      [5, 0.75],
      [6, 0.25],
      [7, 0.25],
    ] as const)
      await round(best, value, { local_loss })
    expect(await labels(best)).toEqual(['1.8.0', '1.9.0'])
    expect((await versions()).slice(-2).map(({ trained_by }) => trained_by?.metrics)).toEqual([
      { loss: 0.5 },
      { loss: 0.25 },
    ])
    // If no round reports a loss, the last result counts as the best.
    const silent = await start({ rounds: 2, publish: 'best' })
    for (const value of [8, 9]) await round(silent, value)
    expect(await labels(silent)).toEqual(['1.10.0'])
    const none = await start({ rounds: 1, publish: 'none' })
    await round(none, 10)
    expect(await labels(none)).toEqual([])
  })

  it("publishes a stopped job's latest result, and nothing for a job without a completed round", async () => {
    const { ask, start, jobOf, round, versions } = await setUp()
    const early = await start({ rounds: 3 })
    await ask('POST', `/training/jobs/${early}/stop`)
    expect(await versions()).toHaveLength(1)
    const id = await start({ rounds: 3 })
    await round(id, 1)
    await ask('POST', `/training/jobs/${id}/stop`)
    expect((await jobOf(id)).published).toHaveLength(1)
    expect((await versions()).map(({ version_label }) => version_label)).toEqual(['1.4.2', '1.5.0'])
  })
})

describe('a published version', () => {
  it('has a higher label than all others of the model, including labels that have not been used', async () => {
    const { world, key, start, round, versions } = await setUp()
    await push(world, key, weights(1))
    await push(world, key, weights(2), { version_label: '1.20.0-rc.1' })
    await push(world, key, weights(3), { version_label: '0.900719925474099312345.7' })
    await round(await start({ rounds: 1 }), 4)
    expect((await versions()).map(({ version_label }) => version_label)).toEqual([
      '1.4.2',
      '2.0.0',
      '1.20.0-rc.1',
      '0.900719925474099312345.7',
      '2.1.0',
    ])
  })

  it('survives the removal of unreferenced files, and is what devices are assigned', async () => {
    const { world, ask, start, round, download } = await setUp()
    await round(await start({ rounds: 1 }), 1)
    const before = await download('net/versions/latest')
    await world.advance(30 * 24 * 3600)
    await world.service.runRetention()
    expect(await download('net/versions/1.5.0')).toBe(before)
    const rollout = await ask('POST', '/models/net/rollouts', { version: 'latest', rollout_percentage: 100 })
    expect(rollout).toMatchObject({ status: 201, body: { version: '1.5.0', warnings: [] } })
    const { assignments } = (await ask('GET', '/devices/trainer/assignments')).body as {
      assignments: { model_hash: string }[]
    }
    expect(assignments.map(({ model_hash }) => model_hash)).toEqual([`sha256:${before}`])
  })

  it('is not created by members of a federation for a model that is only shared with them', async () => {
    const { world, send, keyOf, found } = await openFederation()
    const acme = await keyOf('acme')
    const rival = await keyOf('rival')
    const federation = await found(['rival'])
    const model = await send(acme, 'POST', '/models', { name: 'net' })
    await push(world, acme, weights(0))
    await send(acme, 'POST', `/federations/${federation}/models`, { model_id: model.body.id })
    const job = { model: model.body.id, rounds: 1, min_devices: 1 }
    expect(await send(rival, 'POST', '/training/jobs', job)).toMatchObject({ status: 201, body: { publish: 'none' } })
    expect(await send(rival, 'POST', '/training/jobs', { ...job, publish: 'every' })).toEqual({
      status: 400,
      body: {
        error: 'bad_request',
        message:
          "publish: 'net' belongs to another organization, and only that organization can add versions to it. Leave publish out.",
        status_code: 400,
      },
    })
  })
})

describe('the metric of a job', () => {
  const reported = (f1: number) => ({ metrics: JSON.stringify({ f1 }) })
  const evaluated = (f1: number) => ({
    evaluation: JSON.stringify({ num_samples: 4, metrics: { f1 } }),
  })
  const shown = (versions: readonly Version[]) =>
    versions.slice(1).map(({ trained_by }) => [trained_by!.round_number, trained_by!.metrics])

  it('decides which result is best and when the job stops', async () => {
    const { start, jobOf, round, versions } = await setUp()
    const stop_when = { improvement_below: 0.05, patience: 2 }
    const id = await start({ rounds: 9, metric: 'f1', publish: 'best', stop_when })
    for (const f1 of [0.5, 0.4, 0.7, 0.71, 0.6]) await round(id, 1, reported(f1))
    expect(await jobOf(id)).toMatchObject({
      status: 'completed',
      ended_by: 'converged',
      metric: 'f1',
      stop_when: { ...stop_when, loss_improvement_below: 0.05 },
      reason: "The last 2 rounds improved 'f1' by less than 0.05.",
    })
    expect(shown(await versions())).toEqual([
      [1, { f1: 0.5 }],
      [3, { f1: 0.7 }],
      [4, { f1: 0.71 }],
    ])
  })

  it('can be measured on held-out data: the value of a model arrives with the updates of the next round', async () => {
    const { start, round, versions } = await setUp()
    const id = await start({ rounds: 4, metric: 'evaluation.f1', publish: 'best' })
    await round(id, 1)
    // The updates of a round evaluate the model that the round distributed.
    await round(id, 2, evaluated(0.6))
    await round(id, 3, evaluated(0.9))
    await round(id, 4, evaluated(0.8))
    expect(shown(await versions())).toEqual([
      [1, { 'evaluation.f1': 0.6 }],
      [2, { 'evaluation.f1': 0.9 }],
    ])
  })

  it('is minimized or maximized as the job states, or as its name implies, and the job shows which', async () => {
    const { start, jobOf, round, versions } = await setUp()
    const drift = (value: number) => ({ metrics: JSON.stringify({ drift: value }) })
    const minimized = await start({ rounds: 3, metric: 'drift', goal: 'minimize', publish: 'best' })
    for (const value of [0.5, 0.7, 0.4]) await round(minimized, 1, drift(value))
    expect(await jobOf(minimized)).toMatchObject({ metric: 'drift', goal: 'minimize' })
    expect(shown(await versions())).toEqual([
      [1, { drift: 0.5 }],
      [3, { drift: 0.4 }],
    ])
    const inferred = await start({ rounds: 1, metric: 'evaluation.valLoss', publish: 'best' })
    expect(await jobOf(inferred)).toMatchObject({ metric: 'evaluation.valLoss', goal: 'minimize' })
    await round(inferred, 1)
    const maximized = await start({ rounds: 1, metric: 'valAccuracy', publish: 'best' })
    expect(await jobOf(maximized)).toMatchObject({ goal: 'maximize' })
  })

  it('is named in the final reason if no round reported it, and the last result is published', async () => {
    const { start, jobOf, round, versions } = await setUp()
    const id = await start({ rounds: 1, metric: 'f2', publish: 'best' })
    await round(id, 1, reported(0.5))
    expect(await jobOf(id)).toMatchObject({
      status: 'completed',
      reason: "The requested round is completed. No round reported the metric 'f2'; reported: f1.",
    })
    expect(await versions()).toHaveLength(2)
  })

  it('is refused if nothing uses it, if it is not available, or if its name is invalid', async () => {
    const { ask } = await setUp()
    const refused = async (fields: object, message: string) =>
      expect(await ask('POST', '/training/jobs', { model: 'net', min_devices: 1, ...fields })).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining(message) },
      })
    await refused({ metric: 'f1' }, 'metric is used only by stop_when and publish: best')
    await refused(
      { goal: 'minimize', publish: 'best' },
      "goal says which values of the job's metric are better. Set metric",
    )
    await refused({ metric: 'f 1', publish: 'best' }, 'metric must be loss, accuracy')
    await refused(
      { metric: 'f1', publish: 'best', secure_aggregation: {} },
      "metric: 'f1' is not available with secure_aggregation",
    )
    await refused(
      { metric: 'f1', stop_when: { loss_improvement_below: 1, patience: 1 } },
      'Send only improvement_below',
    )
    const improvement = 'a finite number of at least 0, such as 0.01'
    await refused({ stop_when: { patience: 1 } }, `stop_when.improvement_below is required: ${improvement}`)
    await refused(
      { stop_when: {} },
      `stop_when is empty. It requires improvement_below, ${improvement}: the smallest improvement of the job's metric over ` +
        '`patience` rounds with which the job continues; and patience, an integer from 1 to 1000',
    )
  })
})
