import { expect, it } from 'vitest'
import { apiOf, formOf, startWorld, type TestDevice } from '../../../test/world.ts'
import { gaussianEpsilon } from '../../domain/privacy/gaussian.ts'
import { initialModel } from '../../sdk/trainers/dense-network.ts'
import { encodeModel } from '../../sdk/trainers/weights-codec.ts'

const weights = encodeModel(initialModel({ features: 3, classes: 2, hidden: [], seed: 1 }), new Map())

/** A federation with two devices of acme and one of beta, and a model to train. */
const open = async () => {
  const world = await startWorld()
  const devices: TestDevice[] = []
  for (const [at, org_id] of ['acme', 'acme', 'beta'].entries())
    devices.push(await world.register(`d${at}`, { org_id }))
  const { key } = devices[0]!
  const send = apiOf(world, key)
  const id = (await send('POST', '/federations', { name: 'league', org_id: 'acme' })).body.id as string
  await send('POST', `/federations/${id}/join`, { org_id: 'beta' })
  const modelId = (await send('POST', '/models', { name: 'scanner' })).body.id as string
  await send('POST', `/models/${modelId}/versions/upload`, formOf(weights, {}, 'model.safetensors'))
  const start = (noise_multiplier: number) =>
    send('POST', '/training/rounds/start', {
      target_devices: 3,
      min_devices: 3,
      global_model_id: 'scanner',
      federation: id,
      privacy: { noise_multiplier, clip_norm: 1 },
    })
  const deliver = async (roundId: unknown) => {
    for (const [at, { key: own }] of devices.entries()) {
      const form = formOf(weights, { num_samples: 10 * (at + 1), local_accuracy: 0.5 + at / 10 }, 'model.safetensors')
      expect(await send('POST', `/training/rounds/${roundId}/updates`, form, own)).toMatchObject({ status: 201 })
    }
    await world.service.runDueTasks()
  }
  return { world, devices, send, id, start, deliver }
}

it("a private round reserves its cost, spends it when its result is out, and shows nothing of members' contributions", async () => {
  const { send, id, start, deliver } = await open()
  expect(await start(4)).toMatchObject({ status: 409, body: { message: expect.stringContaining('Set one first') } })
  const twoNames = { target_devices: 3, min_devices: 3, federation: id, federation_id: 'another' }
  expect(await send('POST', '/training/rounds/start', twoNames)).toMatchObject({
    status: 400,
    body: { message: `federation is '${id}' and federation_id is 'another', which mean the same. Send one of them.` },
  })
  await send('PUT', `/federations/${id}/privacy/budget`, { total_epsilon_budget: 1.2 })
  const round = await start(4)
  expect(round).toMatchObject({ status: 201, body: { federation_id: id, privacy: { sample_rate: 1 } } })
  // All devices took part, so it is one Gaussian mechanism.
  const cost = expect.closeTo(gaussianEpsilon(4, 1e-5), 12)
  const budget = async () => (await send('GET', `/federations/${id}/privacy`)).body
  expect(await budget()).toMatchObject({ current_epsilon_spent: 0, epsilon_committed: cost, rounds_tracked: 0 })

  await deliver(round.body.id)
  expect(await budget()).toMatchObject({ current_epsilon_spent: cost, epsilon_committed: cost, rounds_tracked: 1 })
  // The privacy budget does not cover figures about single devices.
  const { updates } = (await send('GET', `/training/rounds/${round.body.id}/updates`)).body as { updates: unknown[] }
  expect(updates[0]).toMatchObject({ norm: null, cosine: null, local_loss: null, local_accuracy: null })
  expect((await send('GET', `/federations/${id}/privacy/history`)).body.history).toEqual([
    {
      round_id: round.body.id,
      job_id: null,
      status: 'settled',
      noise_multiplier: 4,
      sample_rate: 1,
      num_steps: 1,
      clip_norm: 1,
      epsilon_cost: cost,
      cumulative_epsilon: cost,
      accountant: 'pld',
      reserved_at: '2026-01-01T00:00:00.000Z',
      settled_at: '2026-01-01T00:00:00.000Z',
    },
  ])
  const { members } = (await send('GET', `/federations/${id}/members`)).body
  expect(members).toMatchObject([
    { org_id: 'acme', rounds_contributed: 0, total_samples: 0, avg_accuracy: null, last_contribution_at: null },
    { org_id: 'beta', rounds_contributed: 0, total_samples: 0, avg_accuracy: null, last_contribution_at: null },
  ])
  const { models } = (await send('GET', `/federations/${id}/models`)).body
  expect(models).toMatchObject([{ latest_version: 1 }])
  const again = await start(4)
  expect(again).toMatchObject({ status: 409, body: { error: 'conflict' } })
  expect(again.body.message).toMatch(/epsilon 0\.\d+ of 1\.2 is spent or reserved, and this would make it 1\.\d+/)
})

it('a private round that fails spends what it reserved, because its failure may reveal who took part', async () => {
  const { world, send, id, start } = await open()
  await send('PUT', `/federations/${id}/privacy/budget`, { total_epsilon_budget: 1.2 })
  const { status, body: round } = await start(4)
  expect(status).toBe(201)
  await world.advance(301)
  expect((await send('GET', '/training/rounds/current')).body.status).toBe('failed')
  expect((await send('GET', `/federations/${id}/privacy`)).body).toMatchObject({
    current_epsilon_spent: expect.closeTo(gaussianEpsilon(4, 1e-5), 12),
    epsilon_committed: expect.closeTo(gaussianEpsilon(4, 1e-5), 12),
    rounds_tracked: 1,
  })
  expect((await send('GET', `/federations/${id}/privacy/history`)).body.history).toMatchObject([
    { round_id: round.id, status: 'settled', noise_multiplier: 4, sample_rate: 1 },
  ])
})

it('the metric of a privacy budget is what the API says, also after a change of delta', async () => {
  const { world, devices, send, id, start, deliver } = await open()
  const { key } = devices[0]!
  await send('PUT', `/federations/${id}/privacy/budget`, { total_epsilon_budget: 50 })
  await deliver((await start(4)).body.id)
  // Stores costs, which the other delta makes obsolete.
  await send('GET', `/federations/${id}/privacy/history`)
  await send('PUT', `/federations/${id}/privacy/budget`, { total_epsilon_budget: 50, total_delta_budget: 1e-7 })
  expect((await start(4)).status).toBe(201)
  const budget = (await send('GET', `/federations/${id}/privacy`)).body
  expect(budget.epsilon_committed).toBeGreaterThan(budget.current_epsilon_spent as number)
  const lines = String((await world.request('GET', '/metrics', { key })).body).split('\n')
  const labels = `{federation_id="${id}",federation="league"}`
  expect(lines).toContain(`tributary_privacy_epsilon_spent${labels} ${budget.epsilon_committed}`)
  expect(lines).toContain(`tributary_privacy_epsilon_budget${labels} 50`)
})
