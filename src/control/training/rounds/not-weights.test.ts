import { describe, expect, it } from 'vitest'
import { fixtureBytes } from '../../../../test/fixtures/weights/open.ts'
import { organizations } from '../../../../test/organizations.ts'
import { formOf, type TestDevice, type World } from '../../../../test/world.ts'

const openOrganization = organizations()

const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer)
const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))
const vectorWarning = (count: number) =>
  `The file was taken for a raw vector of ${count} float32 values. To confirm, start the round or job with raw_vector: true, ` +
  'or end the file name in .f32.'

interface Round {
  readonly id: string
  readonly status: string
  readonly failure_reason: string | null
  readonly aggregated_model_id: string | null
  readonly raw_vector?: boolean
}

const fleetOf = async (world: World, count: number): Promise<TestDevice[]> => {
  const devices: TestDevice[] = []
  for (let n = 0; n < count; n++) devices.push(await world.register(`d${n}`))
  return devices
}

const start = async (world: World, devices: readonly TestDevice[], fields: object = {}) => {
  const body = { target_devices: devices.length, min_devices: devices.length, ...fields }
  return world.request('POST', '/api/v1/training/rounds/start', { key: devices[0]!.key, body })
}

const submit = (world: World, device: TestDevice, id: string, file: Uint8Array, name?: string) =>
  world.request('POST', `/api/v1/training/rounds/${id}/updates`, {
    key: device.key,
    body: formOf(file, { num_samples: 1 }, name),
  })

const download = async (world: World, key: string, model: string): Promise<Uint8Array> => {
  const url = `${world.baseUrl}/api/v1/models/${model}/versions/1/download`
  return new Uint8Array(await (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).arrayBuffer())
}

/** A round to which every device submits its file; returns the outcome and the devices' warnings. */
const play = async (world: World, files: readonly Uint8Array[], fields: object = {}, name?: string) => {
  const devices = await fleetOf(world, files.length)
  const started = await start(world, devices, fields)
  expect(started.status).toBe(201)
  const { id } = started.body as Round
  const warnings: (string | null)[] = []
  for (const [n, file] of files.entries()) {
    const response = await submit(world, devices[n]!, id, file, name)
    expect(response.status).toBe(201)
    warnings.push(response.headers.get('X-Service-Warning'))
  }
  await world.service.runDueTasks()
  const { key } = devices[0]!
  const round = (await world.request('GET', `/api/v1/training/rounds/${id}/status`, { key })).body as Round
  const result = round.aggregated_model_id === null ? null : await download(world, key, round.aggregated_model_id)
  const replay = async () =>
    (await world.request('POST', `/api/v1/training/rounds/${id}/receipt/replay`, { key })).body as { matches: boolean }
  return { round, warnings, result, replay, key }
}

const gguf = (text: string) => bytes(`GGUF\x03\0\0\0${text}`)

describe('updates that are not weights', () => {
  const kinds: readonly [string, Uint8Array, Uint8Array][] = [
    ['text', bytes('these are my weights'), bytes('those are my weights')],
    ['CSV text', bytes('5.0,5.0,5.0,5.0,'), bytes('7.0,7.0,7.0,7.0,')],
    ['JSON text', bytes('{"w":[1.0,2.0]}\n'), bytes('{"w":[3.0,2.0]}\n')],
    ['an XGBoost model in JSON', bytes('{"learner":{"a": 1}}'), bytes('{"learner":{"a": 2}}')],
    ['a TensorFlow Lite model', bytes('\x1c\0\0\0TFL3\0\0\x80\x3f'), bytes('\x1c\0\0\0TFL3\0\0\0\x40')],
    ['a GGUF file', gguf('\0\0\x80\x3f'), gguf('\0\0\0\x40')],
    ['a plain Python pickle', bytes('\x80\x03]K\x01a.'), bytes('\x80\x03]K\x02a.')],
    ['unknown binary content', floats(1e30, 1), floats(1e30, 2)],
    ['unknown binary content', bytes('\x01\x02\x03'), bytes('\x01\x02\x04')],
  ]

  it.each(kinds)(
    '%s: accepted with a warning that names the format; different files fail the round',
    async (title, a, b) => {
      const { round, warnings } = await play(openOrganization(), [a, b])
      for (const warning of warnings) expect(warning).toContain(`The file is ${title}`)
      expect(round).toMatchObject({
        status: 'failed',
        aggregated_model_id: null,
        failure_reason: expect.stringContaining(
          `The update of device 'd0' is ${title}, which cannot be aggregated: the 2 updates differ, and only identical ones`,
        ),
      })
    },
  )

  it.each(kinds)(
    '%s: identical files, or a single one, become the result unchanged, and the receipt replays',
    async (_, a) => {
      for (const files of [[a], [a, a, a]]) {
        const { round, result, replay } = await play(openOrganization(), files)
        expect(round).toMatchObject({ status: 'completed', failure_reason: null })
        expect(result).toEqual(a)
        expect(await replay()).toMatchObject({ matches: true })
      }
    },
  )

  it('fail the round if others are weights', async () => {
    const { round } = await play(openOrganization(), [floats(1, 2), bytes('5.0,5.0,')])
    expect(round.failure_reason).toContain("The update of device 'd1' is CSV text, which cannot be aggregated")
  })

  it('are never the result of a round with privacy, because such a round needs a model that can be read', async () => {
    const world = openOrganization()
    const devices = await fleetOf(world, 2)
    const { key } = devices[0]!
    await world.request('POST', '/api/v1/models', { key, body: { name: 'trees' } })
    const form = formOf(bytes('{"learner":{}}'), {}, 'model.json')
    await world.request('POST', '/api/v1/models/trees/versions/upload', { key, body: form })
    for (const fields of [
      { privacy: { noise_multiplier: 1, clip_norm: 1 } },
      { strategy: 'fedadam' },
      { secure_aggregation: {} },
    ]) {
      const response = await start(world, devices, { global_model_id: 'trees', ...fields })
      expect(response.status).toBe(400)
      expect((response.body as { message: string }).message).toContain('global_model_id: The file is an XGBoost model')
    }
  })
})

describe('raw float32 vectors', () => {
  it('are averaged with a warning if undeclared', async () => {
    const { round, warnings, result, replay } = await play(openOrganization(), [floats(1, 2), floats(3, 4)])
    expect(warnings).toEqual([vectorWarning(2), vectorWarning(2)])
    expect(round).toMatchObject({ status: 'completed' })
    expect(round).not.toHaveProperty('raw_vector')
    expect(result).toEqual(floats(2, 3))
    expect(await replay()).toMatchObject({ matches: true })
  })

  it('of different lengths fail the round', async () => {
    const { round } = await play(openOrganization(), [floats(1, 2), floats(1, 2, 3)])
    expect(round.failure_reason).toContain("The update of device 'd1' cannot be combined with the others.")
  })

  it('are averaged without a warning if the round or file name declares them, however improbable the values', async () => {
    const files = [floats(1e30, 2), floats(3e30, 4)]
    const declared = await play(openOrganization(), files, { raw_vector: true })
    expect(declared.round).toMatchObject({ status: 'completed', raw_vector: true })
    const named = await play(openOrganization(), files, {}, 'update.f32')
    for (const { warnings, result, replay } of [declared, named]) {
      expect(warnings).toEqual([null, null])
      expect(result).toEqual(floats(2e30, 3))
      expect(await replay()).toMatchObject({ matches: true })
    }
  })

  it('are refused if declared but the file is something else', async () => {
    const world = openOrganization()
    const devices = await fleetOf(world, 2)
    const { id } = (await start(world, devices, { raw_vector: true })).body as Round
    for (const [file, named] of [
      [bytes('{"weights": "a text that is longer than sixteen floats by chance could ever be"}'), 'JSON text'],
      [floats(Number.NaN), 'NaN'],
      [bytes('abc'), '3 bytes'],
    ] as const) {
      const response = await submit(world, devices[0]!, id, file)
      expect(response.status).toBe(400)
      expect((response.body as { message: string }).message).toContain(named)
    }
  })

  it('fix the length of the updates when used as a model, and carry over into the next round', async () => {
    const world = openOrganization()
    const first = await play(world, [floats(1, 2), floats(3, 4)], { raw_vector: true })
    const devices = [{ key: first.key }] as TestDevice[]
    const second = (await start(world, devices)).body as Round
    expect(second).toMatchObject({ status: 'active', raw_vector: true })
    const plan = await world.request('GET', `/api/v1/training/rounds/${second.id}/plan`, { key: first.key })
    expect(plan.body).toMatchObject({ raw_vector: true })
    const refused = await submit(world, devices[0]!, second.id, floats(1, 2, 3))
    expect(refused.status).toBe(400)
    expect((refused.body as { message: string }).message).toContain('tensor "vector" has shape [3], expected [2]')
    expect((await submit(world, devices[0]!, second.id, floats(7, 8))).status).toBe(201)
  })

  it('cannot be declared for a model that is something else', async () => {
    const world = openOrganization()
    const devices = await fleetOf(world, 1)
    const { key } = devices[0]!
    await world.request('POST', '/api/v1/models', { key, body: { name: 'net' } })
    const form = formOf(fixtureBytes('net_a.safetensors'), {}, 'net.f32')
    await world.request('POST', '/api/v1/models/net/versions/upload', { key, body: form })
    const response = await start(world, devices, { global_model_id: 'net', raw_vector: true })
    expect(response).toMatchObject({
      status: 400,
      body: { message: "raw_vector: the model's file is a safetensors file. Leave raw_vector out." },
    })
  })
})

it('a plain round warns if it starts from a model whose updates cannot be averaged, and only then', async () => {
  const world = openOrganization()
  const [device] = await fleetOf(world, 1)
  const { key } = device!
  const files: [name: string, file: Uint8Array, warning: string | null][] = [
    [
      'complex.npz',
      fixtureBytes('cases/refused_complex.npz'),
      'elements of type <c16; supported types are float64, float32',
    ],
    ['objects.npz', fixtureBytes('cases/refused_objects.npz'), 'supported types are float64, float32'],
    ['net.tflite', bytes('\x1c\0\0\0TFL3\0\0\0\0'), 'The file is a TensorFlow Lite model'],
    [
      'broken.f32',
      floats(1, Number.NaN),
      'contains NaN or infinity at element 1. Use a version of the model that has only finite',
    ],
    ['net.npz', fixtureBytes('net_a.npz'), null],
    ['bare.bin', floats(1, 2), null],
  ]
  for (const [name, file, warning] of files) {
    const model = name.replace('.', '-')
    await world.request('POST', '/api/v1/models', { key, body: { name: model } })
    const path = `/api/v1/models/${model}/versions/upload`
    expect(await world.request('POST', path, { key, body: formOf(file, {}, name) })).toMatchObject({ status: 201 })
    const started = await start(world, [device!], { global_model_id: model })
    expect([name, started.status, started.headers.get('x-service-warning')]).toEqual([
      name,
      201,
      warning === null
        ? null
        : expect.stringMatching(/^global_model_id: updates of this model cannot be averaged, and may be refused\. /),
    ])
    if (warning !== null) expect(started.headers.get('x-service-warning')).toContain(warning)
    const { id } = started.body as Round
    await world.request('POST', `/api/v1/training/rounds/${id}/cancel`, { key, body: {} })
  }
})
