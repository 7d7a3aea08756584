import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { formOf } from '../../../../test/world.ts'
import { missing, openFederation } from '../../federations/federation.fixture.ts'

interface Listed {
  readonly versions: readonly { readonly metadata: object }[]
}

const SHARED =
  "Model 'NET' belongs to 'acme', which shares it: 'beta' can only read and download it. To change or deliver it, upload a copy " +
  'as a model of your own.'

const start = async () => {
  const { world, admin, send, keyOf, found } = await openFederation()
  const key = await keyOf('acme')
  const ask = (method: string, path: string, body?: unknown) => send(key, method, `/models/net${path}`, body)
  const { id } = (await send(key, 'POST', '/models', { name: 'net', framework: 'pytorch' })).body
  const upload = (metadata: string | undefined, fields: object = {}) =>
    ask(
      'POST',
      '/versions/upload',
      formOf('weights', { ...(metadata !== undefined && { metadata }), ...fields }, 'net.h5'),
    )
  const change = (metadata: unknown, version = 'latest') => ask('PATCH', `/versions/${version}`, { metadata })
  const listed = async () => ((await ask('GET', '')).body as unknown as Listed).versions.map(({ metadata }) => metadata)
  return { world, admin, send, keyOf, found, key, id: id as string, ask, upload, change, listed }
}

it('is recorded with an upload in one request or in parts, and is in the list, the details, and after a change', async () => {
  const { world, send, key, ask, upload, change, listed } = await start()
  const metadata = {
    accuracy: 0.91,
    huge: 1e308,
    tiny: 5e-324,
    tuned: true,
    constructor: 'own',
    '📈': '👩‍🚀 "ü"\n',
    7: '',
  }
  expect(await upload(JSON.stringify(metadata))).toMatchObject({ status: 201, body: { version: 1, metadata } })
  expect(await upload(undefined)).toMatchObject({ status: 201, body: { metadata: {} } })
  const bytes = Buffer.from('whole')
  const hash = createHash('sha256').update(bytes).digest('hex')
  const headers = { 'content-type': 'application/octet-stream', 'upload-offset': '0', 'upload-length': '5' }
  await world.request('PATCH', `/api/v1/uploads/${hash}`, { key, headers, body: new Blob([bytes]) })
  const form = new FormData()
  const fields = {
    upload: `sha256:${hash}`,
    upload_size: '5',
    file_name: 'net.h5',
    metadata: '{"loss": 0.5, "none": null}',
  }
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  expect(await send(key, 'POST', '/models/net/versions/upload', form)).toMatchObject({ status: 201 })
  expect(await listed()).toEqual([metadata, {}, { loss: 0.5 }])

  const changed = await change({ accuracy: 0.92, tuned: null, 'e\u0301': 1, absent: null }, '1.0.0')
  const { tuned: _, ...rest } = metadata
  const after = { ...rest, accuracy: 0.92, '\u00e9': 1 }
  expect(changed).toEqual({ status: 200, body: (await ask('GET', '/versions/1')).body })
  expect(changed.body.metadata).toEqual(after)
  expect(await listed()).toEqual([after, {}, { loss: 0.5 }])
})

it('keeps all of many concurrent changes', async () => {
  const { upload, change, listed } = await start()
  await upload('{}')
  const responses = await Promise.all(Array.from({ length: 20 }, (_, at) => change({ [`k${at}`]: at })))
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
  expect(Object.keys((await listed())[0]!)).toHaveLength(20)
})

it('is refused if it is invalid, with an error that names the key; nothing is stored then', async () => {
  const { upload, change, listed, ask } = await start()
  const full = JSON.stringify(Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`k${at}`, at])))
  for (const [metadata, message] of [
    ['{"loss": NaN}', 'metadata must be a JSON object (NaN is not JSON): '],
    ['accuracy=1', 'metadata must be a JSON object'],
    ['[1]', 'metadata must be an object such as {"accuracy": 0.91, "dataset": "2026-11"}.'],
    ['{"loss": 1e999}', 'metadata.loss must be a finite number.'],
    ['{"__proto__": 1}', 'metadata: "__proto__" is not a key'],
    ['{"a": "\\u0000"}', 'metadata.a must be text without U+0000'],
    [`${'{"a":'.repeat(9999)}1${'}'.repeat(9999)}`, 'metadata is nested deeper than 100 levels.'],
    ['{"a": {}}', 'metadata.a must be a string, a finite number, or true or false, got an object.'],
    [`{"a": "${'x'.repeat(501)}"}`, 'metadata.a must be at most 500 characters, got 501.'],
    [full.replace('{', '{"k64": 1, '), 'metadata would have 65 entries; at most 64 are accepted.'],
  ] as const)
    expect(await upload(metadata), message).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(message) },
    })
  expect(await listed()).toEqual([])
  // As in all JSON requests, the last of several equal keys counts.
  await upload('{"a": 1, "a": 2}')
  await upload(full)
  for (const [body, status, message] of [
    [{ metadata: { k64: 1 } }, 400, 'metadata would have 65 entries; at most 64 are accepted.'],
    [{ metadata: { k0: [] } }, 400, 'metadata.k0 must be a string, a finite number, or true or false, got an array.'],
    [{ metadata: 'a' }, 400, "metadata must be an object, got 'a'."],
    [{}, 400, 'metadata is required: an object.'],
    [{ metadta: {} }, 400, 'unknown field `metadta`; did you mean `metadata`?'],
  ] as const)
    expect(await ask('PATCH', '/versions/2', body)).toMatchObject({ status, body: { message } })
  expect(await change({ k0: 1 }, '3')).toEqual(missing('Version', '3', "of model 'net'"))
  expect(await change('invalid', '3')).toMatchObject({ status: 404 })
  expect(await listed()).toEqual([{ a: 2 }, JSON.parse(full)])
})

it('can be changed only by its organization with models:write; the audit log shows what changed', async () => {
  const { admin, send, keyOf, found, id, upload, change, listed } = await start()
  await upload('{"accuracy": 0.9, "other": "x"}', { version_label: '1.4.0' })
  const path = `/models/${id}/versions/1`
  const body = { metadata: { accuracy: 1 } }
  const beta = await keyOf('beta')
  expect(await send(beta, 'PATCH', path, body)).toMatchObject({ status: 404 })
  expect(await send(await keyOf('acme', ['models:read']), 'PATCH', path, body)).toMatchObject({ status: 403 })
  await send(admin, 'POST', `/federations/${await found(['beta'])}/models`, { model_id: id })
  expect((await send(beta, 'GET', path)).body).toMatchObject({ metadata: { accuracy: 0.9 } })
  expect(await send(beta, 'PATCH', path, body)).toMatchObject({
    status: 403,
    body: { message: SHARED.replace('NET', id) },
  })
  expect(await listed()).toEqual([{ accuracy: 0.9, other: 'x' }])

  for (const token of ['secret', 'secret'])
    expect(await change({ accuracy: 0.92, token })).toMatchObject({ status: 200 })
  const { entries } = (await send(admin, 'GET', '/audit?org_id=acme&action=updateVersion&result=ok')).body
  const changes = [
    { field: 'version 1 metadata', from: '{"accuracy":0.9}', to: '{"accuracy":0.92,"token":"[redacted]"}' },
  ]
  expect(entries).toMatchObject([{ object_kind: 'model', object_id: id, object_name: 'net', changes }])
})
