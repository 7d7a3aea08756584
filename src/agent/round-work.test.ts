import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { emptyFolder } from '../../test/databases.ts'
import { boundOrganizations } from '../../test/organizations.ts'
import { formOf, type TestDevice, type World } from '../../test/world.ts'
import { unwrap } from '../client/client.ts'
import { createDevice } from '../sdk/device-client.ts'
import { initialModel } from '../sdk/trainers/dense-network.ts'
import { encodeModel } from '../sdk/trainers/weights-codec.ts'
import type { AgentTrainer } from './agent-trainer.ts'
import { workOnRound } from './round-work.ts'

const model = encodeModel(initialModel({ features: 100, hidden: [50], classes: 10, seed: 1 }), new Map())

const openOrganization = boundOrganizations()

let world: World
let owner: TestDevice
let roundId: string
let roundsFolder: string
beforeEach(async () => {
  const organization = await openOrganization()
  const { key } = organization
  world = organization.world
  owner = await world.register('edge-1')
  const client = world.client(key)
  const { id } = await unwrap(client.POST('/api/v1/models', { body: { framework: 'pytorch' } }))
  const path = `/api/v1/models/${id}/versions/upload`
  const uploaded = await world.request('POST', path, { key, body: formOf(model) })
  expect(uploaded.status).toBe(201)
  const body = { target_devices: 1, min_devices: 1, global_model_id: id }
  roundId = (await unwrap(client.POST('/api/v1/training/rounds/start', { body }))).id
  roundsFolder = join(await emptyFolder(), 'rounds')
  await mkdir(roundsFolder)
})

/** Returns the model unchanged. */
const echo: AgentTrainer = {
  train: async ({ globalWeights, folder }) => {
    const weights = join(folder, 'update.safetensors')
    await writeFile(weights, await readFile(globalWeights!))
    return { weights, report: { numSamples: 3 }, globalModel: null }
  },
}

const neverAgain: AgentTrainer = {
  train: async () => {
    throw new Error('was trained again')
  },
}

/** Works on the round over a network that may interfere with requests. */
const work = (trainer: AgentTrainer, network: typeof fetch = fetch, signal = new AbortController().signal) =>
  workOnRound(roundId, {
    device: createDevice({
      baseUrl: world.baseUrl,
      deviceId: owner.deviceId,
      apiKey: owner.key,
      fetch: network,
      now: () => world.now().getTime(),
      sleep: async () => undefined,
    }),
    trainer,
    roundsFolder,
    signal,
    now: () => world.now().getTime(),
    log: () => undefined,
  })

const explain = async () =>
  (await world.request('GET', `/api/v1/training/rounds/${roundId}/selection`, { key: owner.key })).body

test('a finished round leaves nothing behind, and files of earlier rounds are deleted', async () => {
  await mkdir(join(roundsFolder, 'an-earlier-round'))
  expect(await work(echo)).toEqual({ roundNumber: 1, report: { numSamples: 3 }, globalModel: null })
  expect(await explain()).toMatchObject({ state: 'delivered' })
  expect(await readdir(roundsFolder)).toEqual([])
})

test('a model that an earlier run downloaded in part is resumed', async () => {
  await mkdir(join(roundsFolder, roundId))
  await writeFile(join(roundsFolder, roundId, 'global.partial'), model.subarray(0, 10_000))
  const ranges: (string | null)[] = []
  await work(echo, (input, init) => {
    const request = input as Request
    if (request.url.endsWith('/model')) ranges.push(request.headers.get('range'))
    return fetch(request, init)
  })
  expect(ranges).toEqual(['bytes=10000-'])
  expect(await explain()).toMatchObject({ state: 'delivered' })
})

test('a model that an earlier run downloaded completely is not downloaded again', async () => {
  await mkdir(join(roundsFolder, roundId))
  await writeFile(join(roundsFolder, roundId, 'global.safetensors'), model)
  const paths: string[] = []
  await work(echo, (input, init) => {
    paths.push(new URL((input as Request).url).pathname.split('/').at(-1)!)
    return fetch(input, init)
  })
  expect(paths).toEqual(['plan', 'updates'])
})

test('training that could not be submitted is kept, and submitted by the next try without training again', async () => {
  const cutUploads: typeof fetch = async (input, init) => {
    if ((input as Request).url.endsWith('/updates')) throw new TypeError('fetch failed')
    return fetch(input, init)
  }
  await expect(work(echo, cutUploads)).rejects.toThrow('No response from')
  expect(await readdir(roundsFolder)).toEqual([roundId])
  expect(await explain()).toMatchObject({ state: 'selected' })
  expect((await work(neverAgain)).report).toEqual({ numSamples: 3 })
  expect(await explain()).toMatchObject({ state: 'delivered' })
  expect(await readdir(roundsFolder)).toEqual([])
})

test('an update that was accepted is done even if its response was lost', async () => {
  const loseResponses: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    if ((input as Request).url.endsWith('/updates') && response.status === 201) throw new TypeError('fetch failed')
    return response
  }
  expect((await work(echo, loseResponses)).report).toEqual({ numSamples: 3 })
  expect(await explain()).toMatchObject({ state: 'delivered' })
})

test('an update whose response was lost is done even if the round is over and has no plan for devices any more', async () => {
  const loseResponses: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (/\/(updates|selection)$/.test((input as Request).url)) throw new TypeError('fetch failed')
    return response
  }
  await expect(work(echo, loseResponses)).rejects.toThrow('No response from')
  const over = { error: 'conflict', message: 'The round is completed.', status_code: 409 }
  const refusePlan: typeof fetch = async (input, init) =>
    (input as Request).url.endsWith('/plan') ? Response.json(over, { status: 409 }) : fetch(input, init)
  expect(await work(neverAgain, refusePlan)).toMatchObject({ roundNumber: 1, report: { numSamples: 3 } })
  expect(await readdir(roundsFolder)).toEqual([])
  await expect(work(neverAgain, refusePlan)).rejects.toThrow('The round is completed.')
})

test('training that an agent finished is submitted even if its folder was moved', async () => {
  const cutUploads: typeof fetch = async (input, init) => {
    if ((input as Request).url.endsWith('/updates')) throw new TypeError('fetch failed')
    return fetch(input, init)
  }
  await expect(work(echo, cutUploads)).rejects.toThrow('No response from')
  const moved = join(roundsFolder, '..', 'moved')
  await rename(roundsFolder, moved)
  roundsFolder = moved
  expect((await work(neverAgain)).report).toEqual({ numSamples: 3 })
})

test('training whose files are gone is repeated', async () => {
  await mkdir(join(roundsFolder, roundId))
  const finished = { weights: 'update.safetensors', report: { numSamples: 7 }, globalModel: null }
  await writeFile(join(roundsFolder, roundId, 'finished.json'), JSON.stringify(finished))
  expect((await work(echo)).report).toEqual({ numSamples: 3 })
})

test('an update whose key is refused is kept for the next try', async () => {
  const refused = { error: 'unauthorized', message: 'This key is not known.', status_code: 401 }
  const refusing: typeof fetch = async (input, init) =>
    (input as Request).url.endsWith('/updates') ? Response.json(refused, { status: 401 }) : fetch(input, init)
  await expect(work(echo, refusing)).rejects.toMatchObject({ status: 401 })
  expect(await explain()).toMatchObject({ state: 'selected' })
  expect((await work(neverAgain)).report).toEqual({ numSamples: 3 })
})

test.runIf(process.platform === 'linux')('a full disk is reported to the service in words', async () => {
  await mkdir(join(roundsFolder, roundId))
  // Every write to it fails for lack of space.
  await symlink('/dev/full', join(roundsFolder, roundId, 'global.partial'))
  await expect(work(echo)).rejects.toMatchObject({ code: 'ENOSPC' })
  const reason = "The disk is full: the round's files could not be written."
  expect(await explain()).toMatchObject({ state: 'failed', reason })
})

test("a round whose folder cannot be created is reported as failed, without this device's paths", async () => {
  await rm(roundsFolder, { recursive: true })
  await writeFile(roundsFolder, 'not a folder')
  await expect(work(echo)).rejects.toMatchObject({ code: 'ENOTDIR' })
  const reason = "The disk reported 'ENOTDIR: not a directory': the round's files could not be written."
  expect(await explain()).toMatchObject({ state: 'failed', reason })
})

test("a trainer's failure is reported to the service", async () => {
  await expect(work(neverAgain)).rejects.toThrow('was trained again')
  expect(await explain()).toMatchObject({ state: 'failed', reason: 'was trained again' })
  expect(await readdir(roundsFolder)).toEqual([])
})

test("an update that does not fit the model is reported as a failure with the service's message", async () => {
  const misfit: AgentTrainer = {
    train: async ({ folder }) => {
      const weights = join(folder, 'update.bin')
      await writeFile(weights, new Uint8Array(8))
      return { weights, report: { numSamples: 3 }, globalModel: null }
    },
  }
  const error: unknown = await work(misfit).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ status: 400, code: 'bad_request' })
  expect(await explain()).toMatchObject({ state: 'failed', reason: (error as Error).message })
})

test('a round that is over is abandoned without a report', async () => {
  await world.advance(301)
  await expect(work(echo)).rejects.toMatchObject({ status: 409 })
  expect(await readdir(roundsFolder)).toEqual([])
})

test('an abort is reported to the service with its reason', async () => {
  const stop = new AbortController()
  const trainer: AgentTrainer = {
    train: async ({ signal }) => {
      stop.abort(new Error('The agent was stopped (SIGTERM).'))
      signal.throwIfAborted()
      throw new Error('went on')
    },
  }
  await expect(work(trainer, fetch, stop.signal)).rejects.toThrow('The agent was stopped (SIGTERM).')
  expect(await explain()).toMatchObject({ state: 'failed', reason: 'The agent was stopped (SIGTERM).' })
})
