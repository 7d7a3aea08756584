import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { organizations } from '../../../../test/organizations.ts'
import { formOf, startWorld, type TestDevice, type World } from '../../../../test/world.ts'
import { readTensorFloats } from '../../../tensors/elements.ts'
import { readWeights } from '../../../tensors/read-weights.ts'
import { bytesSource } from '../../../tensors/sources.ts'

const openOrganization = organizations()

const fixture = (name: string) => readFileSync(new URL(`../../../../test/fixtures/weights/${name}`, import.meta.url))
const expected = JSON.parse(fixture('net_expected.json').toString()) as {
  weighted_mean: Record<string, unknown>
}
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const at = '2026-01-01T00:00:00.000Z'

interface Round {
  id: string
  status: string
  round_number: number
  aggregated_model_id: string | null
  failure_reason: string | null
  [field: string]: unknown
}

const start = (world: World, key: string, fields: object = {}) =>
  world.request('POST', '/api/v1/training/rounds/start', {
    key,
    body: { target_devices: 2, min_devices: 2, ...fields },
  })
const startOk = async (world: World, key: string, fields: object = {}): Promise<Round> => {
  const response = await start(world, key, fields)
  expect(response.status).toBe(201)
  return response.body as Round
}
const status = async (world: World, key: string, id: string) =>
  (await world.request('GET', `/api/v1/training/rounds/${id}/status`, { key })).body as Round
const submit = (
  world: World,
  device: TestDevice,
  id: string,
  file: Uint8Array | string,
  fields: Record<string, string | number> = { num_samples: 10 },
) => world.request('POST', `/api/v1/training/rounds/${id}/updates`, { key: device.key, body: formOf(file, fields) })

const fleet = async (world: World, size: number): Promise<TestDevice[]> => {
  const devices: TestDevice[] = []
  for (let n = 0; n < size; n++) devices.push(await world.register(`d${n}`))
  return devices
}

const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer)

describe('starting a round', () => {
  it('makes it active with a deadline, and notifies the selected devices', async () => {
    const world = await startWorld()
    const [a, b] = await fleet(world, 2)
    const round = await startOk(world, a!.key)
    expect(round).toEqual({
      id: uuid,
      org_id: null,
      round_number: 1,
      status: 'active',
      target_devices: 2,
      min_devices: 2,
      participated_devices: 0,
      completed_devices: 0,
      failed_devices: 0,
      global_model_id: null,
      global_model_path: null,
      aggregated_model_id: null,
      aggregated_model_path: null,
      failure_reason: null,
      started_at: at,
      completed_at: null,
      ended_at: null,
      timeout_at: '2026-01-01T00:05:00.000Z',
      created_at: at,
    })
    const beat = await world.request('PUT', '/api/v1/devices/d1/heartbeat', { key: b!.key })
    expect(beat.body).toMatchObject({ pending_round_id: round.id })
    expect((await world.request('GET', '/api/v1/training/rounds/current', { key: b!.key })).body).toEqual(round)
  })

  it('is refused while one is in progress, even if many start at once', async () => {
    const world = openOrganization()
    const [a] = await fleet(world, 1)
    const responses = await Promise.all(Array.from({ length: 10 }, () => start(world, a!.key)))
    expect(responses.map((response) => response.status).sort()).toEqual([201, ...Array(9).fill(409)])
  })

  it('is refused with invalid fields, and names them', async () => {
    const world = openOrganization()
    const [a] = await fleet(world, 1)
    const refused: [fields: object, named: string][] = [
      [{ target_devices: undefined }, 'target_devices'],
      [{ min_devices: undefined }, 'min_devices'],
      [{ target_devices: 0, min_devices: 0 }, 'target_devices'],
      [{ min_devices: 0 }, 'min_devices'],
      [{ min_devices: 3 }, 'min_devices'],
      [{ target_devices: 2.5 }, 'target_devices'],
      [{ target_devices: '2' }, 'target_devices'],
      [{ strategy: 'krum', target_devices: 4 }, 'target_devices (4) is too low'],
      [{ timeout_seconds: 59 }, 'timeout_seconds'],
      [{ timeout_seconds: 3601 }, 'timeout_seconds'],
      [{ global_model_id: 'nothing' }, 'global_model_id'],
      [{ global_model_id: '00000000-0000-4000-8000-000000000000' }, 'global_model_id'],
    ]
    for (const [fields, named] of refused) {
      expect([fields, await start(world, a!.key, fields)]).toMatchObject([
        fields,
        { status: 400, body: { message: expect.stringContaining(named) } },
      ])
    }
  })

  it('waits for as many updates as its strategy needs', async () => {
    const world = openOrganization()
    const [a] = await fleet(world, 5)
    const fields = { strategy: 'krum', strategy_options: { byzantine: 1 }, target_devices: 5 }
    expect(await startOk(world, a!.key, fields)).toMatchObject({ min_devices: 5, target_devices: 5 })
  })

  it('requests for rounds return 404 before the first one', async () => {
    const world = await startWorld()
    const [a] = await fleet(world, 1)
    const paths = ['current', 'nothing/status', '00000000-0000-4000-8000-000000000000/status']
    for (const path of paths) {
      expect((await world.request('GET', `/api/v1/training/rounds/${path}`, { key: a!.key })).status).toBe(404)
    }
  })

  it('draws target_devices devices uniformly, always including the one that starts it', async () => {
    const world = openOrganization()
    const devices = await fleet(world, 12)
    const drawn = new Map<string, number>()
    for (let n = 0; n < 12; n++) {
      const round = await startOk(world, devices[0]!.key, { target_devices: 4, min_devices: 1 })
      const path = `/api/v1/training/rounds/${round.id}`
      const { body } = await world.request('GET', `${path}/participants`, { key: devices[0]!.key })
      for (const { device_identifier: name } of (body as { participants: { device_identifier: string }[] })
        .participants)
        drawn.set(name, (drawn.get(name) ?? 0) + 1)
      await world.request('POST', `${path}/cancel`, { key: devices[0]!.key })
    }
    expect([...drawn.values()].reduce((sum, count) => sum + count)).toBe(48)
    expect(drawn.get('d0')).toBe(12)
    // Eleven others share 36 places; the probability that fewer than seven of them are drawn is one in ten million.
    expect(drawn.size).toBeGreaterThan(7)
  })
})

describe('taking part in a round', () => {
  it('is possible for a device that arrives later while there is a free place; others get a reason', async () => {
    const world = openOrganization()
    const [a] = await fleet(world, 1)
    const round = await startOk(world, a!.key)
    const late = await world.register('late')
    const early = await submit(world, late, round.id, floats(1))
    expect(early.status).toBe(409)
    expect((early.body as { message: string }).message).toContain('not a participant')
    expect((await world.request('PUT', '/api/v1/devices/late/heartbeat', { key: late.key })).body).toMatchObject({
      pending_round_id: round.id,
    })
    const third = await world.register('third')
    expect((await world.request('PUT', '/api/v1/devices/third/heartbeat', { key: third.key })).body).not.toHaveProperty(
      'pending_round_id',
    )
    const why = async (device: TestDevice, { id }: Round = round) =>
      (await world.request('GET', `/api/v1/training/rounds/${id}/selection`, { key: device.key })).body
    expect(await why(late)).toEqual({
      round_id: round.id,
      device_id: 'late',
      selected: true,
      state: 'selected',
      reason: 'Selected: it sent a heartbeat while the round had free places.',
    })
    expect(await why(third)).toEqual({
      round_id: round.id,
      device_id: 'third',
      selected: false,
      state: null,
      reason: 'Not selected: all 2 places were drawn at random and went to other devices.',
    })

    for (const device of [a!, late]) await submit(world, device, round.id, floats(1))
    await world.service.runDueTasks()
    expect(await status(world, a!.key, round.id)).toMatchObject({ status: 'completed' })
    await world.advance(1)
    const never = await world.register('never')
    const reason = (text: string) => ({ reason: `Not selected: ${text}.` })
    expect(await why(third)).toMatchObject(reason('all 2 places were drawn at random and went to other devices'))
    expect(await why(never)).toMatchObject(reason('it was registered after the round had ended'))

    const open = await startOk(world, a!.key, { target_devices: 9 })
    const silent = await world.register('silent')
    await world.advance(3600)
    expect(await status(world, a!.key, open.id)).toMatchObject({ status: 'failed' })
    expect(await why(silent, open)).toMatchObject(
      reason('it was not drawn when the round started, and sent no heartbeat while the round had a free place'),
    )
  })

  it('counts a device once it has fetched the model', async () => {
    const world = openOrganization()
    const [a, b] = await fleet(world, 2)
    const created = await world.request('POST', '/api/v1/models', { key: a!.key, body: { name: 'net' } })
    const { id: modelId } = created.body as { id: string }
    await world.request('POST', '/api/v1/models/net/versions/upload', {
      key: a!.key,
      body: formOf(fixture('net_a.pt')),
    })
    const round = await startOk(world, a!.key, { global_model_id: modelId })
    const plan = await world.request('GET', `/api/v1/training/rounds/${round.id}/plan`, { key: b!.key })
    expect(plan.body).toEqual({
      round_id: round.id,
      round_number: round.round_number,
      strategy: 'fedavg',
      hyperparameters: {},
      timeout_at: round.timeout_at,
      model: {
        model_id: modelId,
        version: 1,
        format: 'pytorch',
        model_size_bytes: fixture('net_a.pt').length,
        model_hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      },
    })
    const path = `/api/v1/training/rounds/${round.id}/model`
    await world.request('HEAD', path, { key: b!.key })
    expect(await status(world, a!.key, round.id)).toMatchObject({ participated_devices: 0 })
    for (let n = 0; n < 2; n++) await world.request('GET', path, { key: b!.key })
    expect(await status(world, a!.key, round.id)).toMatchObject({ participated_devices: 1, global_model_id: modelId })
  })

  it('ends with a failure that gives a reason, and frees the place', async () => {
    const world = openOrganization()
    const [a, b] = await fleet(world, 2)
    const round = await startOk(world, a!.key)
    const late = await world.register('late')
    const path = `/api/v1/training/rounds/${round.id}/failures`
    expect((await world.request('POST', path, { key: b!.key, body: {} })).status).toBe(400)
    const failed = await world.request('POST', path, { key: b!.key, body: { reason: 'out of memory' } })
    expect(failed).toMatchObject({ status: 200, body: { failed_devices: 1, status: 'active' } })
    const again = await submit(world, b!, round.id, floats(1))
    expect(again.status).toBe(409)
    expect((again.body as { message: string }).message).toContain('out of memory')
    expect((await world.request('PUT', '/api/v1/devices/late/heartbeat', { key: late.key })).body).toMatchObject({
      pending_round_id: round.id,
    })
  })
})

describe('submitting an update', () => {
  it('returns the update, once for each device', async () => {
    const world = openOrganization()
    const [a] = await fleet(world, 2)
    const round = await startOk(world, a!.key)
    const response = await submit(world, a!, round.id, floats(1, 2), {
      num_samples: 5,
      local_loss: 0.5,
      local_accuracy: 0.75,
      training_time_seconds: 12,
    })
    expect(response.status).toBe(201)
    expect(response.body).toEqual({
      id: uuid,
      round_id: round.id,
      device_id: a!.id,
      model_path: expect.stringMatching(/^sha256\//),
      model_size_bytes: 8,
      model_hash: expect.stringMatching(/^sha256:/),
      num_samples: 5,
      local_loss: 0.5,
      local_accuracy: 0.75,
      training_time_seconds: 12,
      created_at: world.now().toISOString(),
    })
    const again = await submit(world, a!, round.id, floats(1, 2))
    expect(again.status).toBe(409)
    expect((again.body as { message: string }).message).toContain((response.body as { id: string }).id)
    expect(await status(world, a!.key, round.id)).toMatchObject({ participated_devices: 1, completed_devices: 1 })
  })

  it('keeps exactly one of several updates that arrive at once', async () => {
    const world = openOrganization()
    const [a] = await fleet(world, 2)
    const round = await startOk(world, a!.key)
    const responses = await Promise.all(Array.from({ length: 8 }, (_, n) => submit(world, a!, round.id, floats(n))))
    expect(responses.map((response) => response.status).sort()).toEqual([201, ...Array(7).fill(409)])
    expect(await status(world, a!.key, round.id)).toMatchObject({ completed_devices: 1 })
  })

  it('is refused with invalid fields, and names them', async () => {
    const world = openOrganization()
    const [a] = await fleet(world, 1)
    const round = await startOk(world, a!.key)
    const refused: [fields: Record<string, string | number>, named: string][] = [
      [{}, 'num_samples'],
      [{ num_samples: 0 }, 'num_samples'],
      [{ num_samples: 1.5 }, 'num_samples'],
      [{ num_samples: 'many' }, 'num_samples'],
      [{ num_samples: 1, local_accuracy: 1.01 }, 'local_accuracy'],
      [{ num_samples: 1, local_accuracy: -0.1 }, 'local_accuracy'],
      [{ num_samples: 1, local_loss: 'NaN' }, 'local_loss'],
      [{ num_samples: 1, training_time_seconds: -1 }, 'training_time_seconds'],
    ]
    for (const [fields, named] of refused) {
      expect([fields, await submit(world, a!, round.id, floats(1), fields)]).toMatchObject([
        fields,
        { status: 400, body: { message: expect.stringContaining(named) } },
      ])
    }
    expect(await status(world, a!.key, round.id)).toMatchObject({ completed_devices: 0 })
  })

  it('keeps figures within their ranges, and is never refused because a loss grew too large', async () => {
    const world = openOrganization()
    const [a, b] = await fleet(world, 2)
    const round = await startOk(world, a!.key, { raw_vector: true })
    const sent = { num_samples: 1000, local_loss: 1e308, training_time_seconds: 2_147_483_648 }
    const first = await submit(world, a!, round.id, floats(1), sent)
    expect([first.status, first.body, first.headers.get('x-service-warning')]).toEqual([
      201,
      expect.objectContaining({ local_loss: null, training_time_seconds: null, num_samples: 1000 }),
      'local_loss became null: it is above 3.4e+38; training_time_seconds became null: it is above 2147483647',
    ])
    const second = await submit(world, b!, round.id, floats(1), { num_samples: 1000, local_loss: '-inf' })
    expect([second.status, second.headers.get('x-service-warning')]).toEqual([
      201,
      'local_loss became null: it is below -3.4e+38',
    ])
    await world.service.runDueTasks()
    expect(await status(world, a!.key, round.id)).toMatchObject({ status: 'completed' })
    const models = await world.request('GET', '/api/v1/models', { key: a!.key })
    expect([models.status, (models.body as { models: { loss: number | null }[] }).models[0]!.loss]).toEqual([200, null])
  })

  it.each([
    [3.4e38, 3.4e38],
    [-3.4e38, -3.4e38],
    [1e-38, 1e-38],
    [1e-39, 0],
  ])('with a local_loss of %d stores %d, and the mean is the same', async (local_loss, kept) => {
    const world = openOrganization()
    const [a, b] = await fleet(world, 2)
    const round = await startOk(world, a!.key, { raw_vector: true })
    for (const device of [a!, b!]) {
      const update = await submit(world, device, round.id, floats(1), { num_samples: 2 ** 53 - 1, local_loss })
      expect([update.status, update.headers.get('x-service-warning')]).toEqual([201, null])
      expect(update.body).toMatchObject({ local_loss: kept })
    }
    await world.service.runDueTasks()
    const { body } = await world.request('GET', '/api/v1/models', { key: a!.key })
    expect((body as { models: { loss: number }[] }).models[0]!.loss).toBe(kept)
  })

  it('to a round that does not exist returns 404, whatever else is wrong', async () => {
    const world = openOrganization()
    const [a] = await fleet(world, 1)
    for (const id of ['nothing', '00000000-0000-4000-8000-000000000000']) {
      expect((await submit(world, a!, id, floats(1), {})).status).toBe(404)
    }
  })

  it('requires the tensors of the distributed model', async () => {
    const world = openOrganization()
    const [a, b] = await fleet(world, 2)
    await world.request('POST', '/api/v1/models', { key: a!.key, body: { name: 'net' } })
    const global = formOf(fixture('net_a.safetensors'))
    await world.request('POST', '/api/v1/models/net/versions/upload', { key: a!.key, body: global })
    const round = await startOk(world, a!.key, { global_model_id: 'net' })
    const refusals: [string, Uint8Array, string][] = [
      ['raw bytes', floats(1, 2), ''],
      ['a truncated file', fixture('net_truncated.pt'), ''],
      ['a pickle that would run a program', fixture('evil.pt'), 'system'],
      ['NaN', withNaN(fixture('net_b.safetensors')), 'NaN'],
    ]
    for (const [what, bytes, named] of refusals) {
      const response = await submit(world, b!, round.id, bytes)
      expect(response.status, what).toBe(400)
      expect((response.body as { message: string }).message, what).toContain(named)
    }
    expect((await submit(world, b!, round.id, fixture('net_b.safetensors'))).status).toBe(201)
    expect((await submit(world, a!, round.id, fixture('net_c.npz'))).status).toBe(201)
  })

  it('is refused if the file cannot be read safely, even where any bytes are accepted', async () => {
    const world = openOrganization()
    const [a] = await fleet(world, 1)
    const round = await startOk(world, a!.key)
    for (const name of ['evil.pt', 'net_truncated.pt']) {
      expect((await submit(world, a!, round.id, fixture(name))).status, name).toBe(400)
    }
  })
})

describe('the end of a round', () => {
  it.each(['pt', 'safetensors', 'npz'])(
    'produces a new global model, the weighted mean of .%s updates',
    async (extension) => {
      const world = openOrganization()
      const devices = await fleet(world, 3)
      const round = await startOk(world, devices[0]!.key, { target_devices: 3, min_devices: 3 })
      const samples = [10, 20, 70]
      for (const [n, letter] of [...'abc'].entries()) {
        const fields = { num_samples: samples[n]!, local_loss: n, local_accuracy: n / 2 }
        expect((await submit(world, devices[n]!, round.id, fixture(`net_${letter}.${extension}`), fields)).status).toBe(
          201,
        )
      }
      await world.service.runDueTasks()
      const done = await status(world, devices[0]!.key, round.id)
      expect(done).toMatchObject({
        status: 'completed',
        participated_devices: 3,
        completed_devices: 3,
        failed_devices: 0,
        completed_at: world.now().toISOString(),
        ended_at: world.now().toISOString(),
        failure_reason: null,
      })
      const model = await world.request('GET', `/api/v1/models/${done.aggregated_model_id}`, { key: devices[0]!.key })
      expect(model.body).toMatchObject({
        round_id: round.id,
        framework: 'pytorch',
        loss: (0 * 10 + 1 * 20 + 2 * 70) / 100,
        accuracy: (0 * 10 + 0.5 * 20 + 1 * 70) / 100,
        versions: [{ version: 1, format: 'pytorch' }],
      })
      const file = await fetch(`${world.baseUrl}/api/v1/models/${done.aggregated_model_id}/versions/1/download`, {
        headers: { authorization: `Bearer ${devices[0]!.key}` },
      })
      const bytes = bytesSource(new Uint8Array(await file.arrayBuffer()))
      for (const tensor of readWeights(bytes).tensors) {
        const requested = [expected.weighted_mean[tensor.name]].flat(9) as number[]
        const got = [...readTensorFloats(bytes, tensor)].map(Number)
        expect(got, tensor.name).toHaveLength(requested.length)
        for (const [n, value] of requested.entries()) expect(got[n]).toBeCloseTo(value, 6)
      }
    },
  )

  it('produces the model that the next round starts from', async () => {
    const world = openOrganization()
    const [a] = await fleet(world, 1)
    const first = await startOk(world, a!.key, { target_devices: 1, min_devices: 1 })
    await submit(world, a!, first.id, fixture('net_a.pt'))
    await world.service.runDueTasks()
    const { aggregated_model_id } = await status(world, a!.key, first.id)
    const second = await startOk(world, a!.key, { target_devices: 1, min_devices: 1 })
    expect(second).toMatchObject({ round_number: 2, global_model_id: aggregated_model_id })
  })

  it('does not wait for stragglers longer than the grace period', async () => {
    const world = openOrganization()
    const devices = await fleet(world, 3)
    const round = await startOk(world, devices[0]!.key, { target_devices: 3, min_devices: 2 })
    await submit(world, devices[0]!, round.id, floats(1))
    await submit(world, devices[1]!, round.id, floats(3))
    await world.advance(29)
    expect(await status(world, devices[0]!.key, round.id)).toMatchObject({ status: 'active' })
    await world.advance(1)
    expect(await status(world, devices[0]!.key, round.id)).toMatchObject({
      status: 'completed',
      completed_devices: 2,
      failed_devices: 1,
    })
    const late = await submit(world, devices[2]!, round.id, floats(5))
    expect(late.status).toBe(409)
    expect((late.body as { message: string }).message).toContain('completed')
  })

  it('is a failure with a reason if too few updates have arrived at the timeout', async () => {
    const world = openOrganization()
    const [a] = await fleet(world, 2)
    const round = await startOk(world, a!.key, { timeout_seconds: 60 })
    await submit(world, a!, round.id, floats(1))
    await world.advance(60)
    expect(await status(world, a!.key, round.id)).toMatchObject({
      status: 'failed',
      failure_reason: 'Timed out after 60 s: 1 of at least 2 updates had arrived.',
      aggregated_model_path: null,
      completed_at: null,
      ended_at: world.now().toISOString(),
      failed_devices: 1,
    })
    expect((await start(world, a!.key)).status).toBe(201)
  })

  it('is a failure with a reason if the updates cannot be combined', async () => {
    const world = openOrganization()
    const [a, b] = await fleet(world, 2)
    const round = await startOk(world, a!.key)
    await submit(world, a!, round.id, floats(1, 2))
    await submit(world, b!, round.id, floats(1, 2, 3))
    await world.service.runDueTasks()
    const failed = await status(world, a!.key, round.id)
    expect(failed).toMatchObject({ status: 'failed', aggregated_model_path: null })
    expect(failed.failure_reason).toMatch(/d1/)
  })

  it('leaves a receipt that can be replayed until the updates are deleted', async () => {
    const world = openOrganization()
    const [a, b] = await fleet(world, 2)
    const round = await startOk(world, a!.key)
    const receipt = () => world.request('GET', `/api/v1/training/rounds/${round.id}/receipt`, { key: a!.key })
    expect((await receipt()).status).toBe(409)
    await submit(world, b!, round.id, floats(1, 2), { num_samples: 1 })
    await submit(world, a!, round.id, floats(5, 6), { num_samples: 3 })
    await world.service.runDueTasks()
    expect((await receipt()).body).toEqual({
      round_id: round.id,
      strategy: 'fedavg',
      kernel: { name: expect.any(String), version: expect.anything() },
      order: 'device_id',
      global_model_sha256: null,
      updates: [
        { device_id: 'd0', update_id: uuid, sha256: expect.any(String), num_samples: 3, weight: 0.75 },
        { device_id: 'd1', update_id: uuid, sha256: expect.any(String), num_samples: 1, weight: 0.25 },
      ],
      output_sha256: expect.any(String),
    })
    const replay = () => world.request('POST', `/api/v1/training/rounds/${round.id}/receipt/replay`, { key: a!.key })
    expect(await replay()).toMatchObject({ status: 200, body: { matches: true } })
  })
})

/** The same file with one weight turned into NaN: the last four bytes belong to a float32 tensor. */
function withNaN(file: Uint8Array): Uint8Array {
  const copy = new Uint8Array(file)
  copy.set([0, 0, 0xc0, 0x7f], copy.length - 4)
  return copy
}
