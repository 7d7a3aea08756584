import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import type { Assignment } from './assignment.ts'
import type { DeviceOptions } from './device.ts'
import { createDevice } from './device-client.ts'
import { memorySink } from './download.ts'

/** A device, and a service on a real socket with these responses in order; `asked` and `closed` resolve for the last one. */
const deviceOf = async (options: Partial<DeviceOptions>, ...responses: RequestListener[]) => {
  let isAsked = (): void => undefined
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  let isClosed = (): void => undefined
  const closed = new Promise<void>((resolve) => {
    isClosed = resolve
  })
  const server = createServer((request, response) => {
    responses.shift()?.(request, response)
    if (responses.length > 0) return
    response.once('close', isClosed)
    isAsked()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { device: createDevice({ baseUrl, deviceId: 'edge-1', apiKey: 'k', ...options }), asked, closed }
}

/** Collects garbage several times: what a callback references is only freed after it has run. */
const collectGarbage = async (): Promise<void> => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let times = 0; times < 5; times++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    collect()
  }
}

const assignment: Assignment = {
  planId: 'p-1',
  kind: 'rollout',
  modelId: 'm-1',
  modelName: 'scorer',
  version: '2.0.0',
  versionNumber: 2,
  format: 'safetensors',
  file: { sizeBytes: 100, sha256: 'a'.repeat(64) },
  activate: true,
  variant: null,
}

const stalling =
  (type: string, text: string): RequestListener =>
  (_, response) => {
    response.writeHead(200, { 'content-type': type, 'content-length': 100 })
    response.write(text)
  }

const file = stalling('application/octet-stream', 'bytes')

const elsewhere: RequestListener = (request, response) =>
  response.writeHead(307, { location: `http://${request.headers.host}/elsewhere` }).end()

test('a download or any other response that stalls ends when aborted, even after garbage was collected', async () => {
  const downloading = async (directDownloads: boolean, ...responses: RequestListener[]) => {
    const { device, closed } = await deviceOf({ directDownloads }, ...responses)
    const sink = memorySink()
    const stop = new AbortController()
    const download = device.downloadVersion(assignment, sink, { signal: stop.signal })
    const outcome = download.catch((error: Error) => error.message)
    await expect.poll(sink.received).toBe(5)
    return { stop, outcome, closed }
  }
  const asking = async () => {
    const { device, asked, closed } = await deviceOf({}, stalling('application/json', '{'))
    const stop = new AbortController()
    const outcome = device.assignments({ signal: stop.signal }).catch((error: Error) => error.message)
    await asked
    return { stop, outcome, closed }
  }
  const stalled = await Promise.all([
    downloading(false, file),
    // From the service, although it could have named another place.
    downloading(true, file),
    downloading(true, elsewhere, file),
    asking(),
  ])
  await collectGarbage()
  for (const { stop, outcome, closed } of stalled) {
    stop.abort(new Error('not wanted any more'))
    expect(await outcome).toBe('not wanted any more')
    await closed
  }
})
