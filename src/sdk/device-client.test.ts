import { createHash, randomBytes } from 'node:crypto'
import { getEventListeners } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import type { Device } from './device.ts'
import { createDevice } from './device-client.ts'
import { memorySink } from './download.ts'
import type { Plan } from './wire.ts'

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** A service on a real socket that gives these responses in order, and a device that uses it without real waits. */
const scripted = async (...responses: Handler[]) => {
  const seen: string[] = []
  const requests: { headers: IncomingMessage['headers']; body: string }[] = []
  const waits: number[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('latin1')
      seen.push(`${request.method} ${request.url}`)
      requests.push({ headers: request.headers, body })
      const answer = responses.shift()
      if (answer) answer(request, response, body)
      else response.writeHead(500).end('no more answers')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const device = (extra: Partial<Parameters<typeof createDevice>[0]> = {}): Device =>
    createDevice({
      baseUrl,
      deviceId: 'pixel 7',
      apiKey: 'sk_live_x',
      random: () => 0,
      sleep: async (milliseconds) => {
        waits.push(milliseconds)
      },
      ...extra,
    })
  return { device, seen, requests, waits, baseUrl, left: responses }
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Handler =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

const cut: Handler = (request) => request.socket.destroy()

/** Announces the whole response and closes the connection halfway. */
const half =
  (body: unknown): Handler =>
  (_, response) => {
    const text = JSON.stringify(body)
    response.writeHead(200, { 'content-length': text.length })
    response.write(text.slice(0, 5), () => response.destroy())
  }

const beat = { status: 'active', last_heartbeat: '2026-01-01T00:00:00Z', message: 'ok' }
const conflict = { error: 'conflict', message: 'Already submitted.', status_code: 409 }

test("registering sends the device's description and keeps the key for the next call", async () => {
  const response = { id: 'u-1', device_id: 'pixel 7', api_key: 'sk_live_new', platform: 'linux', status: 'active' }
  const service = await scripted(json(201, response), json(200, beat))
  const device = createDevice({
    baseUrl: `${service.baseUrl}/`,
    deviceId: 'pixel 7',
    orgId: 'acme',
    platform: 'linux',
    capabilities: { gpu: false },
    enrollmentToken: 'sk_live_enrol',
  })
  expect(await device.register()).toEqual({ id: 'u-1', apiKey: 'sk_live_new' })
  expect(await device.heartbeat({ battery_level: 80 }, { status: 'active', waitSeconds: 20 })).toEqual({
    pendingRoundId: null,
    pendingEvaluationId: null,
    assignments: [],
    assignmentsTag: null,
    nextHeartbeatSeconds: null,
    message: 'ok',
  })
  expect(service.seen).toEqual([
    'POST /api/v1/devices/register',
    'PUT /api/v1/devices/pixel%207/heartbeat?wait_seconds=20',
  ])
  expect(service.requests.map(({ headers, body }) => [headers.authorization, JSON.parse(body)])).toEqual([
    ['Bearer sk_live_enrol', { device_id: 'pixel 7', org_id: 'acme', platform: 'linux', capabilities: { gpu: false } }],
    ['Bearer sk_live_new', { status: 'active', metrics: { battery_level: 80 } }],
  ])
})

test('the first heartbeat that arrives reports the capabilities, unless the device has just registered', async () => {
  const registered = json(201, { id: 'i-1', api_key: 'sk_live_y' })
  const service = await scripted(cut, json(200, beat), json(200, beat), registered, json(200, beat))
  const device = service.device({ capabilities: { gpu: true } })
  await device.heartbeat()
  await device.heartbeat()
  const another = service.device({ capabilities: { gpu: true } })
  await another.register()
  await another.heartbeat()
  const reported = service.requests.map(
    ({ body }) => (JSON.parse(body || '{}') as { capabilities?: unknown }).capabilities,
  )
  expect(reported).toEqual([{ gpu: true }, { gpu: true }, undefined, { gpu: true }, undefined])
})

test('a call leaves nothing in its signal, which may last for millions of calls', async () => {
  const combine = vi.spyOn(AbortSignal, 'any')
  const service = await scripted(cut, json(200, beat))
  const { signal } = new AbortController()
  await service.device().heartbeat(undefined, { signal })
  expect(getEventListeners(signal, 'abort')).toEqual([])
  expect(combine.mock.calls.filter(([signals]) => [...signals].includes(signal))).toEqual([])
})

test('a name that an earlier attempt of the same call may have registered is explained', async () => {
  const taken = json(409, { error: 'conflict', message: 'Already registered. Use its key.', status_code: 409 })
  const service = await scripted(cut, taken, taken)
  const register = () => service.device().register()
  await expect(register()).rejects.toMatchObject({
    status: 409,
    message: expect.stringMatching(/an earlier attempt .* the key with it/),
  })
  await expect(register()).rejects.toMatchObject({ status: 409, message: 'Already registered. Use its key.' })
})

test('closed connections, partial responses, 503 and 429 are retried, waiting as long as the service requests', async () => {
  const busy = { error: 'rate_limited', message: 'Slow down.', status_code: 429 }
  const service = await scripted(
    cut,
    half(beat),
    json(503, {}),
    json(429, busy, { 'retry-after': '7' }),
    json(200, { ...beat, pending_round_id: 'r-1' }),
  )
  expect(await service.device().heartbeat()).toMatchObject({ pendingRoundId: 'r-1', message: 'ok' })
  expect(service.waits).toEqual([250, 500, 1000, 7000])
})

test.each([
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'not_found'],
] as const)("any other refusal is thrown at once, with the service's message: %d", async (status, code) => {
  const body = { error: code, message: "Device 'pixel 7' does not exist.", status_code: status }
  const service = await scripted(json(status, body))
  const error: unknown = await service
    .device()
    .heartbeat()
    .catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ name: 'ApiError', status, code, message: body.message })
  expect(service.waits).toEqual([])
})

const page =
  (status: number, text = '<html>Sign in</html>'): Handler =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end(text)

test.each([302, 400, 401, 403, 404, 407, 409, 511])(
  'response %d of a proxy is not a response of the service',
  async (status) => {
    const strange = { error: 'invalid_token', message: 'Sign in to this network.' }
    const responses = [page(status), page(status, ''), json(status, strange)]
    const calls: [(device: Device) => Promise<unknown>, Handler, unknown][] = [
      [(device) => device.heartbeat(), json(200, beat), { message: 'ok' }],
      [(device) => device.submit('r-1', weights, report), json(201, { id: 'up-1' }), { updateId: 'up-1' }],
      [(device) => device.reportFailure('r-1', 'why'), json(200, { id: 'r-1' }), true],
      [(device) => device.submitEvaluation('r-1', { failureReason: 'why' }), json(201, { round_id: 'r-1' }), true],
      [(device) => device.model(plan), serve(), { length: model.length }],
    ]
    for (const [call, response, expected] of calls) {
      const service = await scripted(...responses, response)
      const found = await call(service.device({ directDownloads: true }))
      if (typeof expected === 'object') expect(found).toMatchObject(expected as object)
      else expect(found).toBe(expected)
      expect(service.waits).toEqual([250, 500, 1000])
    }
  },
)

test('an update that is too large for a proxy is refused, with advice', async () => {
  const service = await scripted(page(413))
  await expect(service.device().submit('r-1', weights, report)).rejects.toMatchObject({
    status: 413,
    message: `A proxy in front of ${service.baseUrl} does not accept a request of this size (413). Raise its limit.`,
  })
  expect(service.seen).toHaveLength(1)
})

test('an unreachable service is named, with what to check', async () => {
  const service = await scripted()
  closing.pop()?.()
  await expect(service.device().heartbeat()).rejects.toThrow(
    `No response from ${service.baseUrl} (connection refused). Is the service running and the address right?`,
  )
  expect(service.waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000])
})

test('a certificate of an unknown authority is named', async () => {
  const read = (name: string) => readFile(new URL(`../../test/fixtures/tls/${name}`, import.meta.url))
  const server = createHttpsServer({ cert: await read('first.pem'), key: await read('first.key') })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => void server.close())
  const baseUrl = `https://localhost:${(server.address() as AddressInfo).port}`
  await expect(
    createDevice({ baseUrl, deviceId: 'd', apiKey: 'sk_live_x' }).heartbeat({}, { until: 0 }),
  ).rejects.toThrow('NODE_EXTRA_CA_CERTS')
})

test('a redirect is not followed: it would send the key elsewhere', async () => {
  const service = await scripted((_, response) => response.writeHead(307, { location: '/elsewhere' }).end())
  await expect(service.device().heartbeat({}, { until: 0 })).rejects.toThrow('No response from')
  expect(service.seen).toHaveLength(1)
})

test('aborting ends a call that is waiting for its response', async () => {
  const stop = new AbortController()
  const service = await scripted(() => stop.abort(new Error('going home')))
  await expect(service.device().heartbeat({}, { signal: stop.signal })).rejects.toThrow('going home')
})

const model = randomBytes(300_000)
const sha256 = createHash('sha256').update(model).digest('hex')
const plan: Plan = {
  roundId: 'r-1',
  roundNumber: 1,
  strategy: 'fedavg',
  hyperparameters: {},
  timeoutAt: Date.now() + 60_000,
  model: { format: 'safetensors', sizeBytes: model.length, sha256 },
  jobId: null,
  control: null,
  raw: null,
}

/** Serves ranges and If-Range like the real service, but closes the connection after `bytes`. */
const serve =
  (bytes = Number.POSITIVE_INFINITY, content = model): Handler =>
  (request, response) => {
    const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')
    const start = range && request.headers['if-range'] === `"${sha256}"` ? Number(range[1]) : 0
    const part = content.subarray(start)
    response.writeHead(start > 0 ? 206 : 200, {
      'content-length': part.length,
      ...(start > 0 && { 'content-range': `bytes ${start}-${content.length - 1}/${content.length}` }),
    })
    if (part.length <= bytes) response.end(part)
    else response.write(part.subarray(0, bytes), () => setTimeout(() => response.destroy(), 20))
  }

test('an interrupted download resumes where it stopped', async () => {
  const service = await scripted(serve(100_000), serve(100_000), serve())
  expect(Buffer.from((await service.device().model(plan))!).equals(model)).toBe(true)
  expect(service.seen).toEqual(Array(3).fill('GET /api/v1/training/rounds/r-1/model'))
  expect(service.requests.map(({ headers }) => [headers.range, headers['if-range']])).toEqual([
    [undefined, undefined],
    ['bytes=100000-', `"${sha256}"`],
    ['bytes=200000-', `"${sha256}"`],
  ])
})

test('a download that makes progress each time may be interrupted more often than calls may fail', async () => {
  const service = await scripted(...Array.from({ length: 14 }, () => serve(20_000)), serve())
  expect((await service.device().model(plan))?.length).toBe(model.length)
  expect(service.left).toEqual([])
})

test('a service that ignores the range and sends the whole file is supported', async () => {
  const whole: Handler = (_, response) => response.writeHead(200).end(model)
  const service = await scripted(serve(100_000), whole)
  expect(Buffer.from((await service.device().model(plan))!).equals(model)).toBe(true)
})

test('a range whose position the page cannot see is assumed to be the requested one', async () => {
  const hidden: Handler = (_, response) => response.writeHead(206).end(model.subarray(100_000))
  const service = await scripted(serve(100_000), hidden)
  expect(Buffer.from((await service.device().model(plan))!).equals(model)).toBe(true)
})

test('a range other than the requested one is refused', async () => {
  const other: Handler = (_, response) =>
    response.writeHead(206, { 'content-range': `bytes 5-299999/300000` }).end(model.subarray(5))
  const service = await scripted(serve(100_000), other, serve())
  expect(Buffer.from((await service.device().model(plan))!).equals(model)).toBe(true)
  expect(service.requests.map(({ headers }) => headers.range)).toEqual([undefined, 'bytes=100000-', 'bytes=100000-'])
})

test('a partial download that cannot be resumed is discarded', async () => {
  const unsatisfiable = json(416, { error: 'bad_request', message: 'No such range.', status_code: 416 })
  const service = await scripted(serve(100_000), unsatisfiable, serve())
  expect(Buffer.from((await service.device().model(plan))!).equals(model)).toBe(true)
  expect(service.requests.map(({ headers }) => headers.range)).toEqual([undefined, 'bytes=100000-', undefined])
})

test('bytes that do not match the plan are fetched again, but not forever', async () => {
  const other = Buffer.alloc(model.length, 1)
  const otherHash = createHash('sha256').update(other).digest('hex')
  const healed = await scripted(serve(undefined, other), serve())
  expect(Buffer.from((await healed.device().model(plan))!).equals(model)).toBe(true)
  const broken = await scripted(...Array.from({ length: 20 }, () => serve(undefined, other)))
  await expect(broken.device().model(plan)).rejects.toThrow(
    `The file arrived with sha256 ${otherHash} instead of ${sha256}.`,
  )
  expect(broken.seen).toHaveLength(8)
})

test('a complete sink needs no request, and one that is too long starts over', async () => {
  const service = await scripted(serve())
  const sink = memorySink()
  await sink.append(model)
  await service.device().download(plan, sink)
  expect(service.seen).toEqual([])
  await sink.append(model)
  await service.device().download(plan, sink)
  expect([service.seen.length, sink.received()]).toEqual([1, model.length])
})

test('a refused download is thrown, and a plan without a model downloads nothing', async () => {
  const service = await scripted(json(409, conflict))
  await expect(service.device().model(plan)).rejects.toMatchObject({ status: 409, message: 'Already submitted.' })
  expect(await service.device().model({ ...plan, model: null })).toBeNull()
  expect(service.seen).toHaveLength(1)
})

const report = { numSamples: 10, localLoss: 0.5, localAccuracy: 0.75, trainingTimeSeconds: 1.6 }
const weights = new Uint8Array([1, 2, 3])

test('an update is sent as a form, fields before the file, and completely again after a disconnect', async () => {
  const service = await scripted(cut, json(201, { id: 'up-1' }))
  expect(await service.device().submit('r-1', weights, report)).toEqual({ updateId: 'up-1', alreadyKept: false })
  for (const { headers, body } of service.requests) {
    const form = await new Response(Buffer.from(body, 'latin1'), {
      headers: { 'content-type': headers['content-type']! },
    }).formData()
    expect([...form.keys()]).toEqual(['num_samples', 'local_loss', 'local_accuracy', 'training_time_seconds', 'file'])
    expect([...form.values()].slice(0, 4)).toEqual(['10', '0.5', '0.75', '2'])
    const file = form.get('file') as File
    expect([file.name, new Uint8Array(await file.arrayBuffer())]).toEqual(['update.safetensors', weights])
  }
  expect(service.requests).toHaveLength(2)
})

test('an update that arrived although its response was lost counts as delivered', async () => {
  const service = await scripted(cut, json(409, conflict), json(200, { state: 'delivered' }))
  expect(await service.device().submit('r-1', weights, report)).toEqual({ updateId: null, alreadyKept: true })
  expect(service.seen.at(-1)).toBe('GET /api/v1/training/rounds/r-1/selection')
})

test('a response without the fields of the service is no response to it', async () => {
  const portal = json(200, { portal: 'Accept the terms.' })
  const service = await scripted(
    ...[portal, json(201, { id: 'up-1' })],
    ...[portal, json(200, { current: false })],
    ...[portal, json(200, { id: 'r-1' })],
    ...[portal, json(200, { status: 'active' })],
    ...[portal, json(200, { state: null })],
  )
  const device = service.device()
  expect([
    await device.submit('r-1', weights, report),
    await device.reportAssignment('p-1', { state: 'active', version: '1.0.0' }),
    await device.reportFailure('r-1', 'no data'),
    await device.roundStatus('r-1'),
    await device.isDelivered('r-1'),
  ]).toEqual([{ updateId: 'up-1', alreadyKept: false }, { current: false }, true, 'active', false])
  expect(service.left).toEqual([])
})

test('an update that arrives after the round is over is refused', async () => {
  const service = await scripted(json(409, { ...conflict, message: 'Too late.' }), json(200, { state: 'selected' }))
  await expect(service.device().submit('r-1', weights, report)).rejects.toMatchObject({
    status: 409,
    message: 'Too late.',
  })
})

test('a failure is reported with its reason, truncated to what the service accepts', async () => {
  const service = await scripted(json(200, { id: 'r-1' }), json(409, conflict))
  const device = service.device()
  expect(await device.reportFailure('r-1', `  ${'x'.repeat(3000)}`)).toBe(true)
  expect(JSON.parse(service.requests[0]!.body)).toEqual({ reason: 'x'.repeat(2000) })
  expect(await device.reportFailure('r-1', 'late')).toBe(false)
})

test('a failure is reported whatever characters its reason contains, without splitting any', async () => {
  const service = await scripted(json(200, { id: 'r-1' }), json(200, { id: 'r-1' }))
  const device = service.device()
  await device.reportFailure('r-1', `no file \0\udcff.csv 😀`)
  await device.reportFailure('r-1', `${'x'.repeat(1999)}😀`)
  expect(service.requests.map(({ body }) => JSON.parse(Buffer.from(body, 'latin1').toString()))).toEqual([
    { reason: 'no file \ufffd\ufffd.csv 😀' },
    { reason: 'x'.repeat(1999) },
  ])
})

const wirePlan = {
  round_id: 'r-1',
  round_number: 4,
  strategy: 'fedavg',
  hyperparameters: { local_epochs: 2 },
  timeout_at: '2026-01-01T00:05:00.000Z',
  model: { model_id: 'm', version: 1, format: 'pytorch', model_size_bytes: 7, model_hash: `sha256:${sha256}` },
}

const read = {
  roundId: 'r-1',
  roundNumber: 4,
  strategy: 'fedavg',
  hyperparameters: { local_epochs: 2 },
  timeoutAt: Date.parse('2026-01-01T00:05:00Z'),
  model: { format: 'pytorch', sizeBytes: 7, sha256 },
  jobId: null,
  control: null,
  raw: wirePlan,
}

test('a plan is parsed', async () => {
  const ofJob = { ...wirePlan, job_id: 'j', rounds_completed: 3 }
  const service = await scripted(json(200, wirePlan), json(200, ofJob), json(200, { ...wirePlan, model: null }))
  expect(await service.device().plan('r-1')).toEqual(read)
  expect(await service.device().plan('r-1')).toEqual({ ...read, jobId: 'j', roundsCompleted: 3, raw: ofJob })
  expect(await service.device().plan('r-1')).toMatchObject({ roundId: 'r-1', model: null })
})

test.each([
  ['ten minutes slow', '2025-12-31T23:50:00Z', '2025-12-31T23:50:00Z', -600_000],
  ['ten minutes fast', '2026-01-01T00:10:00Z', '2026-01-01T00:10:00Z', 600_000],
  ['right', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 0],
  ['perhaps right: the answer was held for 20 s', '2025-12-31T23:59:50Z', '2026-01-01T00:00:10Z', 0],
  ['slow, with an answer that was held for 20 s', '2025-12-31T23:50:00Z', '2025-12-31T23:50:20Z', -580_000],
])('the deadline is converted to the clock of a device that is %s', async (_, sent, received, shift) => {
  const service = await scripted(json(200, beat), json(200, wirePlan))
  const times = [sent, sent, sent].map(Date.parse)
  const device = service.device({ now: () => times.shift() ?? Date.parse(received) })
  await device.heartbeat()
  expect((await device.plan('r-1')).timeoutAt - read.timeoutAt).toBe(shift)
})

test.each([
  [{ timeout_at: 'soon' }, 'The service sent a plan whose timeout_at is not a timestamp.'],
  [
    { model: { ...wirePlan.model, model_hash: 'md5:x' } },
    'The service sent a plan whose model_hash is not sha256:<hex>.',
  ],
])('an invalid plan is refused: %j', async (changes, message) => {
  const service = await scripted(json(200, { ...wirePlan, ...changes }))
  await expect(service.device().plan('r-1')).rejects.toThrow(message)
})

test('a different server at that address is detected', async () => {
  const page: Handler = (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
  const service = await scripted(page, json(200, {}))
  await expect(service.device().register({ until: 0 })).rejects.toThrow(
    `${service.baseUrl} did not respond with JSON: it is not the service. Is the address right?`,
  )
  await expect(service.device().register({ until: 0 })).rejects.toThrow(
    `${service.baseUrl} responded to the registration without 'api_key': it is not the service.`,
  )
})

test('a warning of the service is logged only once', async () => {
  const warning = { 'x-service-warning': 'metrics.x is out of range and was recorded as null' }
  const { device } = await scripted(json(200, beat, warning), json(200, beat, warning), json(200, beat))
  const logged: string[] = []
  const warned = device({ log: (message) => logged.push(message) })
  for (let i = 0; i < 3; i++) await warned.heartbeat()
  expect(logged).toEqual(['The service warns: metrics.x is out of range and was recorded as null'])
})

test('a device id that a path cannot contain is refused without requests and retries', async () => {
  const { device, seen, waits } = await scripted()
  await expect(device({ deviceId: '..' }).heartbeat()).rejects.toThrow("device_id must be a name or an id, not '..'.")
  expect([seen, waits]).toEqual([[], []])
})
