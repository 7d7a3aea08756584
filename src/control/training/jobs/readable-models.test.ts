import { expect, it } from 'vitest'
import { fixtureBytes } from '../../../../test/fixtures/weights/open.ts'
import { formOf, startWorld } from '../../../../test/world.ts'

const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer)
const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))

const prepared = async () => {
  const world = await startWorld()
  return { world, key: (await world.register('d0')).key }
}

/** Uploads a model with this file and tries to start a job with it. */
const tried = async (
  { world, key }: Awaited<ReturnType<typeof prepared>>,
  file: Uint8Array,
  fields: object = {},
  name = 'weights.bin',
) => {
  await world.request('POST', '/api/v1/models', { key, body: { name: 'net' } })
  const path = '/api/v1/models/net/versions/upload'
  const { body: version } = await world.request('POST', path, { key, body: formOf(file, {}, name) })
  const body = { model: 'net', min_devices: 1, rounds: 2, ...fields }
  const response = await world.request('POST', '/api/v1/training/jobs', { key, body })
  return { world, key, response, warnings: (version as { warnings: string[] }).warnings }
}

it('no job starts with a file that does not contain weights, and the upload warns of this', async () => {
  const world = await prepared()
  const files: [title: string, file: Uint8Array, instead: string][] = [
    ['an XGBoost model in JSON', bytes('{"learner":{}}'), 'Trees cannot be averaged'],
    ['an XGBoost model in UBJSON', bytes('{L\0\0\0\0\0\0\0\x07learner{'), 'Trees cannot be averaged'],
    ['a TensorFlow Lite model', bytes('\x1c\0\0\0TFL3\0\0\0\0'), 'the weights that it was converted from'],
    ['a GGUF file', bytes('GGUF\x03\0\0\0'), 'the weights that it was converted from'],
    ['a plain Python pickle', fixtureBytes('cases/refused_pickle.pkl'), 'coef=model.coef_'],
    ['CSV text', bytes('5.0,5.0,'), 'Weights can be aggregated from .pt, .pth'],
  ]
  for (const [title, file, instead] of files) {
    for (const strategy of ['fedavg', 'fedadam']) {
      const { response, warnings } = await tried(world, file, { strategy })
      expect(warnings).toEqual([
        expect.stringContaining(`The file is ${title}: it can be delivered to devices, but training`),
      ])
      expect(warnings[0]).toContain(instead)
      expect(response).toMatchObject({ status: 400, body: { message: `model: ${warnings[0]}` } })
    }
  }
})

it('no job starts with bytes of an unknown format or with a truncated file', async () => {
  const world = await prepared()
  const unknown = await tried(world, floats(1e30, 1))
  expect(unknown.warnings).toEqual([])
  expect(unknown.response).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('model: The file is unknown binary content') },
  })
  const cut = await tried(world, fixtureBytes('net_truncated.pt'))
  expect(cut.response).toMatchObject({ status: 400, body: { message: expect.stringMatching(/^model: .*truncated/) } })
})

it('a job with a raw vector runs if it is declared, named as one, or assumed to be one with a warning', async () => {
  const prepare = await prepared()
  const plausible = floats(1, 2, 3)
  for (const [file, fields, name, warns] of [
    [floats(1e30, 2, 3), { raw_vector: true }, 'weights.bin', false],
    [floats(1e30, 2, 3), {}, 'weights.f32', false],
    [plausible, {}, 'weights.bin', true],
    [plausible, { strategy: 'fedadam' }, 'weights.f32', false],
  ] as const) {
    const { world, key, response } = await tried(prepare, file, fields, name)
    expect(response).toMatchObject({ status: 201, body: { raw_vector: true } })
    const warning = response.headers.get('X-Service-Warning')
    if (warns) expect(warning).toContain('was taken for a raw vector of 3 float32 values')
    else expect(warning).toBeNull()
    for (let round = 0; round < 2; round++) {
      const { id } = (await world.request('GET', '/api/v1/training/rounds/current', { key })).body as { id: string }
      const path = `/api/v1/training/rounds/${id}/updates`
      const wrong = await world.request('POST', path, { key, body: formOf(floats(1), { num_samples: 1 }) })
      expect(wrong.status).toBe(400)
      const sent = await world.request('POST', path, { key, body: formOf(file, { num_samples: 1 }) })
      expect(sent).toMatchObject({ status: 201 })
      await world.service.runDueTasks()
    }
    const { id } = response.body as { id: string }
    expect((await world.request('GET', `/api/v1/training/jobs/${id}`, { key })).body).toMatchObject({
      status: 'completed',
      rounds_completed: 2,
    })
  }
})
