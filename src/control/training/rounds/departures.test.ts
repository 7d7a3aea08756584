import { expect, it } from 'vitest'
import { formOf } from '../../../../test/world.ts'
import { initialModel } from '../../../sdk/trainers/dense-network.ts'
import { encodeModel } from '../../../sdk/trainers/weights-codec.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

const weights = encodeModel(initialModel({ features: 3, classes: 2, hidden: [], seed: 1 }), new Map())
const LEFT = "'partner' is no longer a member of the federation."

/** A federation of acme and its partner, each with a model and two devices. */
const openPair = async () => {
  const { world, send, keyOf, found } = await openFederation()
  const federation = await found(['partner'])
  const open = async (org: string) => {
    const key = await keyOf(org)
    await send(key, 'POST', '/models', { name: `of-${org}` })
    await send(key, 'POST', `/models/of-${org}/versions/upload`, formOf(weights, {}, 'model.safetensors'))
    const devices = await Promise.all(
      [0, 1].map(async (n) => {
        const name = `${org}-${n}`
        const device = (await send(key, 'POST', '/devices/register', { device_id: name })).body.api_key as string
        const awaited = async () =>
          (await send(device, 'PUT', `/devices/${name}/heartbeat`, {})).body.pending_round_id ?? null
        const submit = async (round: string, more = {}) => {
          const form = formOf(weights, { num_samples: 1, ...more }, 'model.safetensors')
          return (await send(device, 'POST', `/training/rounds/${round}/updates`, form)).status
        }
        return { name, awaited, submit }
      }),
    )
    const startJob = async (fields: object) => {
      const body = { model: `of-${org}`, rounds: 3, min_devices: 2, federation_id: federation, ...fields }
      const started = await send(key, 'POST', '/training/jobs', body)
      expect(started).toMatchObject({ status: 201 })
      const { id } = started.body
      const rounds = await send(key, 'GET', `/training/jobs/${id}/rounds`)
      return { id, round: (rounds.body.rounds as { id: string }[])[0]?.id as string }
    }
    return { key, devices, startJob, get: async (path: string) => (await send(key, 'GET', path)).body }
  }
  const [acme, partner] = [await open('acme'), await open('partner')]
  const leave = () => send(partner.key, 'DELETE', `/federations/${federation}/members/partner`)
  return { world, send, acme, partner, leave }
}

it.each([
  ['fedavg', {}],
  ['fedbuff', { strategy_options: { buffer: 2 } }],
  ['fedavg with privacy', { privacy: { noise_multiplier: 2, clip_norm: 1 } }],
])('the devices of an organization that leaves are removed from the rounds of others (%s)', async (named, fields) => {
  const { world, send, acme, partner, leave } = await openPair()
  if ('privacy' in fields) {
    const [{ id }] = (await acme.get('/federations')).federations as [{ id: string }]
    const budget = { total_epsilon_budget: 100, total_delta_budget: 1e-4 }
    expect(await send(acme.key, 'PUT', `/federations/${id}/privacy/budget`, budget)).toMatchObject({ status: 200 })
  }
  const strategy = named.split(' ')[0]
  const { round } = await acme.startJob({ strategy, target_devices: 4, ...fields })
  expect(await partner.devices[0]!.submit(round)).toBe(201)
  expect(await partner.devices[1]!.awaited()).toBe(round)

  await leave()
  expect(await partner.devices[1]!.awaited()).toBeNull()
  expect(await partner.devices[1]!.submit(round)).toBe(404)
  expect(await acme.get(`/training/rounds/${round}/status`)).toMatchObject({
    completed_devices: 1,
    failed_devices: 1,
  })
  if (!('privacy' in fields)) {
    const { participants } = (await acme.get(`/training/rounds/${round}/participants`)) as { participants: object[] }
    expect(participants).toContainEqual(
      expect.objectContaining({ device_identifier: 'partner-1', state: 'failed', reason: LEFT }),
    )
  }

  // The round waits for no other device.
  for (const device of acme.devices) await device.submit(round)
  await world.advance(0)
  const completed = strategy === 'fedbuff' ? 2 : 3
  expect(await acme.get(`/training/rounds/${round}/status`)).toMatchObject({
    status: 'completed',
    completed_devices: completed,
  })
})

it('an organization that leaves can no longer train with the devices of the others', async () => {
  const { world, send, acme, partner, leave } = await openPair()
  const { id, round } = await partner.startJob({ target_devices: 4 })
  expect(await acme.devices[0]!.awaited()).toBe(round)

  await leave()
  expect(await partner.get(`/training/rounds/${round}/status`)).toMatchObject({
    status: 'failed',
    failure_reason: "'partner', which started the round, is no longer a member of the federation.",
  })
  await world.advance(1)
  expect(await acme.devices[0]!.awaited()).toBeNull()
  const forbidden =
    "'partner' is no longer a member of the federation: it cannot train with the devices of its members."
  expect(await partner.get(`/training/jobs/${id}`)).toMatchObject({
    status: 'failed',
    ended_by: 'cannot_start',
    reason: forbidden,
  })
  expect(await send(partner.key, 'POST', `/training/jobs/${id}/resume`, {})).toMatchObject({ status: 404 })
  expect(await send(partner.key, 'GET', `/training/jobs/${id}/rounds`)).toMatchObject({ body: { total: 1 } })
})

it('an organization that leaves no longer holds up the evaluation of a model, and its own waiting job ends', async () => {
  const { world, acme, partner, leave } = await openPair()
  const waiting = await partner.startJob({ min_devices: 5 })
  expect(waiting.round).toBeUndefined()
  const { id, round } = await acme.startJob({ rounds: 1, min_devices: 4 })
  const evaluation = JSON.stringify({ num_samples: 1, metrics: { loss: 1 }, final_model: true })
  for (const device of [...acme.devices, ...partner.devices]) {
    const fields = device === partner.devices[0] ? { evaluation } : {}
    expect(await device.submit(round, fields)).toBe(201)
  }
  await world.advance(0)
  expect(await acme.get(`/training/jobs/${id}`)).toMatchObject({
    status: 'running',
    waiting_for: 'Waits for 1 device to evaluate the last model.',
  })

  await leave()
  await world.advance(1)
  expect(await acme.get(`/training/jobs/${id}`)).toMatchObject({ status: 'completed', ended_by: 'rounds_done' })
  expect(await partner.get(`/training/jobs/${waiting.id}`)).toMatchObject({
    status: 'failed',
    ended_by: 'cannot_start',
  })
})
