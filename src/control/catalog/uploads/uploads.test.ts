import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { formOf, startWorld, type World, type WorldOptions } from '../../../../test/world.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const MIB = 1024 * 1024

const start = async (options: WorldOptions = {}) => {
  const world = await startWorld(options)
  const { key } = await world.register('author')
  const partials = join(world.dataDir, 'blobs', 'partial')
  return { world, key, partials }
}

const offsetOf = async (world: World, key: string, hash: string, size: number) => {
  const { status, headers } = await world.request('HEAD', `/api/v1/uploads/${hash}?size=${size}`, { key })
  return [status, headers.get('upload-offset')]
}

const append = async (
  world: World,
  key: string,
  bytes: Uint8Array,
  place: { hash: string; offset: number | string; length: number | string },
  type = 'application/octet-stream',
) => {
  const response = await world.request('PATCH', `/api/v1/uploads/${place.hash}`, {
    key,
    body: new Blob([bytes as BlobPart]),
    headers: {
      'content-type': type,
      'upload-offset': String(place.offset),
      'upload-length': String(place.length),
    },
  })
  const { status, body, headers } = response
  return { status, offset: headers.get('upload-offset'), retryAfter: headers.get('retry-after'), body }
}

/** Begins a PATCH over its own socket and sends only `bytes` of it. */
const beginRaw = async (
  world: World,
  key: string,
  { hash, total, bytes }: { hash: string; total: number; bytes: Uint8Array },
) => {
  const { port } = new URL(world.baseUrl)
  const socket = connect({ port: Number(port), host: '127.0.0.1' })
  socket.on('error', () => undefined)
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  socket.write(
    `PATCH /api/v1/uploads/${hash} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nUpload-Offset: 0\r\n` +
      `Upload-Length: ${total}\r\nContent-Type: application/octet-stream\r\nContent-Length: ${total}\r\n\r\n`,
  )
  socket.write(bytes)
  return socket
}

const eventually = async (holds: () => Promise<boolean>): Promise<void> => {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10))
}

const makeModel = async (world: World, key: string): Promise<string> => {
  const { body } = await world.request('POST', '/api/v1/models', { key, body: { name: 'net' } })
  return (body as { id: string }).id
}

const versionOf = (world: World, key: string, model: string, fields: Record<string, string | number>) => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, String(value))
  return world.request('POST', `/api/v1/models/${model}/versions/upload`, { key, body: form })
}

it('an upload resumes after a broken connection where it stopped, and becomes a version', async () => {
  const { world, key, partials } = await start()
  const bytes = randomBytes(4 * MIB)
  const hash = sha256(bytes)
  const total = bytes.length
  expect(await offsetOf(world, key, hash, total)).toEqual([200, '0'])

  const socket = await beginRaw(world, key, { hash, total, bytes: bytes.subarray(0, 3 * MIB) })
  await eventually(async () => Number((await offsetOf(world, key, hash, total))[1]) >= 2 * MIB)
  expect(await append(world, key, bytes, { hash, offset: 0, length: total })).toMatchObject({
    status: 409,
    retryAfter: '2',
    body: {
      error: 'conflict',
      message: 'This file is being uploaded over another connection. Try again when that upload has ended.',
      status_code: 409,
    },
  })
  socket.destroy()
  await eventually(async () => (await readdir(partials)).every((name) => !name.endsWith('.lock')))
  const there = Number((await offsetOf(world, key, hash, total))[1])
  expect(there).toBeGreaterThanOrEqual(2 * MIB)
  expect(there).toBeLessThanOrEqual(3 * MIB)

  const model = await makeModel(world, key)
  const named = { upload: `sha256:${hash}`, upload_size: total, file_name: 'a/net.onnx', version_label: '1.2.0' }
  const early = await versionOf(world, key, model, named)
  expect([early.status, early.body]).toEqual([
    409,
    {
      error: 'conflict',
      message:
        `${there} of ${total} bytes of the upload sha256:${hash} have been received. Send the rest first, with ` +
        `PATCH /api/v1/uploads/${hash} and Upload-Offset: ${there}.`,
      status_code: 409,
    },
  ])
  expect(await append(world, key, bytes.subarray(there), { hash, offset: there, length: total })).toEqual({
    status: 204,
    offset: String(total),
    retryAfter: null,
    body: null,
  })
  const made = await versionOf(world, key, model, named)
  expect([made.status, made.body]).toMatchObject([
    201,
    { version: 1, version_label: '1.2.0', format: 'onnx', model_size_bytes: total, model_hash: `sha256:${hash}` },
  ])
  const download = await fetch(`${world.baseUrl}/api/v1/models/net/versions/1/download`, {
    headers: { authorization: `Bearer ${key}` },
  })
  expect(download.headers.get('content-disposition')).toContain('.onnx')
  expect(sha256(new Uint8Array(await download.arrayBuffer()))).toBe(hash)
  expect(await readdir(partials)).toEqual([])
  expect(await readdir(join(world.dataDir, 'blobs', 'staging'))).toEqual([])
})

it('a wrong offset is a conflict that names the right one, and nothing is written', async () => {
  const { world, key, partials } = await start()
  const bytes = randomBytes(1000)
  const hash = sha256(bytes)
  const wrong = (offset: number) => append(world, key, bytes.subarray(0, 10), { hash, offset, length: 1000 })
  expect(await wrong(10)).toMatchObject({ status: 409, offset: '0', retryAfter: '0' })
  expect(await readdir(partials)).toEqual([])
  await append(world, key, bytes.subarray(0, 600), { hash, offset: 0, length: 1000 })
  for (const offset of [0, 599, 601]) {
    expect(await wrong(offset)).toEqual({
      status: 409,
      offset: '600',
      retryAfter: '0',
      body: {
        error: 'conflict',
        message: `600 bytes of this file have been received, not ${offset}. Continue with Upload-Offset: 600.`,
        status_code: 409,
      },
    })
  }
  const [name] = await readdir(partials)
  expect((await readFile(join(partials, name!))).equals(bytes.subarray(0, 600))).toBe(true)
})

it('bytes that do not match the announced hash become no version, and are deleted', async () => {
  const { world, key, partials } = await start()
  const hash = sha256(Buffer.from('something else'))
  const bytes = Buffer.from('not what was announced')
  await append(world, key, bytes, { hash, offset: 0, length: bytes.length })
  const model = await makeModel(world, key)
  const { status, body } = await versionOf(world, key, model, { upload: `sha256:${hash}`, upload_size: bytes.length })
  expect([status, (body as { message: string }).message]).toEqual([
    400,
    `The uploaded bytes have the hash sha256:${sha256(bytes)}, not sha256:${hash}. They were deleted: ` +
      'upload the file again from the start.',
  ])
  expect(await readdir(partials)).toEqual([])
  expect(await readdir(join(world.dataDir, 'blobs', 'staging'))).toEqual([])
  const detail = await world.request('GET', '/api/v1/models/net', { key })
  expect((detail.body as { versions: unknown[] }).versions).toEqual([])
})

it('an organization sees nothing of the uploads of another, and cannot make a version of them', async () => {
  const { world, keyOf } = await openFederation()
  const mine = { key: await keyOf('mine') }
  const other = { key: await keyOf('other') }
  const bytes = randomBytes(1000)
  const hash = sha256(bytes)
  await append(world, mine.key, bytes, { hash, offset: 0, length: 1000 })
  expect(await offsetOf(world, mine.key, hash, 1000)).toEqual([200, '1000'])
  expect(await offsetOf(world, other.key, hash, 1000)).toEqual([200, '0'])
  const model = await makeModel(world, other.key)
  expect(await versionOf(world, other.key, model, { upload: `sha256:${hash}`, upload_size: 1000 })).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('0 of 1000 bytes') },
  })
})

it('a version that is refused leaves the upload for another try', async () => {
  const { world, key } = await start()
  const bytes = randomBytes(1000)
  const hash = sha256(bytes)
  const model = await makeModel(world, key)
  await world.request('POST', `/api/v1/models/${model}/versions/upload`, {
    key,
    body: formOf('other weights', { version_label: '1.0.0' }, 'net.onnx'),
  })
  await append(world, key, bytes, { hash, offset: 0, length: 1000 })
  const named = { upload: `sha256:${hash}`, upload_size: 1000, file_name: 'net.onnx' }
  expect(await versionOf(world, key, model, { ...named, version_label: '1.0.0' })).toMatchObject({ status: 409 })
  expect(await offsetOf(world, key, hash, 1000)).toEqual([200, '1000'])
  expect(await versionOf(world, key, model, { ...named, version_label: '2.0.0' })).toMatchObject({ status: 201 })
  expect(await offsetOf(world, key, hash, 1000)).toEqual([200, '0'])
})

it('cleanup removes what has not changed for 24 hours, and a start removes nothing', async () => {
  const { world, key, partials } = await start({ durable: true })
  const begin = async (text: string, age: number) => {
    const before = new Set(await readdir(partials))
    await append(world, key, Buffer.from(text), { hash: sha256(Buffer.from(text)), offset: 0, length: 1000 })
    const name = (await readdir(partials)).find((entry) => !before.has(entry))!
    const changed = new Date(world.now().getTime() - age * 3_600_000)
    await utimes(join(partials, name), changed, changed)
    return name
  }
  const old = await begin('old', 24.1)
  const young = await begin('young', 23.9)
  await writeFile(join(partials, `${young}.lock`), 'left by a process that was killed')
  await world.restart()
  expect((await readdir(partials)).sort()).toEqual([old, young].sort())
  await world.service.runRetention()
  expect(await readdir(partials)).toEqual([young])
})

it('a lock that a dead process left in a shared folder blocks others only briefly', async () => {
  const { world, key, partials } = await start()
  const hash = sha256(Buffer.from('abcd'))
  await append(world, key, Buffer.from('ab'), { hash, offset: 0, length: 4 })
  const [name] = await readdir(partials)
  const mark = join(partials, `${name}.lock`)
  await writeFile(mark, 'of another process')
  const rest = () => append(world, key, Buffer.from('cd'), { hash, offset: 2, length: 4 })
  expect(await rest()).toMatchObject({ status: 409, offset: '2', retryAfter: '2' })
  const past = new Date(Date.now() - 121_000)
  await utimes(mark, past, past)
  expect(await rest()).toMatchObject({ status: 204, offset: '4' })
  expect(await readdir(partials)).toEqual([name])
})

it('invalid requests are refused with the reason', async () => {
  const { world, key, partials } = await start({ config: { maxUploadBytes: 1000 } })
  const hash = sha256(Buffer.from('x'))
  const bytes = Buffer.from('abc')
  const model = await makeModel(world, key)
  const resultOf = async (response: Promise<{ status: number; body: unknown }>) => {
    const { status, body } = await response
    return [status, (body as { message: string }).message.split('. ')[0]]
  }
  expect([
    await resultOf(append(world, key, bytes, { hash, offset: 0, length: 1001 })),
    await resultOf(append(world, key, bytes, { hash, offset: 4, length: 3 })),
    await resultOf(append(world, key, bytes, { hash, offset: 0, length: 2 })),
    await resultOf(append(world, key, bytes, { hash, offset: 0, length: 3 }, 'text/plain')),
    await resultOf(versionOf(world, key, model, { upload: `sha256:${hash}` })),
  ]).toEqual([
    [400, 'The upload of 1001 bytes is larger than the 1000 bytes that this server accepts'],
    [400, 'Upload-Offset 4 exceeds Upload-Length 3.'],
    [400, 'The body is longer than the 2 bytes of Upload-Length.'],
    [400, 'The Content-Type must be application/octet-stream, got text/plain.'],
    [400, "The form field 'upload' requires 'upload_size': the size of the whole file in bytes."],
  ])
  for (const place of [
    { hash: 'A'.repeat(64), offset: 0, length: 3 },
    { hash: '..%2F..%2Fetc', offset: 0, length: 3 },
    { hash, offset: -1, length: 3 },
    { hash, offset: 0, length: '1e3' },
  ]) {
    expect((await append(world, key, bytes, place)).status, JSON.stringify(place)).toBe(400)
  }
  const both = formOf('weights', { upload: `sha256:${hash}`, upload_size: 3 })
  expect(await resultOf(world.request('POST', `/api/v1/models/${model}/versions/upload`, { key, body: both }))).toEqual(
    [400, "The form has a file and the field 'upload'"],
  )
  expect((await world.request('HEAD', `/api/v1/uploads/${hash}?size=3`)).status).toBe(401)
  for (const name of await readdir(partials)) expect((await stat(join(partials, name))).size).toBe(0)
})
