import { spawnSync } from 'node:child_process'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, request as httpRequest, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient, unwrap } from '../../src/client/client.ts'
import { parseStorageUrl, type S3Location } from '../../src/domain/storage-location.ts'
import { blobPath } from '../../src/platform/blobs/blob-store.ts'
import { openS3Objects } from '../../src/platform/blobs/s3-objects.ts'
import { openS3Store } from '../../src/platform/blobs/s3-store.ts'
import { STORE_CONTRACT } from '../../src/platform/blobs/store-contract.fixture.ts'
import type { Assignment } from '../../src/sdk/assignment.ts'
import { createDevice } from '../../src/sdk/device-client.ts'
import { memorySink } from '../../src/sdk/download.ts'
import { emptyFolder, freshDataDir } from '../databases.ts'
import { noSwift, SWIFT_KEYS, startSwift } from '../swift.ts'
import { formOf } from '../world.ts'
import { type RunningService, runService, until } from './service-process.ts'

const MIB = 1 << 20
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const locationOf = (endpoint: string, prefix: string): S3Location =>
  parseStorageUrl(`s3://weights/${prefix}?endpoint=${endpoint}`) as S3Location

/** A proxy between a store and its server: forwards requests, or handles them with `disturb`. */
const startProxy = async (port: number) => {
  let disturb: RequestListener | null = null
  const methods: string[] = []
  const proxy = createServer((request, response) => {
    methods.push(`${request.method} ${request.url}`)
    const disturbing = disturb
    if (disturbing !== null) return disturbing(request, response)
    const { method, headers, url } = request
    const onward = httpRequest({ port, host: '127.0.0.1', method, headers, path: url }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      if (method === 'HEAD') response.end()
      else answer.pipe(response)
    })
    // Swift ends a HEAD response with bytes that should not be there.
    onward.on('error', () => response.headersSent || response.destroy())
    request.pipe(onward)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => proxy.once('listening', resolve))
  onTestFinished(() => void proxy.close())
  return {
    endpoint: `http://127.0.0.1:${(proxy.address() as { port: number }).port}`,
    methods,
    disturb: (listener: RequestListener | null) => {
      disturb = listener
    },
  }
}

const register = async ({ baseUrl }: RunningService, deviceId: string): Promise<string> =>
  (await unwrap(createClient({ baseUrl }).POST('/api/v1/devices/register', { body: { device_id: deviceId } }))).api_key

const send = async (service: RunningService, key: string, method: string, path: string, init: RequestInit = {}) => {
  const headers = { authorization: `Bearer ${key}`, ...(init.headers as Record<string, string>) }
  const response = await fetch(`${service.baseUrl}/api/v1${path}`, { ...init, method, headers })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes }
}

const json = (body: object): RequestInit => ({
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
})

describe.skipIf(noSwift() !== null)('files in S3', () => {
  it('fulfill the contract of every store, and are never listed', async () => {
    const swift = await startSwift()
    const proxy = await startProxy(swift.port)
    const objects = await openS3Objects(locationOf(proxy.endpoint, 'contract'))
    const open = async (cacheBytes: number) => openS3Store(objects, { folder: await emptyFolder(), cacheBytes })
    for (const [name, check] of STORE_CONTRACT) {
      // With a cache, and without one: then everything comes from the server.
      for (const cacheBytes of [1 << 30, 0]) {
        await check(await open(cacheBytes)).catch((error: Error) => {
          error.message = `${name} (${cacheBytes}): ${error.message}`
          throw error
        })
        const hash = sha256Of(Buffer.from('hello world'))
        await objects.remove(blobPath(hash))
      }
    }
    expect(
      proxy.methods.filter((line) => /^GET \/weights\/?\?|list-type|[?&]uploads(?!=)(?=.*GET)/.test(line)),
    ).toEqual([])

    await refusesDamage(swift.endpoint, await open(0))
    await survivesFaults(proxy, objects, await open(0))
    await boundsItsCopies(objects)
    await deletesCopiesOfOthers(objects)
    await givesWayOnASmallDisk(objects)
    await saysWhatIsWrong(swift.endpoint)
  })

  it('serve a whole service through an upload that is killed, and a server that goes down and comes back', async () => {
    const swift = await startSwift()
    const dataDir = await freshDataDir()
    const settings = { ...SWIFT_KEYS, SERVICE_STORAGE_URL: `s3://weights/fleet?endpoint=${swift.endpoint}` }
    let service = await runService(dataDir, settings)
    const keys = await Promise.all(['a', 'b', 'c'].map((name) => register(service, name)))
    const key = keys[0]!

    const file = randomBytes(20 * MIB)
    const hash = sha256Of(file)
    const piece = (offset: number, bytes: Uint8Array | Readable) =>
      send(service, key, 'PATCH', `/uploads/${hash}`, {
        headers: {
          'content-type': 'application/octet-stream',
          'upload-offset': String(offset),
          'upload-length': String(file.length),
        },
        body: bytes as unknown as BodyInit,
        ...(bytes instanceof Readable && { duplex: 'half' }),
      } as RequestInit)
    const received = async (): Promise<number> =>
      Number((await send(service, key, 'HEAD', `/uploads/${hash}?size=${file.length}`)).headers.get('upload-offset'))

    // The service is killed when one part of the body has been stored and another has not.
    const endless = new Readable({ read: () => undefined })
    for (let at = 0; at < 10 * MIB; at += MIB) endless.push(file.subarray(at, at + MIB))
    const cutOff = piece(0, endless).catch(() => 'cut off')
    await until(received, (offset) => offset >= 8 * MIB)
    await service.kill()
    expect(await cutOff).toBe('cut off')
    endless.destroy()
    service = await runService(dataDir, settings)
    const offset = await received()
    expect(offset).toBeGreaterThanOrEqual(8 * MIB)
    expect((await piece(offset, file.subarray(offset))).status).toBe(204)
    const form = new FormData()
    for (const [name, value] of Object.entries({ upload: `sha256:${hash}`, upload_size: file.length })) {
      form.set(name, String(value))
    }
    form.set('file_name', 'big.bin')
    const created = await send(service, key, 'POST', '/models', json({ name: 'big' }))
    const { id } = JSON.parse(created.bytes.toString()) as { id: string }
    const pushed = await send(service, key, 'POST', `/models/${id}/versions/upload`, { body: form })
    expect([pushed.status, pushed.bytes.toString()]).toEqual([201, expect.stringContaining(hash)])
    const path = `/models/${id}/versions/1/download`

    const rounds = await send(
      service,
      key,
      'POST',
      '/training/rounds/start',
      json({ target_devices: 3, min_devices: 3, hyperparameters: {} }),
    )
    const { id: round } = JSON.parse(rounds.bytes.toString()) as { id: string }
    for (const [index, letter] of ['a', 'b', 'c'].entries()) {
      const update = readFileSync(new URL(`../fixtures/weights/net_${letter}.pt`, import.meta.url))
      const sent = await send(service, keys[index]!, 'POST', `/training/rounds/${round}/updates`, {
        body: formOf(update, { num_samples: 10 }),
      })
      expect(sent.status).toBe(201)
    }
    const status = async () =>
      JSON.parse((await send(service, key, 'GET', `/training/rounds/${round}/status`)).bytes.toString()) as {
        status: string
        aggregated_model_id: string
      }
    const done = await until(status, (seen) => seen.status === 'completed' || seen.status === 'failed')
    expect(done.status).toBe('completed')
    const aggregate = await send(service, key, 'GET', `/models/${done.aggregated_model_id}/versions/1/download`)
    expect(`sha256:${sha256Of(aggregate.bytes)}`).toBe(aggregate.headers.get('x-model-hash'))

    // A process without any copies.
    expect(await service.terminate()).toBe(0)
    service = await runService(dataDir, { ...settings, SERVICE_DOWNLOADS: 'redirect' })
    expect(readdirSync(join(dataDir, 'blobs'))).not.toContain('sha256')
    const whole = await send(service, key, 'GET', path)
    expect([whole.status, sha256Of(whole.bytes)]).toEqual([200, hash])
    const part = await send(service, key, 'GET', path, { headers: { range: 'bytes=8388000-8389000' } })
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 8388000-8389000/${file.length}`])
    expect(part.bytes.equals(file.subarray(8_388_000, 8_389_001))).toBe(true)

    // A client that asks for it is redirected to the store, without the key; the agent's client does so and checks the hash.
    const sent = await send(service, key, 'GET', path, { headers: { prefer: 'redirect' }, redirect: 'manual' })
    expect([sent.status, sent.headers.get('x-model-hash')]).toEqual([307, `sha256:${hash}`])
    const location = sent.headers.get('location')!
    expect(location.startsWith(`${swift.endpoint}/weights/fleet/sha256/`)).toBe(true)
    const direct = await fetch(location, { headers: { range: 'bytes=5-9' } })
    expect(direct.status).toBe(206)
    expect(Buffer.from(await direct.arrayBuffer()).equals(file.subarray(5, 10))).toBe(true)
    const requested: string[] = []
    const device = createDevice({
      baseUrl: service.baseUrl,
      deviceId: 'a',
      apiKey: key,
      directDownloads: true,
      fetch: (input, init) => {
        requested.push(new URL(input instanceof Request ? input.url : input).origin)
        return fetch(input, init)
      },
    })
    const sink = memorySink()
    const assignment = { modelId: id, versionNumber: 1, file: { sizeBytes: file.length, sha256: hash } }
    await device.downloadVersion(assignment as unknown as Assignment, sink)
    expect(requested).toEqual([service.baseUrl, swift.endpoint])
    expect(sha256Of(sink.bytes())).toBe(hash)

    const isStorageUp = async () =>
      /^tributary_storage_up (\d)$/m.exec(
        await (await fetch(`${service.baseUrl}/metrics`, { headers: { authorization: `Bearer ${key}` } })).text(),
      )?.[1]
    expect(await isStorageUp()).toBe('1')
    await swift.kill()
    expect(await isStorageUp()).toBe('0')
    const upload = () => send(service, key, 'POST', `/models/${id}/versions/upload`, { body: formOf('small') })
    for (const refused of [await send(service, key, 'GET', path), await upload()]) {
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
      expect(JSON.parse(refused.bytes.toString())).toMatchObject({
        error: 'unavailable',
        message: 'The file storage of the service does not respond. Try again in a moment.',
      })
    }
    expect((await send(service, key, 'HEAD', path)).status).toBe(200)
    await swift.start()
    expect((await upload()).status).toBe(201)
    expect(sha256Of((await send(service, key, 'GET', path)).bytes)).toBe(hash)
    expect(await service.terminate()).toBe(0)
  })
})

type Store = Awaited<ReturnType<typeof openS3Store>>
type Objects = Awaited<ReturnType<typeof openS3Objects>>

const keep = async (store: Store, bytes: Uint8Array): Promise<string> => {
  const staged = await store.stage(Readable.from([Buffer.from(bytes)]), { maxBytes: 1 << 30 })
  await staged.keep()
  return staged.sha256
}

const readAll = async (store: Store, hash: string): Promise<Buffer> =>
  Buffer.concat(await (await store.read(hash)).toArray())

const refusesDamage = async (endpoint: string, store: Store): Promise<void> => {
  const objects = await openS3Objects(locationOf(endpoint, 'contract'))
  const bytes = randomBytes(3 * MIB)
  const hash = await keep(store, bytes)
  bytes[2_000_000]! ^= 1
  await objects.put(blobPath(hash), bytes)
  await expect(readAll(store, hash)).rejects.toThrow(`sha256:${hash} is damaged`)
  await expect(store.withPaths((pathOf) => pathOf(hash))).rejects.toThrow(`sha256:${hash} is damaged`)
}

const survivesFaults = async (
  proxy: Awaited<ReturnType<typeof startProxy>>,
  objects: Objects,
  store: Store,
): Promise<void> => {
  const bytes = randomBytes(4 * MIB)
  const hash = await keep(store, bytes)
  const copied = () => store.withPaths(async (pathOf) => readFile(await pathOf(hash)))
  const requested = () => proxy.methods.filter((line) => line.startsWith('GET') && line.includes(hash)).length
  const before = requested()
  let failures = 0
  for (const bring of [() => readAll(store, hash), copied]) {
    proxy.disturb((_request, response) => {
      failures++
      proxy.disturb(null)
      response.writeHead(500).end()
    })
    expect((await bring()).equals(bytes)).toBe(true)
    proxy.disturb((_request, response) => {
      failures++
      proxy.disturb(null)
      response.writeHead(200, { 'content-length': bytes.length })
      response.write(bytes.subarray(0, MIB), () => response.destroy())
    })
    expect((await bring()).equals(bytes)).toBe(true)
  }
  expect([failures, requested() - before]).toEqual([4, 8])
  proxy.disturb((_request, response) => void response.writeHead(503).end())
  await expect(copied()).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 })
  proxy.disturb(null)
  expect((await copied()).equals(bytes)).toBe(true)

  // Nothing is kept that the server has not accepted.
  proxy.disturb((_request, response) => void response.writeHead(500).end())
  const staged = await store.stage(Readable.from([Buffer.from('not taken')]), { maxBytes: 100 })
  await expect(staged.keep()).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 })
  await staged.discard()
  proxy.disturb(null)
  expect(await objects.has(blobPath(staged.sha256))).toBe(false)
}

const boundsItsCopies = async (objects: Objects): Promise<void> => {
  const folder = await emptyFolder()
  const store = await openS3Store(objects, { folder, cacheBytes: 3 * MIB })
  const copies = (): string[] => {
    const [own] = readdirSync(join(folder, 'cache'))
    return readdirSync(join(folder, 'cache', own!))
  }
  const hashes: string[] = []
  for (let n = 0; n < 5; n++) hashes.push(await keep(store, Buffer.alloc(MIB, n)))
  expect(copies().sort()).toEqual(hashes.slice(2).sort())
  // Files in use stay regardless of their total size, and are deleted afterwards.
  await store.withPaths(async (pathOf) => {
    const paths = await Promise.all(hashes.map(pathOf))
    await Promise.all(hashes.map(async (hash, n) => expect(sha256Of(await readFile(paths[n]!))).toBe(hash)))
    expect(copies()).toHaveLength(5)
  })
  await expect.poll(() => copies().length).toBe(3)
  await writeFile(join(folder, 'staging', 'left'), 'x')
  expect(await store.sweep(new Date(Date.now() + 60_000))).toBe(1)
  // A disk error is not mistaken for an unavailable store.
  rmSync(join(folder, 'cache'), { recursive: true })
  await expect(store.withPaths((pathOf) => pathOf(hashes[0]!))).rejects.toMatchObject({ code: 'ENOENT' })
}

const deletesCopiesOfOthers = async (objects: Objects): Promise<void> => {
  const folder = await emptyFolder()
  const open = () => openS3Store(objects, { folder, cacheBytes: 1 << 30 })
  const copies = () => readdirSync(join(folder, 'cache')).flatMap((own) => readdirSync(join(folder, 'cache', own)))
  const [first, second] = [await open(), await open()]
  const removed = await keep(second, Buffer.from('of an erased device'))
  const kept = await keep(second, Buffer.from('of another device'))
  await first.remove(removed)
  expect(copies().sort()).toEqual([removed, kept].sort())
  await second.dropCopies(async () => [removed])
  expect(copies()).toEqual([kept])
  await first.close()
  expect(copies()).toEqual([kept])
  // A killed process leaves its copies, and its lock without anyone who renews it.
  const dead = randomUUID()
  mkdirSync(join(folder, 'cache', `${dead}-copies`))
  await writeFile(join(folder, 'cache', `${dead}-copies`, kept), 'x')
  const [running = ''] = readdirSync(join(folder, 'processes'))
  const [, host, , scope] = (await readFile(join(folder, 'processes', running), 'utf8')).split(' ')
  await writeFile(join(folder, 'processes', dead), `${spawnSync('true').pid} ${host} ${dead} ${scope}`)
  const third = await open()
  expect(copies()).toEqual([kept])
  await second.close()
  await third.close()
  expect([copies(), readdirSync(join(folder, 'cache')), readdirSync(join(folder, 'processes'))]).toEqual([[], [], []])
}

/** Uses a separate disk, which only root can mount. */
const givesWayOnASmallDisk = async (objects: Objects): Promise<void> => {
  const folder = await emptyFolder()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=20m', 'tmpfs', folder])
  if (mounted.status !== 0) return
  onTestFinished(() => void spawnSync('umount', ['-l', folder]))
  const store = await openS3Store(objects, { folder, cacheBytes: 1 << 30 })
  const hashes: string[] = []
  for (let n = 0; n < 30; n++) hashes.push(await keep(store, Buffer.alloc(MIB, 100 + n)))
  const [own] = readdirSync(join(folder, 'cache'))
  const copies = (): string[] => readdirSync(join(folder, 'cache', own!))
  expect(copies().sort()).toEqual(hashes.slice(-copies().length).sort())
  expect(copies().length).toBeGreaterThan(14)
  for (const hash of hashes) expect(sha256Of(await store.withPaths(async (of) => readFile(await of(hash))))).toBe(hash)
  // Other files that fill the disk, but for 1 MiB, displace them.
  const before = copies().length
  await writeFile(join(folder, 'other'), Buffer.alloc((19 - before) * MIB))
  await expect.poll(() => copies().length, { timeout: 20_000 }).toBeLessThan(before)
}

const saysWhatIsWrong = async (endpoint: string): Promise<void> => {
  const check = async (location: S3Location) => (await openS3Objects(location)).check()
  const location = locationOf(endpoint, '')
  await expect(check({ ...location, bucket: 'nowhere' })).rejects.toThrow("there is no bucket 'nowhere'")
  await check(location)
  await check({ ...location, endpoint: 'http://127.0.0.1:1' })
  process.env.AWS_SECRET_ACCESS_KEY = 'wrong'
  await expect(check(location)).rejects.toThrow("the bucket 'weights' refuses these credentials (403)")
  Object.assign(process.env, SWIFT_KEYS)
}
