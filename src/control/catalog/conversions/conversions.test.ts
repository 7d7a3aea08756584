import { createHash, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { expect, it, vi } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { boundOrganizations } from '../../../../test/organizations.ts'
import { formOf, startWorld, type World, type WorldOptions } from '../../../../test/world.ts'
import { graphBuilder } from '../../../convert/onnx/graph-builder.ts'
import { readOnnx } from '../../../convert/onnx/read-onnx.ts'
import { numbersOf, tensorOf } from '../../../convert/onnx/tensors.ts'
import { writeOnnx } from '../../../convert/onnx/write-onnx.ts'
import { encodeElements } from '../../../tensors/elements.ts'
import { writeNpz } from '../../../tensors/write-npz.ts'
import { conversionsStore } from './conversions.store.ts'

const sha256 = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

const VALUES = [1, 2, 3, 4, 5, 6]
/** Returns a linear layer with three outputs and weights named as in PyTorch. */
const architecture = (columns = 2): Uint8Array => {
  const graph = graphBuilder('linear')
  const x = graph.input('x', 'f32', ['batch', columns])
  const weight = graph.constant('fc.weight', tensorOf('f32', [3, columns], new Float32Array(3 * columns)))
  graph.output('y', graph.node('Gemm', [x, weight], { transB: { kind: 'int', value: 1 } }), 'f32', ['batch', 3])
  return writeOnnx(graph.build())
}
const weights = (name = 'fc.weight') =>
  writeNpz([{ name, dtype: 'f32', shape: [3, 2], data: encodeElements(VALUES, 'f32') }])

interface Formats {
  readonly versions: readonly { readonly formats: readonly { readonly state: string; readonly format: string }[] }[]
}

const openOrganization = boundOrganizations()

const startAlone = async (options?: WorldOptions) => {
  const world = await startWorld(options)
  return { world, key: (await world.register('author')).key }
}

const start = async (options?: WorldOptions) => {
  const { world, key } = options ? await startAlone(options) : await openOrganization()
  const { body } = await world.request('POST', '/api/v1/models', { key, body: { name: 'net' } })
  const { id } = body as { id: string }
  return { ...inModel(world, key, id), world, key, id }
}

const inModel = (world: World, key: string, id: string) => ({
  upload: async (bytes: Uint8Array | string, name: string, fields = {}) => {
    const response = await world.request('POST', `/api/v1/models/${id}/versions/upload`, {
      key,
      body: formOf(bytes, fields, name),
    })
    expect(response.status).toBe(201)
    return response.body
  },
  download: (version: number, format: string) =>
    fetch(`${world.baseUrl}/api/v1/models/${id}/versions/${version}/download?format=${format}`, {
      headers: { authorization: `Bearer ${key}` },
    }),
  formatsOf: async (version: number) => {
    const { body } = await world.request('GET', `/api/v1/models/${id}`, { key })
    return (body as Formats).versions[version - 1]!.formats
  },
})

/** Waits until no conversion is pending or running. */
const settled = (formats: () => Promise<readonly { readonly state: string }[]>) =>
  vi.waitFor(
    async () => {
      const found = await formats()
      expect(found.length).toBeGreaterThan(0)
      expect(found.filter(({ state }) => state === 'pending' || state === 'running')).toEqual([])
      return found
    },
    { timeout: 120_000, interval: 50 },
  )

it('weights of a model with an uploaded architecture are converted to ONNX in the background', async () => {
  const { upload, download, formatsOf } = await start({ config: { conversions: 'on' } })
  expect(await upload(architecture(), 'net.onnx')).toMatchObject({ format: 'onnx', formats: [] })
  expect(await upload(weights(), 'net.npz')).toMatchObject({
    formats: [{ format: 'onnx', reason: null, model_size_bytes: null, model_hash: null }],
  })
  const formats = await settled(() => formatsOf(2))
  const response = await download(2, 'onnx')
  const bytes = new Uint8Array(await response.arrayBuffer())
  expect(formats).toEqual([
    { format: 'onnx', state: 'ready', reason: null, model_size_bytes: bytes.length, model_hash: sha256(bytes) },
  ])
  expect([...numbersOf(readOnnx(bytes).graph.initializers.get('fc.weight')!)]).toEqual(VALUES)
  const { headers, status } = response
  expect({
    status,
    length: headers.get('content-length'),
    hash: headers.get('x-model-hash'),
    name: headers.get('content-disposition'),
  }).toEqual({
    status: 200,
    length: String(bytes.length),
    hash: sha256(bytes),
    name: 'attachment; filename="net-v2.onnx"',
  })
})

it('another format is converted on the first request, and is 404 with Retry-After until it is ready', async () => {
  const { upload, download, formatsOf, world, key, id } = await start()
  await upload(architecture(), 'net.onnx')
  await upload(weights(), 'net.npz')
  expect(await formatsOf(2)).toEqual([])
  const first = await download(2, 'onnx')
  expect([first.status, first.headers.get('retry-after')]).toEqual([404, '2'])
  expect(await first.json()).toMatchObject({
    error: 'not_found',
    message: expect.stringMatching(
      /^Version 2\.0\.0 is not available as onnx yet: its conversion is (pending|running)\./,
    ),
  })
  expect(await settled(() => formatsOf(2))).toMatchObject([{ format: 'onnx', state: 'ready' }])
  expect((await download(2, 'onnx')).status).toBe(200)
  const { body } = await world.request('GET', `/api/v1/models/${id}/versions/2`, { key })
  expect(body).toMatchObject({ formats: [{ format: 'onnx', state: 'ready' }] })
  expect((await download(2, 'pytorch')).status).toBe(200)
  expect((await download(1, 'onnx')).status).toBe(200)
  expect((await download(1, 'pytorch')).headers.get('retry-after')).toBeNull()
})

it('a failed conversion is 404 with the reason, until a matching architecture is uploaded', async () => {
  const { upload, download, formatsOf } = await start()
  await upload(weights(), 'net.npz', { formats: 'onnx' })
  expect(await settled(() => formatsOf(1))).toEqual([
    {
      format: 'onnx',
      state: 'failed',
      reason: expect.stringContaining('net.npz is a NumPy .npz file, which has weights but not the graph'),
      model_size_bytes: null,
      model_hash: null,
    },
  ])
  const refused = await download(1, 'onnx')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([404, null])
  expect(await refused.json()).toMatchObject({
    message: expect.stringContaining('Version 1.0.0 is not available as onnx'),
  })
  await upload(architecture(4), 'other.onnx')
  expect(await settled(() => formatsOf(1))).toMatchObject([
    { state: 'failed', reason: expect.stringContaining("'fc.weight' has the shape [3, 2], but [3, 4] in the graph") },
  ])
  await upload(architecture(), 'net.onnx')
  expect(await settled(() => formatsOf(1))).toMatchObject([{ state: 'ready' }])
})

it('a conversion that runs while an architecture is uploaded starts again with it', async () => {
  const { world, id, upload, formatsOf } = await start()
  await upload(weights(), 'net.npz', { formats: 'onnx' })
  await settled(() => formatsOf(1))
  const db = world.database!.sql
  const conversion = { modelId: id, version: 1, format: 'onnx' } as const
  const owner = randomUUID()
  await sql`update conversions set state = 'running', lease_owner = ${owner}, lease_until = now() + interval '15 seconds'
    where model_id = ${id}`.execute(db)
  await upload(architecture(), 'net.onnx')
  // The other process has read its input before.
  await conversionsStore.end(db, conversion, owner, { reason: 'It has no graph.' }, world.now())
  expect(await settled(() => formatsOf(1))).toMatchObject([{ state: 'ready' }])
})

it('an upload can name formats, and unknown ones are refused', async () => {
  const { world, key, id, upload, formatsOf } = await start()
  const response = await world.request('POST', `/api/v1/models/${id}/versions/upload`, {
    key,
    body: formOf(weights(), { formats: 'onnx,jax' }, 'net.npz'),
  })
  expect(response).toMatchObject({ status: 400, body: { message: expect.stringContaining('formats') } })
  await upload('no model at all', 'net.txt', { formats: 'tflite,onnx' })
  expect((await formatsOf(1)).map(({ format }) => format)).toEqual(['onnx', 'tflite'])
  expect(await settled(() => formatsOf(1))).toMatchObject([{ state: 'failed' }, { state: 'failed' }])
})

it('a file above the limit is not converted', async () => {
  const { upload, formatsOf, world } = await start({ config: { maxConversionBytes: 10 } })
  await upload(architecture(), 'net.onnx', { formats: 'tflite' })
  expect(await settled(() => formatsOf(1))).toMatchObject([
    {
      state: 'failed',
      reason: expect.stringContaining('files of up to 10 are converted (SERVICE_MAX_CONVERSION_BYTES)'),
    },
  ])
  const events = world.database!.sql.selectFrom('events_outbox').select('payload')
  expect(await events.where('type', '=', 'model.version_converted').execute()).toEqual([
    { payload: { version: 1, format: 'tflite', state: 'failed' } },
  ])
})

it('a conversion that a stop interrupts is made by the next process, and its file survives the collector', async () => {
  const { world, key, id, upload } = await start({ durable: true, database: hasPostgres() ? 'postgres' : 'embedded' })
  await upload(architecture(), 'net.onnx')
  await upload(await readFile('test/fixtures/weights/net_a.pt'), 'a.pt')
  await upload(weights(), 'net.npz', { formats: 'onnx' })
  await world.restart()
  const { formatsOf, download } = inModel(world, key, id)
  expect(await settled(() => formatsOf(3))).toMatchObject([{ state: 'ready' }])
  await world.advance(2 * 60 * 60)
  await world.service.runRetention()
  expect((await download(3, 'onnx')).status).toBe(200)
})

it('a conversion is taken over after its process was killed and its lease has expired', async () => {
  const { upload, formatsOf, world, id } = await start({})
  await upload(architecture(), 'net.onnx')
  await upload(weights(), 'net.npz')
  await sql`insert into conversions (model_id, version, format, state, requested_at, lease_owner, lease_until, attempts)
    values (${id}, 2, 'onnx', 'running', ${world.now()}, 'killed', now() + interval '1 hour', 1),
      (${id}, 2, 'tflite', 'running', ${world.now()}, 'killed', now() + interval '1 hour', 3)`.execute(
    world.database!.sql,
  )
  // Leases follow the database's clock, so the service's has no effect.
  await world.advance(7200)
  expect(await formatsOf(2)).toMatchObject([{ state: 'running' }, { state: 'running' }])
  await sql`update conversions set lease_until = now()`.execute(world.database!.sql)
  await world.advance(1)
  expect(await settled(() => formatsOf(2))).toMatchObject([
    { format: 'onnx', state: 'ready' },
    { format: 'tflite', state: 'failed', reason: 'The conversion was started 3 times and never finished.' },
  ])
})
