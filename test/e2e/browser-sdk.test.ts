import { readdirSync } from 'node:fs'
import type { Page, Request } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { unwrap } from '../../src/client/client.ts'
import type { Device } from '../../src/sdk/device.ts'
import { createDevice } from '../../src/sdk/device-client.ts'
import { takePart } from '../../src/sdk/take-part.ts'
import { trainLocally } from '../../src/sdk/trainers/built-in.ts'
import { initialModel, type NamedTensor } from '../../src/sdk/trainers/dense-network.ts'
import { syntheticDevices } from '../../src/sdk/trainers/synthetic.ts'
import { decodeModel, encodeModel } from '../../src/sdk/trainers/weights-codec.ts'
import { formOf, startWorld, type World } from '../world.ts'
import { hasBrowser, openTab, type Tab } from './browser.ts'
import { bundleForBrowsers, servePage } from './browser-bundle.ts'
import { DATA } from './browser-device.ts'
import { until } from './service-process.ts'

declare global {
  var tributary: typeof import('./browser-device.ts')
}

const SDK = 'src/sdk'
const beginning = encodeModel(initialModel({ features: 5, hidden: [4], classes: 3, seed: 3 }), new Map())
const rows = syntheticDevices(DATA)
const hyperparameters = { local_epochs: 3, learning_rate: 0.05 }

let script = ''
beforeAll(async () => {
  script = (await bundleForBrowsers(['./test/e2e/browser-device.ts'], 'tributary')).code
})

/** Opens a page that the service allows by CORS. */
const openPage = async (): Promise<Tab & { readonly world: World }> => {
  const origin = await servePage(script)
  const world = await startWorld({ config: { corsOrigins: [origin] } })
  const tab = await openTab()
  await tab.page.goto(origin)
  return { ...tab, world }
}

/** Two devices in this process, registered and on the service's clock. */
const nodeDevices = (world: World) =>
  Promise.all(
    [1, 2].map(async (index) => {
      const now = () => world.now().getTime()
      const device = createDevice({ baseUrl: world.baseUrl, deviceId: `node-${index}`, now })
      const { apiKey } = await device.register()
      return { device, apiKey, index }
    }),
  )

const startRound = async (world: World, key: string, fields: object) => {
  const client = world.client(key)
  const { id: model_id } = await unwrap(client.POST('/api/v1/models', { body: {} }))
  const path = `/api/v1/models/${model_id}/versions/upload`
  expect((await world.request('POST', path, { key, body: formOf(beginning) })).status).toBe(201)
  const body = { target_devices: 3, min_devices: 3, global_model_id: model_id, hyperparameters, ...fields }
  return unwrap(client.POST('/api/v1/training/rounds/start', { body }))
}

/** Opens a page registered as the device `tab`, with a waiting heartbeat that returns a round for it and two devices here. */
const joinRound = async (fields: object = {}) => {
  const opened = await openPage()
  const { world, page } = opened
  const requests = requestsOf(page, world.baseUrl)
  const id = await page.evaluate((baseUrl) => tributary.register(baseUrl, 'tab'), world.baseUrl)
  const others = await nodeDevices(world)
  const key = others[0]!.apiKey
  const heartbeatSent = page.waitForRequest(/wait_seconds=50$/)
  const awaited = page.evaluate(() => tributary.awaitRound())
  await heartbeatSent
  const round = await startRound(world, key, fields)
  expect(await awaited).toBe(round.id)
  return { ...opened, id, others, key, roundId: round.id, requests }
}

const workInNode = (device: Device, roundId: string, index: number) =>
  takePart(device, roundId, (global, plan, signal) =>
    trainLocally(global, rows[index]!, plan, { deviceId: device.deviceId, signal }),
  )

/** Records the method and path of every request to the service, in order. */
const requestsOf = (page: Page, baseUrl: string): string[] => {
  const seen: string[] = []
  page.on('request', (request: Request) => {
    if (request.url().startsWith(baseUrl)) seen.push(`${request.method()} ${request.url().slice(baseUrl.length)}`)
  })
  return seen
}

const valuesOf = (file: Uint8Array): Record<string, number[]> =>
  Object.fromEntries(decodeModel(file).tensors.map(({ name, data }: NamedTensor) => [name, [...data]]))

/** The sample-weighted mean, computed naively. */
const meanOf = (updates: readonly { weights: Uint8Array; samples: number }[]): Record<string, unknown[]> => {
  const total = updates.reduce((sum, { samples }) => sum + samples, 0)
  const files = updates.map(({ weights, samples }) => ({ values: valuesOf(weights), share: samples / total }))
  return Object.fromEntries(
    Object.entries(files[0]!.values).map(([name, first]) => [
      name,
      first.map((_, at) =>
        expect.closeTo(
          files.reduce((sum, { values, share }) => sum + share * values[name]![at]!, 0),
          5,
        ),
      ),
    ]),
  )
}

it('the whole SDK bundles for browsers, without Node modules or remaining imports', async () => {
  const files = readdirSync(SDK, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => `./${SDK}/${name}`)
  const { inputs, imports } = await bundleForBrowsers(files, 'sdk')
  expect(imports).toEqual([])
  expect(inputs).toEqual(expect.arrayContaining([`${SDK}/device-client.ts`, `${SDK}/trainers/built-in.ts`]))
  const packages = inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
  const known = ['openapi-fetch', 'fflate', '@noble/ciphers', '@noble/curves', '@noble/hashes', 'shamir-secret-sharing']
  expect([...new Set(packages)].sort()).toEqual(known.sort())
})

describe.skipIf(!hasBrowser())('in a browser', () => {
  it('a page takes part in a round with two devices in Node, and its training counts equally', async () => {
    const { world, page, problems, id, others, key, roundId, requests } = await joinRound()
    const { body: registered } = await world.request('GET', '/api/v1/devices/tab', { key })
    expect(registered).toMatchObject({ id, device_id: 'tab', platform: 'browser', status: 'active' })

    const [inPage, ...inNode] = await Promise.all([
      page.evaluate((round) => tributary.work(round, 0), roundId),
      ...others.map(({ device, index }) => workInNode(device, roundId, index)),
    ])
    expect(inPage.submission).toEqual({ updateId: expect.any(String), alreadyKept: false })
    expect(requests).toEqual([
      'POST /api/v1/devices/register',
      'PUT /api/v1/devices/tab/heartbeat?wait_seconds=50',
      `GET /api/v1/training/rounds/${roundId}/plan`,
      `GET /api/v1/training/rounds/${roundId}/model`,
      `POST /api/v1/training/rounds/${roundId}/updates`,
    ])

    const updates = [
      { weights: Uint8Array.from(inPage.weights), samples: inPage.report.numSamples },
      ...inNode.map(({ weights, report }) => ({ weights, samples: report.numSamples })),
    ]
    const done = await until(
      async () => {
        await world.service.runDueTasks()
        return (await world.request('GET', `/api/v1/training/rounds/${roundId}/status`, { key })).body
      },
      (body) => !['active', 'aggregating'].includes((body as { status: string }).status),
    )
    expect(done).toMatchObject({
      status: 'completed',
      participated_devices: 3,
      completed_devices: 3,
      failed_devices: 0,
      failure_reason: null,
    })
    const model = (done as { aggregated_model_id: string }).aggregated_model_id
    const file = await fetch(`${world.baseUrl}/api/v1/models/${model}/versions/1/download`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const aggregate = valuesOf(new Uint8Array(await file.arrayBuffer()))
    expect(aggregate).toEqual(meanOf(updates))
    expect(aggregate).not.toEqual(valuesOf(beginning))
    expect(problems).toEqual([])
  })

  it('a page takes part in a round in which the service learns only the sum of the updates', async () => {
    const { world, page, problems, others, key, roundId } = await joinRound({ secure_aggregation: {} })
    const [inPage, ...inNode] = await Promise.all([
      page.evaluate((round) => tributary.work(round, 0), roundId),
      ...others.map(({ device, index }) => workInNode(device, roundId, index)),
    ])
    const done = await until(
      async () => {
        await world.service.runDueTasks()
        return (await world.request('GET', `/api/v1/training/rounds/${roundId}/status`, { key })).body
      },
      (body) => !['active', 'aggregating'].includes((body as { status: string }).status),
    )
    expect(done).toMatchObject({ status: 'completed', completed_devices: 3 })
    const model = (done as { aggregated_model_id: string }).aggregated_model_id
    const file = await fetch(`${world.baseUrl}/api/v1/models/${model}/versions/1/download`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const updates = [Uint8Array.from(inPage.weights), ...inNode.map(({ weights }) => weights)]
    const aggregate = valuesOf(new Uint8Array(await file.arrayBuffer()))
    expect(aggregate).toEqual(meanOf(updates.map((weights) => ({ weights, samples: 1 }))))
    expect(problems).toEqual([])
  })

  it('a page trains to the same numbers as Node on the same rows', async () => {
    const { page, roundId } = await joinRound()
    const { weights, report, globalModel } = await page.evaluate((round) => tributary.work(round, 0), roundId)
    const local = { roundId, hyperparameters }
    const expected = await trainLocally(beginning, rows[0]!, local, { deviceId: 'tab' })
    const near = (value: number | undefined) => expect.closeTo(value!, 6)
    expect(valuesOf(Uint8Array.from(weights))).toEqual(meanOf([{ weights: expected.weights, samples: 1 }]))
    expect(valuesOf(Uint8Array.from(weights))).not.toEqual(valuesOf(beginning))
    expect({ report, globalModel }).toEqual({
      report: {
        numSamples: rows[0]!.train.labels.length,
        localLoss: near(expected.report.localLoss),
        localAccuracy: near(expected.report.localAccuracy),
        trainingTimeSeconds: expect.any(Number),
        evaluation: {
          numSamples: expected.globalModel!.count,
          metrics: { loss: near(expected.globalModel?.loss), accuracy: near(expected.globalModel?.accuracy) },
        },
      },
      globalModel: { ...expected.globalModel, loss: near(expected.globalModel?.loss) },
    })
  })

  it('a page resumes an interrupted download where it stopped', async () => {
    const { page, problems, roundId } = await joinRound()
    const rest = page.waitForResponse((response) => response.request().headers().range !== undefined)
    const whole = await page.evaluate((round) => tributary.resumeDownload(round, 100), roundId)
    expect(Buffer.from(whole).equals(beginning)).toBe(true)
    expect([(await rest).status(), (await rest).headers()['content-range']]).toEqual([
      206,
      `bytes 100-${beginning.length - 1}/${beginning.length}`,
    ])
    expect(problems).toEqual([])
  })

  it("a page gets the service's reason for a refusal", async () => {
    const { world, page } = await openPage()
    await world.register('stranger')
    expect(await page.evaluate((baseUrl) => tributary.refusal(baseUrl), world.baseUrl)).toEqual({
      name: 'ApiError',
      status: 401,
      code: 'unauthorized',
      message: 'This API key is not valid: it is unknown, expired, or revoked. Check it, or create a new key.',
      retryAfterSeconds: null,
      retryAfterMs: null,
    })
  })
})
