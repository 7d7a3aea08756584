import { expect, it } from 'vitest'
import { formOf } from '../../../../test/world.ts'
import { initialModel } from '../../../sdk/trainers/dense-network.ts'
import { encodeModel } from '../../../sdk/trainers/weights-codec.ts'
import { encodeElements } from '../../../tensors/elements.ts'
import { writeSafetensors } from '../../../tensors/write-safetensors.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

const weights = encodeModel(initialModel({ features: 3, classes: 2, hidden: [], seed: 1 }), new Map())

it('only admin keys see who took part in a private round and with what; what others see contains none of these figures', async () => {
  const { world, admin, send, keyOf } = await openFederation()
  const writer = await keyOf('acme')
  const reader = await keyOf('acme', ['devices:read', 'models:read', 'training:read'])
  const owner = await keyOf('acme', ['admin', 'models:read', 'training:read'])
  const devices: string[] = []
  for (const device_id of ['d0', 'd1']) {
    devices.push((await send(writer, 'POST', '/devices/register', { device_id })).body.api_key as string)
  }
  const device = devices[0]!
  const modelId = (await send(writer, 'POST', '/models', { name: 'scanner' })).body.id as string
  await send(writer, 'POST', `/models/${modelId}/versions/upload`, formOf(weights, {}, 'model.safetensors'))
  const started = await send(writer, 'POST', '/training/rounds/start', {
    target_devices: 2,
    min_devices: 2,
    global_model_id: 'scanner',
    privacy: { noise_multiplier: 2, clip_norm: 1 },
  })
  expect(started).toMatchObject({ status: 201, body: { status: 'active' } })
  const id = started.body.id as string

  // Only the device itself and admins learn that it was drawn.
  const beat = async (key: string) => (await send(key, 'PUT', '/devices/d0/heartbeat', {})).body.pending_round_id
  expect([await beat(device), await beat(admin), await beat(writer)]).toEqual([id, id, undefined])

  for (const key of devices) {
    const form = formOf(weights, { num_samples: 10, local_loss: 0.25, local_accuracy: 0.5 }, 'model.safetensors')
    expect(await send(key, 'POST', `/training/rounds/${id}/updates`, form)).toMatchObject({ status: 201 })
  }
  await world.service.runDueTasks()

  const refusal = {
    status: 403,
    body: {
      error: 'forbidden',
      message:
        'The participants and updates of a private round can be seen only with the scope ' +
        "'admin' in the round's organization: the round's noise does not protect them. Use a key that has it.",
      status_code: 403,
    },
  }
  const requested = [
    ['GET', `/training/rounds/${id}/participants`],
    ['GET', `/training/rounds/${id}/updates`],
    ['GET', `/training/rounds/${id}/selection?device_id=d0`],
    ['GET', `/training/rounds/${id}/receipt`],
    ['POST', `/training/rounds/${id}/receipt/replay`],
  ] as const
  for (const [method, path] of requested) {
    for (const key of [reader, writer]) expect(await send(key, method, path)).toEqual(refusal)
    expect(await send(device, method, path)).toMatchObject({ status: 403 })
    for (const key of [owner, admin]) expect(await send(key, method, path)).toMatchObject({ status: 200 })
  }
  for (const key of [reader, writer, device, owner]) {
    const round = (await send(key, 'GET', `/training/rounds/${id}/status`)).body
    expect(round).toMatchObject({ status: 'completed', accuracy: null, loss: null })
    const model = (await send(key, 'GET', `/models/${round.aggregated_model_id}`)).body
    expect(model).toMatchObject({ accuracy: null, loss: null })
  }
  const { updates } = (await send(admin, 'GET', `/training/rounds/${id}/updates`)).body
  expect(updates).toMatchObject([{ local_loss: null, local_accuracy: null, weight: 1 / 2 }, { weight: 1 / 2 }])
})

it("in a federation's round, only a device's own organization sees what it reported about its data", async () => {
  const { world, admin, send, keyOf, found } = await openFederation()
  const federation = await found(['beta'])
  const keys = { acme: await keyOf('acme'), beta: await keyOf('beta') }
  const devices: string[] = []
  for (const [org, key] of Object.entries(keys)) {
    const { body } = await send(key, 'POST', '/devices/register', { device_id: `device-of-${org}` })
    devices.push(body.api_key as string)
  }
  const started = await send(keys.acme, 'POST', '/training/rounds/start', {
    target_devices: 2,
    min_devices: 2,
    federation,
  })
  expect(started).toMatchObject({ status: 201 })
  const path = `/training/rounds/${started.body.id}/updates`
  for (const key of devices) {
    const fields = {
      num_samples: 10,
      local_loss: 0.25,
      local_accuracy: 0.5,
      metrics: '{"f1": 0.75}',
      evaluation: '{"num_samples": 3, "metrics": {"accuracy": 0.125}}',
    }
    expect(await send(key, 'POST', path, formOf(weights, fields, 'model.safetensors'))).toMatchObject({ status: 201 })
  }
  await world.service.runDueTasks()
  const known = { num_samples: 10, weight: 0.5, model_hash: expect.stringMatching(/^sha256:/) }
  const shown = {
    ...known,
    local_loss: 0.25,
    local_accuracy: 0.5,
    metrics: { f1: 0.75 },
    evaluation: { num_samples: 3, metrics: { accuracy: 0.125 } },
  }
  const hidden = { ...known, local_loss: null, local_accuracy: null, metrics: null, evaluation: null }
  for (const [key, ofAcme, ofBeta] of [
    [keys.acme, shown, hidden],
    [keys.beta, hidden, shown],
    [admin, shown, shown],
  ] as const) {
    expect((await send(key, 'GET', path)).body.updates).toMatchObject([
      { device_identifier: 'device-of-acme', ...ofAcme },
      { device_identifier: 'device-of-beta', ...ofBeta },
    ])
  }
})

it("no member sees who was drawn for a federation's private round, not even the one that started it", async () => {
  const { admin, send, keyOf, found } = await openFederation()
  const federation = await found(['beta'])
  const [owner, beta] = [await keyOf('acme'), await keyOf('beta')]
  const boss = await keyOf('acme', ['admin', 'training:read'])
  for (const key of [owner, beta]) await send(key, 'POST', '/devices/register', { device_id: 'd' })
  const model = (await send(owner, 'POST', '/models', { name: 'scanner' })).body.id as string
  await send(owner, 'POST', `/models/${model}/versions/upload`, formOf(weights, {}, 'model.safetensors'))
  const privacy = { noise_multiplier: 2, clip_norm: 1 }
  await send(owner, 'PUT', `/federations/${federation}/privacy/budget`, { total_epsilon_budget: 50 })
  const start = { target_devices: 2, min_devices: 2, global_model_id: model, federation, privacy }
  const { id } = (await send(owner, 'POST', '/training/rounds/start', start)).body
  for (const part of ['participants', 'updates', 'receipt']) {
    expect(await send(boss, 'GET', `/training/rounds/${id}/${part}`)).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('epsilon assumes that no member knows which devices were drawn') },
    })
  }
  expect((await send(admin, 'GET', `/training/rounds/${id}/participants`)).body).toMatchObject({ total: 2 })
  await send(owner, 'DELETE', `/federations/${federation}/members/beta`)
  await send(owner, 'POST', `/training/rounds/${id}/cancel`)
  const alone = await send(owner, 'POST', '/training/rounds/start', { ...start, target_devices: 1, min_devices: 1 })
  expect((await send(boss, 'GET', `/training/rounds/${alone.body.id}/participants`)).body).toMatchObject({ total: 1 })
})

it('an update with an out-of-range norm is clipped instead of failing a private round, whose reason would name it', async () => {
  const { world, send, keyOf } = await openFederation()
  const writer = await keyOf('acme')
  const devices: string[] = []
  for (const device_id of ['secret-a', 'secret-b']) {
    devices.push((await send(writer, 'POST', '/devices/register', { device_id })).body.api_key as string)
  }
  const file = (values: readonly number[]) =>
    new Uint8Array(writeSafetensors([{ name: 'w', dtype: 'f64', shape: [2], data: encodeElements(values, 'f64') }]))
  const modelId = (await send(writer, 'POST', '/models', { name: 'scanner' })).body.id as string
  await send(writer, 'POST', `/models/${modelId}/versions/upload`, formOf(file([0, 0]), {}, 'model.safetensors'))
  const started = await send(writer, 'POST', '/training/rounds/start', {
    target_devices: 2,
    min_devices: 2,
    global_model_id: 'scanner',
    privacy: { noise_multiplier: 2, clip_norm: 1 },
  })
  const path = `/training/rounds/${started.body.id}`
  const submit = (key: string, value: number) =>
    send(key, 'POST', `${path}/updates`, formOf(file([value, 0]), { num_samples: 1 }, 'model.safetensors'))
  const [first, second] = devices as [string, string]
  expect(await submit(first, Number.NaN)).toMatchObject({ status: 400 })
  expect(await submit(first, 1e200)).toMatchObject({ status: 201 })
  expect(await submit(second, -1.5e308)).toMatchObject({ status: 201 })
  await world.service.runDueTasks()
  const { body } = await send(writer, 'GET', `${path}/status`)
  expect(body).toMatchObject({ status: 'completed', failure_reason: null })
})
