import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { formOf } from '../../../../test/world.ts'
import { initialModel } from '../../../sdk/trainers/dense-network.ts'
import { encodeModel } from '../../../sdk/trainers/weights-codec.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

type Body = Record<string, unknown>

const weights = encodeModel(initialModel({ features: 3, classes: 2, hidden: [], seed: 1 }), new Map())

/** A federation of acme, beta, and perhaps gamma, each with this many devices, and a model of acme. */
const league = async (counts: { readonly acme: number; readonly beta: number; readonly gamma?: number }) => {
  const { world, admin, send, keyOf, found } = await openFederation()
  const orgs = ['acme', 'beta', 'gamma'].filter((org) => org in counts) as (keyof typeof counts)[]
  const federation = await found(orgs.slice(1))
  const keys = {
    acme: await keyOf('acme'),
    beta: await keyOf('beta'),
    ...(counts.gamma && { gamma: await keyOf('gamma') }),
  }
  const devices: { readonly org: string; readonly key: string }[] = []
  for (const org of orgs) {
    for (let index = 0; index < (counts[org] ?? 0); index++) {
      const { body } = await send(keys[org]!, 'POST', '/devices/register', { device_id: `${org}-${index}` })
      devices.push({ org, key: body.api_key as string })
    }
  }
  const model = (await send(keys.acme, 'POST', '/models', { name: 'scanner' })).body.id as string
  await send(keys.acme, 'POST', `/models/${model}/versions/upload`, formOf(weights, {}, 'model.safetensors'))
  const submit = (key: string, round: string, index: number, metrics: object) => {
    const found = { num_samples: 3, metrics: { accuracy: index / 100 }, ...{ final_model: true } }
    const fields = {
      num_samples: 10,
      local_loss: index,
      local_accuracy: index / 100,
      training_time_seconds: 7,
      metrics: JSON.stringify({ f1: index, ...metrics }),
      evaluation: JSON.stringify(found),
    }
    return send(key, 'POST', `/training/rounds/${round}/updates`, formOf(weights, fields, 'model.safetensors'))
  }
  return { world, admin, send, federation, keys, devices, model, submit }
}

type Federation = Awaited<ReturnType<typeof league>>

/** A job of one round in which every device delivers and evaluates the result. */
const playJob = async (
  { world, send, federation, keys, devices, submit }: Federation,
  metricsOf: (org: string, index: number) => object = () => ({}),
  settings: object = {},
): Promise<[string, string]> => {
  const started = await send(keys.acme, 'POST', '/training/jobs', {
    model: 'scanner',
    federation,
    rounds: 1,
    min_devices: devices.length,
    ...settings,
  })
  expect(started).toMatchObject({ status: 201 })
  await world.service.runDueTasks()
  const jobId = started.body.id as string
  const roundId = ((await send(keys.acme, 'GET', '/training/rounds/current')).body as Body).id as string
  for (const [index, { key, org }] of devices.entries()) {
    expect(await submit(key, roundId, index, metricsOf(org, index))).toMatchObject({ status: 201 })
  }
  await world.service.runDueTasks()
  for (const [index, { key }] of devices.entries()) {
    const body = { num_samples: 1, metrics: { accuracy: index / 100 } }
    expect(await send(key, 'POST', `/training/rounds/${roundId}/evaluation`, body)).toMatchObject({ status: 201 })
  }
  await world.service.runDueTasks()
  return [jobId, roundId]
}

const FIGURES = ['loss', 'accuracy', 'metrics', 'evaluation', 'global_evaluation'] as const

/** The figures of the round from all responses that contain them, which must agree. */
const figuresFor = async ({ send }: Federation, key: string, [jobId, roundId]: readonly [string, string]) => {
  const pick = (round: Body) => Object.fromEntries(FIGURES.map((name) => [name, round[name]]))
  const status = pick((await send(key, 'GET', `/training/rounds/${roundId}/status`)).body)
  const { rounds } = (await send(key, 'GET', `/training/jobs/${jobId}/rounds`)).body as { rounds: Body[] }
  expect(pick(rounds[0]!)).toEqual(status)
  const all = (await send(key, 'GET', '/training/rounds')).body as { rounds: Body[] }
  expect(pick(all.rounds.find(({ id }) => id === roundId)!)).toEqual(status)
  const { history } = (await send(key, 'GET', `/training/jobs/${jobId}`)).body as { history: Body[] }
  expect({ ...pick(history[0]!), global_evaluation: status.global_evaluation }).toEqual(status)
  return status
}

it("a member sees no figures of a few devices of others in a federation's rounds; a key that sees all organizations does", async () => {
  const all = await league({ acme: 1, beta: 1 })
  const ids = await playJob(all)
  const accuracy = { mean: 0.005, median: 0.005, worst_tenth: 0, min: 0, max: 0.01, devices: 2 }
  expect(await figuresFor(all, all.admin, ids)).toMatchObject({
    loss: 0.5,
    accuracy: 0.005,
    metrics: { f1: { min: 0, max: 1 }, loss: { devices: 2 } },
    evaluation: { devices: 2, metrics: { accuracy } },
    global_evaluation: { devices: 2, metrics: { accuracy } },
  })
  for (const key of Object.values(all.keys)) {
    expect(await figuresFor(all, key, ids)).toEqual({ loss: null, accuracy: null })
  }
  // The catalog does not show them either: neither the round's model nor the version published from it.
  const { body: round } = await all.send(all.keys.acme, 'GET', `/training/rounds/${ids[1]}/status`)
  const made = await all.send(all.keys.acme, 'GET', `/models/${round.aggregated_model_id}`)
  expect(made.body).toMatchObject({ loss: null, accuracy: null })
  const { body: version } = await all.send(all.keys.acme, 'GET', `/models/${all.model}/versions/2`)
  expect(version).toMatchObject({ trained_by: { metrics: {} } })
})

it('a member sees means over at least five devices of others, and nothing that is one device’s value', async () => {
  const all = await league({ acme: 1, beta: 5 })
  const ids = await playJob(all)
  const withheld = { median: null, worst_tenth: null, min: null, max: null, devices: 6 }
  const accuracy = { mean: expect.closeTo(0.025, 12), ...withheld }
  expect(await figuresFor(all, all.keys.acme, ids)).toMatchObject({
    loss: 2.5,
    accuracy: expect.closeTo(0.025, 12),
    metrics: { f1: { mean: 2.5, ...withheld }, loss: { mean: 2.5, ...withheld }, accuracy },
    evaluation: { devices: 6, metrics: { accuracy } },
    global_evaluation: { devices: 6, metrics: { accuracy } },
  })
  // By subtracting its own five devices, beta could compute acme's figures.
  expect(await figuresFor(all, all.keys.beta, ids)).toEqual({ loss: null, accuracy: null })
})

it('values that members may not see decide neither what a job publishes nor when it stops', async () => {
  const { world, send, federation, keys, devices, submit } = await league({ acme: 1, beta: 1 })
  const settings = { rounds: 2, min_devices: 2, publish: 'best', stop_when: { loss_improvement_below: 1, patience: 1 } }
  const started = await send(keys.acme, 'POST', '/training/jobs', { model: 'scanner', federation, ...settings })
  // The second round is worse.
  for (const more of [0, 10]) {
    await world.service.runDueTasks()
    const roundId = ((await send(keys.acme, 'GET', '/training/rounds/current')).body as Body).id as string
    for (const [index, { key }] of devices.entries()) await submit(key, roundId, index + more, {})
    await world.service.runDueTasks()
  }
  await world.advance(3600)
  expect((await send(keys.acme, 'GET', `/training/jobs/${started.body.id}`)).body).toMatchObject({
    status: 'completed',
    reason:
      'All 2 requested rounds are completed. ' +
      "No round has a value of 'loss' that all members may see, so publish and stop_when did not use it.",
    published: [{ round_number: 2 }],
  })
})

it('a round shows nothing to a member if one of the others has a single device in it, whose figures the averages would reveal', async () => {
  const all = await league({ acme: 5, beta: 6, gamma: 1 })
  const ids = await playJob(all)
  const nothing = { loss: null, accuracy: null }
  expect(await figuresFor(all, all.keys.acme, ids)).toEqual(nothing)
  expect(await figuresFor(all, all.keys.beta, ids)).toEqual(nothing)
  // Each of the others has at least five devices.
  expect(await figuresFor(all, all.keys.gamma!, ids)).toMatchObject({
    loss: 5.5,
    metrics: { f1: { devices: 12 } },
    evaluation: { devices: 12 },
    global_evaluation: { devices: 12 },
  })
  const { body: round } = await all.send(all.keys.acme, 'GET', `/training/rounds/${ids[1]}/status`)
  const made = await all.send(all.keys.acme, 'GET', `/models/${round.aggregated_model_id}`)
  expect(made.body).toMatchObject({ loss: null, accuracy: null })
  const { body: updates } = await all.send(all.keys.acme, 'GET', `/training/rounds/${ids[1]}/updates`)
  const figures = (updates.updates as Body[]).map(({ device_identifier, training_time_seconds, norm, non_finite }) => [
    device_identifier,
    training_time_seconds,
    norm,
    non_finite,
  ])
  const own = [0, 1, 2, 3, 4].map((n) => [`acme-${n}`, 7, 0, 0])
  const others = [...[0, 1, 2, 3, 4, 5].map((n) => `beta-${n}`), 'gamma-0'].map((name) => [name, null, null, null])
  expect(figures).toEqual([...own, ...others])
})

it('evaluations of asynchronous rounds are not shown, because later rounds add a few devices to them', async () => {
  const all = await league({ acme: 1, beta: 5 })
  const [, roundId] = await playJob(all, undefined, { strategy: 'fedbuff', strategy_options: { buffer: 6 } })
  const { body: seen } = await all.send(all.keys.acme, 'GET', `/training/rounds/${roundId}/status`)
  expect(seen).toMatchObject({ loss: 2.5, metrics: { f1: { devices: 6 } } })
  for (const name of ['evaluation', 'global_evaluation']) {
    expect(seen).not.toHaveProperty(name)
    const { body: stored } = await all.send(all.admin, 'GET', `/training/rounds/${roundId}/status`)
    expect(stored[name]).toMatchObject({ devices: 6 })
  }
})

it('a metric that only some devices report is shown if each other organization has five or none that do', async () => {
  const all = await league({ acme: 5, beta: 6, gamma: 1 })
  // The devices of beta, and all but one of acme's, report `g1`; `h1` comes from the devices of gamma and beta.
  const [, roundId] = await playJob(all, (org, index) => ({
    ...(org === 'beta' && { g1: 1, h1: 1 }),
    ...(org === 'acme' && index > 0 && { g1: 1 }),
    ...(org === 'gamma' && { h1: 1 }),
  }))
  const seenBy = async (key: string) =>
    Object.keys(((await all.send(key, 'GET', `/training/rounds/${roundId}/status`)).body.metrics ?? {}) as Body)
  expect(await seenBy(all.keys.acme)).toEqual(['g1'])
  expect(await seenBy(all.keys.beta)).toEqual([])
  expect(await seenBy(all.keys.gamma!)).toEqual(expect.arrayContaining(['accuracy', 'f1', 'h1', 'loss']))
})

it("another member's means come only from rounds in which at least five of its devices took part", async () => {
  const all = await league({ acme: 1, beta: 5 })
  await playJob(all)
  const seenBy = async (key: string) => {
    const { body } = await all.send(key, 'GET', `/federations/${all.federation}/members`)
    const members = body.members as { org_id: string; avg_loss: number | null; avg_accuracy: number | null }[]
    return members.map(({ org_id, avg_loss, avg_accuracy }) => [org_id, avg_loss, avg_accuracy])
  }
  expect(await seenBy(all.admin)).toEqual([
    ['acme', 0, 0],
    ['beta', 3, expect.closeTo(0.03, 12)],
  ])
  expect(await seenBy(all.keys.acme)).toEqual([
    ['acme', 0, 0],
    ['beta', 3, expect.closeTo(0.03, 12)],
  ])
  expect(await seenBy(all.keys.beta)).toEqual([
    ['acme', null, null],
    ['beta', 3, expect.closeTo(0.03, 12)],
  ])
})

it('erasing own devices and removing a member reveal nothing', async () => {
  const all = await league({ acme: 5, beta: 1 })
  const ids = await playJob(all)
  const nothing = { loss: null, accuracy: null }
  expect(await figuresFor(all, all.keys.acme, ids)).toEqual(nothing)
  const averages = async () => {
    const { body } = await all.send(all.keys.beta, 'GET', `/federations/${all.federation}/members`)
    return (body.members as Body[]).map(({ avg_loss }) => avg_loss)
  }
  expect(await averages()).toEqual([2, 5])
  for (let index = 0; index < 4; index++) {
    const id = `acme-${index}`
    expect(await all.send(all.admin, 'POST', `/devices/${id}/erase`, { confirm: id })).toMatchObject({
      status: 200,
    })
  }
  expect(await figuresFor(all, all.keys.acme, ids)).toEqual(nothing)
  expect(await figuresFor(all, all.keys.beta, ids)).toEqual(nothing)
  expect(await averages()).toEqual([null, 5])
})

it("the reason of a federation's job names no metrics that devices report", async () => {
  const all = await league({ acme: 1, beta: 0 })
  const settings = { rounds: 1, metric: 'f2', publish: 'best' }
  const [jobId] = await playJob(all, () => ({ secret_name: 1 }), settings)
  const { body } = await all.send(all.keys.beta, 'GET', `/training/jobs/${jobId}`)
  expect(body.reason).toBe("The requested round is completed. No round reported the metric 'f2'.")
})

it("a member's minimum group size still counts after it was removed", async () => {
  const all = await league({ acme: 1, beta: 6 })
  const ids = await playJob(all)
  await sql`insert into org_settings (org_id, updated_at, min_group_size) values ('beta', now(), 8)`.execute(
    all.world.database!.sql,
  )
  const nothing = { loss: null, accuracy: null }
  expect(await figuresFor(all, all.keys.acme, ids)).toEqual(nothing)
  const removed = await all.send(all.keys.acme, 'DELETE', `/federations/${all.federation}/members/beta`)
  expect(removed.status).toBe(200)
  expect(await figuresFor(all, all.keys.acme, ids)).toEqual(nothing)
})

it('a member sees all figures of a round in which only its own devices took part', async () => {
  const all = await league({ acme: 2, beta: 0 })
  const ids = await playJob(all)
  expect(await figuresFor(all, all.keys.acme, ids)).toMatchObject({
    loss: 0.5,
    metrics: { f1: { min: 0, max: 1 } },
    evaluation: { devices: 2 },
  })
  expect(await figuresFor(all, all.keys.beta, ids)).toEqual({ loss: null, accuracy: null })
})

it.each([
  ['a few devices', 'withholds their figures', { acme: 1, beta: 0 }, null],
  ['a few devices of another member than the one that started it', 'withholds them', { acme: 0, beta: 1 }, null],
  ['five devices', 'shows means', { acme: 5, beta: 0 }, 2],
] as const)('if only one member took part in a round, with %s, the catalog %s', async (_who, _what, counts, loss) => {
  const all = await league(counts)
  const [, roundId] = await playJob(all)
  const { body: round } = await all.send(all.admin, 'GET', `/training/rounds/${roundId}/status`)
  expect(round.loss).not.toBe(null)
  const made = round.aggregated_model_id as string
  for (const id of [made, all.model])
    await all.send(all.keys.acme, 'POST', `/federations/${all.federation}/models`, { model_id: id })
  const accuracy = loss === null ? null : expect.closeTo(0.02, 12)
  for (const key of Object.values(all.keys)) {
    expect((await all.send(key, 'GET', `/models/${made}`)).body).toMatchObject({ loss, accuracy })
    const { body: shared } = await all.send(key, 'GET', `/federations/${all.federation}/models`)
    expect((shared.models as Body[]).find(({ model_id }) => model_id === made)).toMatchObject({ loss, accuracy })
    const { body: version } = await all.send(key, 'GET', `/models/${all.model}/versions/2`)
    const { metrics } = version.trained_by as { metrics: Body }
    if (loss === null) expect(metrics).toEqual({})
    else expect(metrics).toMatchObject({ loss, f1: loss })
  }
})

it('only a device’s own organization sees its description of a failure', async () => {
  const { world, admin, send, federation, keys, devices } = await league({ acme: 1, beta: 1 })
  const started = await send(keys.acme, 'POST', '/training/jobs', {
    model: 'scanner',
    federation,
    min_devices: 1,
    target_devices: 2,
  })
  const { body: round } = await send(keys.acme, 'GET', '/training/rounds/current')
  for (const { key, org } of devices) {
    const reason = `patient 4711 of ${org}`
    await send(key, 'GET', `/training/rounds/${round.id}/plan`)
    expect(await send(key, 'POST', `/training/rounds/${round.id}/failures`, { reason })).toMatchObject({ status: 200 })
  }
  await world.service.runDueTasks()
  const reasons = async (key: string) => {
    const { body } = await send(key, 'GET', `/training/rounds/${round.id}/participants`)
    return (body.participants as Body[]).map(({ reason }) => reason)
  }
  const [ofAcme, ofBeta, hidden] = ['patient 4711 of acme', 'patient 4711 of beta', 'The device reported a failure.']
  expect(await reasons(admin)).toEqual([ofAcme, ofBeta])
  expect(await reasons(keys.acme)).toEqual([ofAcme, hidden])
  expect(await reasons(keys.beta)).toEqual([hidden, ofBeta])
  for (const key of [keys.acme, keys.beta, admin]) {
    const { body } = await send(key, 'GET', `/training/rounds/${round.id}/status`)
    expect([body.status, body.failure_reason]).toEqual([
      'failed',
      '2 of 2 devices failed: The device reported a failure (2)',
    ])
    const job = (await send(key, 'GET', `/training/jobs/${started.body.id}`)).body
    expect(JSON.stringify(job)).not.toContain('4711')
  }
})

it('a page of more rounds than one statement reads shows the figures of all of them', async () => {
  const federation = await league({ acme: 5, beta: 5, gamma: 5 })
  const { world, send, keys } = federation
  const [jobId, roundId] = await playJob(federation)
  const copies = sql`(select gen_random_uuid() as id, number from generate_series(2, 60) as number)`
  await world.database!.transaction(async (tx) => {
    await sql`create temporary table copies on commit drop as ${copies}`.execute(tx)
    await sql`insert into rounds select n.* from rounds r, copies c, jsonb_populate_record(r, jsonb_build_object(
      'id', c.id, 'round_number', c.number, 'aggregated_model_id', null)) n where r.id = ${roundId}`.execute(tx)
    await sql`insert into updates select n.* from updates u, copies c, jsonb_populate_record(u, jsonb_build_object(
      'id', gen_random_uuid(), 'round_id', c.id)) n where u.round_id = ${roundId}`.execute(tx)
  })
  const { body } = await send(keys.beta, 'GET', `/training/jobs/${jobId}/rounds?limit=100`)
  const rounds = body.rounds as Body[]
  expect(rounds).toHaveLength(60)
  const first = rounds.find(({ id }) => id === roundId)!
  expect(first.loss).not.toBeNull()
  for (const { loss, metrics } of rounds)
    expect({ loss, metrics }).toEqual({ loss: first.loss, metrics: first.metrics })
})
