import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startWorld } from '../../test/world.ts'
import { type Assignment, assignmentOf, sameContent } from './assignment.ts'
import { createDevice } from './device-client.ts'
import { memorySink } from './download.ts'

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** A service on a real socket that gives these responses in order, and a device that uses it without real waits. */
const scripted = async (...responses: Handler[]) => {
  const requests: { line: string; headers: IncomingMessage['headers']; body: string }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      requests.push({ line: `${request.method} ${request.url}`, headers: request.headers, body })
      const answer = responses.shift()
      if (answer) answer(request, response, body)
      else response.writeHead(400).end('{"error":"bad_request","message":"no more answers","status_code":400}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const waits: number[] = []
  const device = createDevice({
    baseUrl,
    deviceId: 'edge 1',
    apiKey: 'k',
    random: () => 0,
    sleep: async (milliseconds) => {
      waits.push(milliseconds)
    },
  })
  return { device, requests, waits }
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Handler =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

const CONTENT = Buffer.from('the weights of a small model')
const SHA256 = createHash('sha256').update(CONTENT).digest('hex')

const wire = {
  plan_id: 'p-1',
  kind: 'rollout',
  model_id: 'm-1',
  model_name: 'scorer',
  version: '2.0.0',
  version_number: 2,
  format: 'safetensors',
  model_size_bytes: CONTENT.length,
  model_hash: `sha256:${SHA256}`,
  download_path: '/api/v1/models/m-1/versions/2/download',
  activate: true,
} as const

const assignment: Assignment = {
  planId: 'p-1',
  kind: 'rollout',
  modelId: 'm-1',
  modelName: 'scorer',
  version: '2.0.0',
  versionNumber: 2,
  format: 'safetensors',
  file: { sizeBytes: CONTENT.length, sha256: SHA256 },
  activate: true,
  variant: null,
}

const beat = { status: 'active', last_heartbeat: '2026-01-01T00:00:00Z', message: 'ok' }

test('a heartbeat sends the tag of the known assignments, and receives only changes', async () => {
  const { device, requests } = await scripted(
    json(200, { ...beat, assignments: [wire], assignments_tag: 'a1' }),
    json(200, { ...beat, assignments_tag: 'a1' }),
    json(200, { ...beat, assignments_tag: 'none' }),
    json(200, beat),
  )
  const reported = async (knownAssignments: string) => {
    const { assignments, assignmentsTag } = await device.heartbeat(undefined, { knownAssignments })
    return [assignments, assignmentsTag]
  }
  expect([await reported(''), await reported('a1'), await reported('a1'), await reported('a1')]).toEqual([
    [[assignment], 'a1'],
    [null, 'a1'],
    [[], 'none'],
    // A service without assignment support does not revoke assignments either.
    [null, 'a1'],
  ])
  expect(requests.map(({ line }) => line.split('?')[1])).toEqual([
    'wait_seconds=0&known_assignments=',
    'wait_seconds=0&known_assignments=a1',
    'wait_seconds=0&known_assignments=a1',
    'wait_seconds=0&known_assignments=a1',
  ])
})

test('assignments are requested with the ETag of the last response, and 304 returns the same ones', async () => {
  const list = { device_id: 'edge 1', assignments: [wire] }
  const { device, requests } = await scripted(
    json(200, list, { etag: '"a1"' }),
    (_, response) => response.writeHead(304, { etag: '"a1"' }).end(),
    json(200, { ...list, assignments: [] }, { etag: '"none"' }),
  )
  expect([await device.assignments(), await device.assignments(), await device.assignments()]).toEqual([
    [assignment],
    [assignment],
    [],
  ])
  expect(requests.map(({ line, headers }) => [line, headers['if-none-match']])).toEqual([
    ['GET /api/v1/devices/edge%201/assignments', undefined],
    ['GET /api/v1/devices/edge%201/assignments', '"a1"'],
    ['GET /api/v1/devices/edge%201/assignments', '"a1"'],
  ])
})

test('the real service returns the same assignments, and receives the report', async () => {
  const world = await startWorld()
  const { key } = await world.register('edge-1')
  const post = (path: string, body: unknown) => world.request('POST', `/api/v1${path}`, { key, body })
  const model = (await post('/models', { name: 'scorer' })).body as { id: string }
  const form = new FormData()
  form.set('file', new Blob([CONTENT]), 'scorer.safetensors')
  await post('/models/scorer/versions/upload', form)
  const rollout = (await post('/models/scorer/rollouts', { version: '1', rollout_percentage: 100 })).body
  const planId = (rollout as { rollout_id: string }).rollout_id
  const device = createDevice({ baseUrl: world.baseUrl, deviceId: 'edge-1', apiKey: key })
  const [given] = await device.assignments()
  expect(given).toEqual({
    ...assignment,
    planId,
    modelId: model.id,
    version: '1.0.0',
    versionNumber: 1,
    format: 'pytorch',
  })
  expect(await device.assignments()).toEqual([given])
  expect((await device.heartbeat(undefined, { knownAssignments: '' })).assignments).toEqual([given])
  const sink = memorySink()
  const steps: string[] = []
  await device.downloadVersion(given!, sink, {
    onProgress: (received) => steps.push(String(received)),
    onVerify: () => steps.push('verify'),
  })
  expect([Buffer.from(sink.bytes()).toString(), steps.at(-2), steps.at(-1)]).toEqual([
    CONTENT.toString(),
    String(CONTENT.length),
    'verify',
  ])
  const report = { state: 'active', version: '1.0.0', metrics: { accuracy: 0.9 } } as const
  expect(await device.reportAssignment(planId, report)).toEqual({ current: true })
  expect(await device.reportAssignment(planId, { ...report, version: '7' })).toEqual({ current: false })
})

test('a report contains only the given fields, limited to what the service accepts', async () => {
  const { device, requests } = await scripted(json(200, { current: true }), json(200, { current: false }))
  const reason = `  ${'x'.repeat(3000)}`
  await device.reportAssignment('p-1', { state: 'failed', version: '2.0.0', reason })
  await device.reportAssignment('p-1', { state: 'active', version: '2.0.0', reason: '', metrics: { loss: 0.5 } })
  expect(requests.map(({ line, body }) => [line, JSON.parse(body)])).toEqual([
    [
      'POST /api/v1/devices/edge%201/assignments/p-1/report',
      { state: 'failed', version: '2.0.0', reason: 'x'.repeat(2000) },
    ],
    [
      'POST /api/v1/devices/edge%201/assignments/p-1/report',
      { state: 'active', version: '2.0.0', metrics: { loss: 0.5 } },
    ],
  ])
})

test('an interrupted download resumes where it stopped, as long as the file is the same', async () => {
  const cutAfter =
    (bytes: number): Handler =>
    (_, response) => {
      response.writeHead(200, { 'content-length': CONTENT.length, etag: `"${SHA256}"` })
      response.write(CONTENT.subarray(0, bytes), () => setTimeout(() => response.destroy(), 20))
    }
  const rest: Handler = (request, response) => {
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1])
    const range = `bytes ${from}-${CONTENT.length - 1}/${CONTENT.length}`
    response.writeHead(206, { 'content-range': range, 'content-length': CONTENT.length - from })
    response.end(CONTENT.subarray(from))
  }
  const { device, requests } = await scripted(cutAfter(10), rest)
  const sink = memorySink()
  await device.downloadVersion(assignment, sink)
  expect(Buffer.from(sink.bytes()).toString()).toBe(CONTENT.toString())
  expect(requests.map(({ line, headers }) => [line, headers.range, headers['if-range']])).toEqual([
    ['GET /api/v1/models/m-1/versions/2/download', undefined, undefined],
    ['GET /api/v1/models/m-1/versions/2/download', 'bytes=10-', `"${SHA256}"`],
  ])
})

test('a complete file with wrong bytes is requested three times, with waits, before giving up', async () => {
  const wrong: Handler = (_, response) => response.writeHead(200).end(Buffer.alloc(CONTENT.length))
  const { device, requests, waits } = await scripted(wrong, wrong, wrong)
  const sink = memorySink()
  await expect(device.downloadVersion(assignment, sink)).rejects.toMatchObject({
    name: 'DamagedDownload',
    message: expect.stringMatching(
      /^The file arrived with sha256 \w{64} instead of \w{64}\. Attempt 3, the last one, failed\.$/,
    ),
  })
  expect([requests.length, waits.length, sink.received()]).toEqual([3, 2, 0])
})

test.each([
  [{ plan_id: '../../etc' }, 'The service sent an assignment whose plan_id is not a valid id.'],
  [{ model_id: 'a/b' }, 'The service sent an assignment whose model_id is not a valid id.'],
  [{ model_hash: 'md5:x' }, 'The service sent an assignment with a file, but without its id, number, size, or sha256.'],
])('an invalid assignment is refused: %j', (changes, message) => {
  expect(() => assignmentOf({ ...wire, ...changes })).toThrow(message)
})

test('an assignment without a file cannot be downloaded', async () => {
  const { device } = await scripted()
  const named = { ...assignment, modelId: null, modelName: 'hf:org/tiny', versionNumber: null, file: null }
  await expect(device.downloadVersion(named, memorySink())).rejects.toThrow(
    "There is no file to download for 'hf:org/tiny': its name must be resolved elsewhere.",
  )
})

test('content is the same if the bytes are, or without files if the version is', () => {
  const other = { ...assignment, version: '3.0.0' }
  const named = { version: 'main', file: null }
  expect([
    sameContent(assignment, other),
    sameContent(assignment, { ...other, file: { sizeBytes: 1, sha256: 'f'.repeat(64) } }),
    sameContent(named, { version: 'main', file: null }),
    sameContent(named, { version: 'v2', file: null }),
    sameContent(assignment, named),
    sameContent(null, null),
    sameContent(assignment, null),
  ]).toEqual([true, false, true, false, false, true, false])
})
