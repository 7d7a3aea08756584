import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { boundOrganizations } from '../../../../test/organizations.ts'
import { formOf, startWorld, type World, type WorldOptions } from '../../../../test/world.ts'
import { AggregationWorkers } from '../../../aggregation/aggregation-workers.ts'

const weights = readFileSync(new URL('../../../../test/fixtures/weights/net_a.pt', import.meta.url))
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const at = '2026-01-01T00:00:00.000Z'

const openOrganization = boundOrganizations()

const startAlone = async (options?: WorldOptions) => {
  const world = await startWorld(options)
  return { world, key: (await world.register('author')).key }
}

const withModel = async (
  fields: object = {},
  options?: WorldOptions,
): Promise<{ world: World; key: string; id: string }> => {
  const { world, key } = options ? await startAlone(options) : await openOrganization()
  const { body } = await world.request('POST', '/api/v1/models', { key, body: fields })
  return { world, key, id: (body as { id: string }).id }
}

const upload = (world: World, key: string, id: string, bytes: Uint8Array | string, fields = {}, name = 'weights.pt') =>
  world.request('POST', `/api/v1/models/${id}/versions/upload`, { key, body: formOf(bytes, fields, name) })

describe('the catalog', () => {
  it('creates a model that has no weights yet', async () => {
    const { world, key } = await startAlone()
    const response = await world.request('POST', '/api/v1/models', {
      key,
      body: { name: 'digits', framework: 'sklearn', framework_version: '1.5', description: 'd', is_baseline: true },
    })
    expect(response).toMatchObject({ status: 201 })
    expect(response.body).toEqual({
      id: uuid,
      org_id: null,
      name: 'digits',
      round_id: null,
      model_path: null,
      model_size_bytes: null,
      model_hash: null,
      framework: 'sklearn',
      framework_version: '1.5',
      accuracy: null,
      loss: null,
      is_baseline: true,
      description: 'd',
      created_at: at,
    })
    expect((await world.request('GET', '/api/v1/models/digits', { key })).body).toEqual({
      ...(response.body as object),
      versions: [],
      delivered_versions: [],
    })
    expect((await world.request('POST', '/api/v1/models', { key, body: { name: 'digits' } })).status).toBe(409)
  })

  it('lists newest first, even within one instant, filtered and paged, with the right total', async () => {
    const { world, key } = await openOrganization()
    for (const [n, framework] of ['pytorch', 'xgboost', 'pytorch'].entries()) {
      await world.request('POST', '/api/v1/models', {
        key,
        body: { name: `Net_${n}`, description: `m${n}`, framework, is_baseline: n === 0 },
      })
    }
    const list = async (query: string) => {
      const { body } = await world.request('GET', `/api/v1/models${query}`, { key })
      const { models, ...envelope } = body as { models: { description: string }[]; total: number }
      return { names: models.map((model) => model.description), ...envelope }
    }
    expect(await list('')).toEqual({ names: ['m2', 'm1', 'm0'], total: 3, limit: 20, offset: 0 })
    expect(await list('?limit=1&offset=1')).toEqual({ names: ['m1'], total: 3, limit: 1, offset: 1 })
    expect(await list('?framework=pytorch')).toEqual({ names: ['m2', 'm0'], total: 2, limit: 20, offset: 0 })
    expect(await list('?is_baseline=true')).toEqual({ names: ['m0'], total: 1, limit: 20, offset: 0 })
    expect(await list('?is_baseline=false')).toEqual({ names: ['m2', 'm1'], total: 2, limit: 20, offset: 0 })
    expect(await list('?q=nEt')).toEqual({ names: ['m2', 'm1', 'm0'], total: 3, limit: 20, offset: 0 })
    expect(await list('?q=%20t_1')).toEqual({ names: ['m1'], total: 1, limit: 20, offset: 0 })
    for (const none of ['t%25', 'N.t', 'm1']) expect((await list(`?q=${none}`)).total, none).toBe(0)
  })

  it('responds with 400 to bad requests, and with 404 for what does not exist', async () => {
    const { world, key } = await openOrganization()
    const requests: [method: string, path: string, body: object | undefined, status: number][] = [
      ['POST', '/api/v1/models', { framework: 'jax' }, 400],
      ['POST', '/api/v1/models', { description: 'x'.repeat(1001) }, 400],
      ['POST', '/api/v1/models', { is_baseline: 'yes' }, 400],
      ['POST', '/api/v1/models', { name: '../etc' }, 400],
      ['GET', '/api/v1/models?limit=0', undefined, 400],
      ['GET', '/api/v1/models?limit=101', undefined, 400],
      ['GET', '/api/v1/models?offset=-1', undefined, 400],
      ['GET', '/api/v1/models?framework=jax', undefined, 400],
      ['GET', '/api/v1/models?is_baseline=maybe', undefined, 400],
      ['GET', '/api/v1/models/nothing', undefined, 404],
      ['GET', '/api/v1/models/00000000-0000-4000-8000-000000000000', undefined, 404],
    ]
    for (const [method, path, body, status] of requests) {
      const response = await world.request(method, path, { key, body })
      expect([method, path, body, response.status]).toEqual([method, path, body, status])
    }
  })
})

describe('versions', () => {
  it('are numbered from 1, stored, and downloaded byte for byte', async () => {
    const { world, key, id } = await withModel()
    const uploaded = await upload(world, key, id, weights, { description: 'first' })
    expect(uploaded.status).toBe(201)
    expect(uploaded.body).toEqual({
      model_id: id,
      version: 1,
      version_label: '1.0.0',
      format: 'pytorch',
      model_path: `sha256/${sha256(weights).slice(0, 2)}/${sha256(weights)}`,
      model_size_bytes: weights.length,
      model_hash: `sha256:${sha256(weights)}`,
      description: 'first',
      uploaded_at: at,
      metadata: {},
      warnings: [],
      formats: [],
    })
    const response = await fetch(`${world.baseUrl}/api/v1/models/${id}/versions/1/download`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${id}-v1.pt"`,
      'content-length': String(weights.length),
      'x-model-hash': `sha256:${sha256(weights)}`,
      etag: `"${sha256(weights)}"`,
    })
    expect(Buffer.from(await response.arrayBuffer()).equals(weights)).toBe(true)
    expect((await world.request('GET', `/api/v1/models/${id}`, { key })).body).toMatchObject({
      model_hash: `sha256:${sha256(weights)}`,
      versions: [{ version: 1, format: 'pytorch', model_size_bytes: weights.length, uploaded_at: at }],
    })
  })

  it('get different numbers when they are uploaded at once', async () => {
    const { world, key, id } = await withModel()
    const responses = await Promise.all(Array.from({ length: 12 }, (_, n) => upload(world, key, id, `weights ${n}`)))
    expect(responses.map(({ body }) => (body as { version: number }).version).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_, n) => n + 1),
    )
  })

  it('are found by their number, their semantic version, and `latest`', async () => {
    const { world, key, id } = await withModel({ name: 'net' })
    await upload(world, key, id, 'one')
    await upload(world, key, id, 'two', { version_label: '1.4.0' })
    const fetched = async (version: string) =>
      (await world.request('GET', `/api/v1/models/net/versions/${version}/download`, { key })).headers.get(
        'x-model-hash',
      )
    expect(await fetched('1')).toBe(`sha256:${sha256(Buffer.from('one'))}`)
    expect(await fetched('1.0.0')).toBe(`sha256:${sha256(Buffer.from('one'))}`)
    expect(await fetched('1.4.0')).toBe(`sha256:${sha256(Buffer.from('two'))}`)
    expect(await fetched('latest')).toBe(`sha256:${sha256(Buffer.from('two'))}`)
    // Only another organization's model has versions with these labels.
    const other = await world.register('other', { org_id: 'other' })
    const { body } = await world.request('POST', '/api/v1/models', {
      key: other.key,
      body: { name: 'own', framework: 'pytorch' },
    })
    for (const text of ['a', 'b', 'c']) await upload(world, other.key, (body as { id: string }).id, text)
    for (const label of ['2.0.0', '3.0.0', '3']) expect(await fetched(label), label).toBeNull()
    expect((await upload(world, key, id, 'three', { version_label: '1.4.0' })).status).toBe(409)
  })

  it.each([
    ['net_a.pt', 'weights', 'pytorch'],
    ['net_a.safetensors', 'weights', 'pytorch'],
    ['evil.pkl', 'weights', 'sklearn'],
  ])('take their format from the content of %s, whatever the name', async (fixture, name, format) => {
    const { world, key, id } = await withModel({ framework: 'xgboost' })
    const bytes = readFileSync(new URL(`../../../../test/fixtures/weights/${fixture}`, import.meta.url))
    expect((await upload(world, key, id, bytes, {}, name)).body).toMatchObject({ format })
  })

  it('are read off the event loop if they are pickles: one that takes too much memory ends only its thread', async () => {
    const workers = new AggregationWorkers({ maxHeapMb: 24 })
    onTestFinished(() => workers.close())
    const { world, key, id } = await withModel({}, { workers })
    const memos = Buffer.alloc(5_000_000)
    for (let at = 0; at < memos.length; at += 5) {
      memos[at] = 'r'.charCodeAt(0)
      memos.writeUInt32LE(at, at + 1)
    }
    const pickle = Buffer.concat([Buffer.from('\x80\x02N', 'latin1'), memos, Buffer.from('.')])
    expect((await upload(world, key, id, pickle, {}, 'model.pkl')).status).toBe(500)
    const evil = readFileSync(new URL('../../../../test/fixtures/weights/evil.pkl', import.meta.url))
    expect((await upload(world, key, id, evil, {}, 'model.pkl')).body).toMatchObject({ format: 'sklearn', version: 1 })
  })

  it('take their format from the extension, then from the framework, if the content is unknown', async () => {
    const { world, key, id } = await withModel({ framework: 'tensorflow' })
    expect((await upload(world, key, id, 'opaque', {}, 'model.onnx')).body).toMatchObject({ format: 'onnx' })
    expect((await upload(world, key, id, 'opaque', {}, 'model')).body).toMatchObject({ format: 'tensorflow' })
  })

  it('that contradict the given format are stored, with a warning', async () => {
    const { world, key, id } = await withModel()
    expect(await upload(world, key, id, weights, { format: 'onnx' })).toMatchObject({
      status: 201,
      body: {
        format: 'onnx',
        warnings: ['The format was given as onnx, but the file is a PyTorch .pt file.'],
      },
    })
  })

  it('that are exported PyTorch programs are named as such, with what to push for training', async () => {
    const { world, key, id } = await withModel()
    const program = readFileSync(new URL('../../../../test/fixtures/from-torch/cnn.pt2', import.meta.url))
    expect((await upload(world, key, id, program, {}, 'cnn.pt2')).body).toMatchObject({
      format: 'pytorch',
      warnings: [
        expect.stringMatching(
          /^The file is an exported PyTorch program: .*\. Its graph is used with the weights of other versions of the model\. To train, push the weights/,
        ),
      ],
    })
  })

  it.each([
    ['an unknown format', 'x', { format: 'jax' }, 'format'],
    [
      'a label that is not semantic',
      'x',
      { version_label: 'v1' },
      "version_label must be a semantic version such as 1.4.0, of at most 100 characters; got 'v1'.",
    ],
    [
      'too long a label',
      'x',
      { version_label: `1.0.${'9'.repeat(300)}` },
      'version_label must be a semantic version such as 1.4.0, of at most 100 characters; got 304 characters.',
    ],
    ['an empty file', '', {}, 'file'],
    ['too long a description', 'x', { description: 'x'.repeat(1001) }, 'description'],
  ])('with %s are refused, and the error names the field', async (_, bytes, fields, named) => {
    const { world, key, id } = await withModel()
    const response = await upload(world, key, id, bytes, fields)
    expect(response.status).toBe(400)
    expect((response.body as { message: string }).message).toContain(named)
  })

  it('need a model, a file and a multipart body', async () => {
    const { world, key, id } = await withModel()
    expect((await upload(world, key, 'nothing', 'x')).status).toBe(404)
    const path = `/api/v1/models/${id}/versions/upload`
    expect((await world.request('POST', path, { key, body: new FormData() })).status).toBe(400)
    expect((await world.request('POST', path, { key, body: { file: 'x' } })).status).toBe(400)
  })

  it('that do not exist, or not in the requested format, are 404', async () => {
    const { world, key, id } = await withModel()
    await upload(world, key, id, weights)
    const status = async (path: string) => (await world.request('GET', `/api/v1/models/${path}`, { key })).status
    expect(await status(`${id}/versions/2/download`)).toBe(404)
    expect(await status(`${id}/versions/0/download`)).toBe(404)
    expect((await world.request('GET', `/api/v1/models/${id}/versions/one/download`, { key })).body).toEqual({
      error: 'not_found',
      message: `Version 'one' of model '${id}' does not exist, or this key has no access to it.`,
      status_code: 404,
    })
    expect(await status(`${id}/versions/1/download?format=pytorch`)).toBe(200)
    expect(await status(`${id}/versions/1/download?format=jax`)).toBe(400)
    expect(await status('nothing/versions/1/download')).toBe(404)
  })

  it('can be downloaded in ranges, answer HEAD, and need no second download when unchanged', async () => {
    const { world, key, id } = await withModel()
    await upload(world, key, id, '0123456789')
    const path = `/api/v1/models/${id}/versions/1/download`
    const part = await world.request('GET', path, { key, headers: { range: 'bytes=2-4' } })
    expect(part).toMatchObject({ status: 206, body: '234' })
    expect(part.headers.get('content-range')).toBe('bytes 2-4/10')
    const head = await world.request('HEAD', path, { key })
    expect([head.status, head.body, head.headers.get('content-length')]).toEqual([200, null, '10'])
    const etag = head.headers.get('etag') ?? ''
    expect((await world.request('GET', path, { key, headers: { 'if-none-match': etag } })).status).toBe(304)
  })
})
