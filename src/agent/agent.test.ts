import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { formOf, startWorld, type World } from '../../test/world.ts'
import { unwrap } from '../client/client.ts'
import { initialModel } from '../sdk/trainers/dense-network.ts'
import { encodeModel } from '../sdk/trainers/weights-codec.ts'
import { type AgentOptions, runAgent } from './agent.ts'
import { type Identity, openAgentState } from './agent-state.ts'
import type { AgentTrainer } from './agent-trainer.ts'
import { builtInTrainer } from './built-in-trainer.ts'
import { commandTrainer } from './command-trainer.ts'
import { readCsv } from './csv.ts'
import { eventually } from './delivery/delivery.fixture.ts'
import { startProxy } from './delivery/proxy.fixture.ts'
import type { RoundResult } from './round-work.ts'

const emptyFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

/** 40 rows in the plane: one class is left of a gap, the other right of it. */
const csvTrainer = async (folder: string): Promise<AgentOptions['trainer']> => {
  const path = join(folder, 'data.csv')
  const rows = Array.from({ length: 40 }, (_, row) => {
    const side = row % 2 === 0 ? 'left' : 'right'
    return `${(side === 'left' ? -1 : 1) * (1 + (row % 7) / 7)},${(row % 5) / 5},${side}`
  })
  await writeFile(path, `x,y2,label\n${rows.join('\n')}\n`)
  const table = await readCsv(path)
  return (deviceId) => builtInTrainer({ table, deviceId })
}

interface Running {
  readonly stateDir: string
  readonly ended: Promise<void>
  readonly results: RoundResult[]
  readonly lines: string[]
  stop(): void
  identity(): Promise<Identity>
}

/** Starts an agent without waiting. It is stopped when the test ends. */
const startAgent = async (
  world: World,
  options: Partial<AgentOptions> & Pick<AgentOptions, 'trainer'>,
): Promise<Running> => {
  const stateDir = options.stateDir ?? (await emptyFolder())
  const stop = new AbortController()
  const results: RoundResult[] = []
  const lines: string[] = []
  const ended = runAgent({
    baseUrl: world.baseUrl,
    stateDir,
    intervalSeconds: 0.3,
    signal: stop.signal,
    now: () => world.now().getTime(),
    log: (message) => lines.push(message),
    onRound: (result) => results.push(result),
    ...options,
  })
  onTestFinished(async () => {
    stop.abort(new Error('the test is over'))
    await ended.catch(() => undefined)
  })
  return {
    stateDir,
    ended,
    results,
    lines,
    stop: () => stop.abort(new Error('The agent was stopped.')),
    identity: () =>
      eventually(async () => (await openAgentState(stateDir, world.baseUrl, options.deviceId ?? null)).load()),
  }
}

const startRound = async (world: World, key: string, devices: number, hyperparameters = {}) =>
  unwrap(
    world.client(key).POST('/api/v1/training/rounds/start', {
      body: { target_devices: devices, min_devices: devices, hyperparameters },
    }),
  )

const finishedRound = (world: World, key: string, roundId: string) =>
  eventually(async () => {
    await world.service.runDueTasks()
    const params = { path: { round_id: roundId } }
    const round = await unwrap(world.client(key).GET('/api/v1/training/rounds/{round_id}/status', { params }))
    return round.status === 'completed' || round.status === 'failed' ? round : null
  })

const explain = async (world: World, key: string, roundId: string) =>
  unwrap(
    world.client(key).GET('/api/v1/training/rounds/{round_id}/selection', { params: { path: { round_id: roundId } } }),
  )

test('two agents train a model on their own data in two rounds, the second starting from the result of the first', async () => {
  const world = await startWorld()
  const trainer = await csvTrainer(await emptyFolder())
  const agents = await Promise.all([
    startAgent(world, { trainer, rounds: 2 }),
    startAgent(world, { trainer, rounds: 2 }),
  ])
  const keys = await Promise.all(agents.map(async (agent) => (await agent.identity()).apiKey))
  const hyperparameters = { classes: ['left', 'right'], learning_rate: 0.1 }
  const first = await startRound(world, keys[0]!, 2, hyperparameters)
  expect(await finishedRound(world, keys[0]!, first.id)).toMatchObject({ status: 'completed', completed_devices: 2 })
  const second = await startRound(world, keys[0]!, 2, hyperparameters)
  const end = await finishedRound(world, keys[0]!, second.id)
  expect(end).toMatchObject({ status: 'completed', participated_devices: 2, completed_devices: 2, failed_devices: 0 })
  await Promise.all(agents.map((agent) => agent.ended))
  for (const { results, stateDir } of agents) {
    expect(results.map(({ roundNumber, report }) => [roundNumber, report.numSamples, report.localAccuracy])).toEqual([
      [first.round_number, 36, 1],
      [second.round_number, 36, 1],
    ])
    expect(results.map(({ globalModel }) => globalModel?.accuracy)).toEqual([undefined, 1])
    const [folder] = await readdir(join(stateDir, 'devices'))
    expect((await stat(join(stateDir, 'devices', folder!, 'identity.json'))).mode & 0o777).toBe(0o600)
    expect(await readdir(join(stateDir, 'devices', folder!, 'rounds'))).toEqual([])
  }
})

const command = (program: string): string => `"${process.execPath}" -e '${program}'`

test('a command takes part: the weights that it writes become the global model', async () => {
  const world = await startWorld()
  const trainer = commandTrainer({
    command: command(`const fs = require("fs"), env = process.env
      fs.writeFileSync(env.SERVICE_OUTPUT_WEIGHTS, Buffer.from(new Float32Array([1, 2, 3]).buffer))
      fs.writeFileSync(env.SERVICE_OUTPUT_METRICS, "{\\"num_samples\\": 5, \\"loss\\": 0.25}")`),
  })
  const agent = await startAgent(world, { trainer: () => trainer, deviceId: 'edge 1', rounds: 1 })
  const { apiKey } = await agent.identity()
  const { id } = await startRound(world, apiKey, 1)
  const { aggregated_model_id } = await finishedRound(world, apiKey, id)
  await agent.ended
  const params = { path: { model_id: aggregated_model_id!, version: '1' } }
  const path = '/api/v1/models/{model_id}/versions/{version}/download'
  const bytes = await unwrap(world.client(apiKey).GET(path, { params, parseAs: 'arrayBuffer' }))
  expect([...new Float32Array(bytes)]).toEqual([1, 2, 3])
  expect(await explain(world, apiKey, id)).toMatchObject({ device_id: 'edge 1', state: 'delivered' })
})

test("a command's failure is reported to the service with its output, and the agent continues", async () => {
  const world = await startWorld()
  const trainer = commandTrainer({ command: command('console.error("no GPU"); process.exit(4)') })
  const agent = await startAgent(world, { trainer: () => trainer })
  const { apiKey } = await agent.identity()
  const { id } = await startRound(world, apiKey, 1)
  const reason = 'The trainer ended with exit code 4. Its output:\nno GPU'
  await eventually(async () => agent.lines.find((line) => line.includes(reason)) ?? null)
  expect(await explain(world, apiKey, id)).toMatchObject({ state: 'failed', reason })
  agent.stop()
  await agent.ended
})

test('an update that a proxy answers instead of the service is kept and submitted again', async () => {
  const world = await startWorld()
  const proxy = await startProxy(world.baseUrl)
  const away = ['<html>Sign in to this network.</html>', '']
  proxy.intercept = (path) => {
    const body = path.endsWith('/updates') ? away.shift() : undefined
    return body === undefined ? null : [401, body]
  }
  let trained = 0
  const trainer: AgentTrainer = {
    train: async ({ folder }) => {
      trained++
      const weights = join(folder, 'update.bin')
      await writeFile(weights, new Float32Array([1, 2]))
      return { weights, report: { numSamples: 2 }, globalModel: null }
    },
  }
  const agent = await startAgent(world, {
    baseUrl: proxy.baseUrl,
    trainer: () => trainer,
    deviceId: 'edge-1',
    rounds: 1,
  })
  await eventually(async () => agent.lines.find((line) => line.includes('is waiting for rounds')) ?? null)
  const { apiKey } = (await (await openAgentState(agent.stateDir, proxy.baseUrl, 'edge-1')).load())!
  const { id } = await startRound(world, apiKey, 1)
  await agent.ended
  expect(await explain(world, apiKey, id)).toMatchObject({ state: 'delivered' })
  expect([away.length, trained]).toEqual([0, 1])
})

test('an agent with a round limit stops with the reason when a round fails, and reports itself as inactive', async () => {
  const world = await startWorld()
  let calls = 0
  const trainer: AgentTrainer = {
    train: async () => {
      calls++
      throw new Error('The disk is full.')
    },
  }
  const agent = await startAgent(world, { trainer: () => trainer, deviceId: 'edge-1', rounds: 2 })
  const failure = agent.ended.catch((error: Error) => `${error.name}: ${error.message}`)
  const { apiKey } = await agent.identity()
  const { id } = await startRound(world, apiKey, 1)
  expect(await failure).toBe(`RoundFailed: Round ${id} failed: The disk is full.`)
  expect(calls).toBe(1)
  expect(await explain(world, apiKey, id)).toMatchObject({ state: 'failed', reason: 'The disk is full.' })
  const device = await world.request('GET', '/api/v1/devices/edge-1', { key: apiKey })
  expect(device.body).toMatchObject({ status: 'inactive' })
})

/** Signals when training has started, and trains until it is stopped. */
const endlessTrainer = () => {
  let began = (): void => undefined
  const begun = new Promise<void>((resolve) => {
    began = resolve
  })
  const trainer: AgentTrainer = {
    train: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        began()
      }),
  }
  return { begun, trainer: () => trainer }
}

test('an agent that is stopped reports its round as failed and itself as inactive', async () => {
  const world = await startWorld()
  const { begun, trainer } = endlessTrainer()
  const agent = await startAgent(world, { trainer, deviceId: 'edge-1' })
  const { apiKey } = await agent.identity()
  const { id } = await startRound(world, apiKey, 1)
  await begun
  agent.stop()
  await agent.ended
  expect(await explain(world, apiKey, id)).toMatchObject({ state: 'failed', reason: 'The agent was stopped.' })
  const device = await world.request('GET', '/api/v1/devices/edge-1', { key: apiKey })
  expect(device.body).toMatchObject({ status: 'inactive' })
})

test('a round that ends without the device ends its training, and the agent waits for the next round', async () => {
  const world = await startWorld()
  const { begun, trainer } = endlessTrainer()
  const agent = await startAgent(world, { trainer })
  const { apiKey } = await agent.identity()
  await startRound(world, apiKey, 1)
  await begun
  await world.advance(301)
  await eventually(async () => agent.lines.find((line) => line.includes('The round is already failed')) ?? null)
})

test('a round that closes with enough updates of others is no failure, also for an agent with a round limit', async () => {
  const world = await startWorld()
  const { begun, trainer } = endlessTrainer()
  const agent = await startAgent(world, { trainer, rounds: 1 })
  const { apiKey } = await agent.identity()
  const other = await world.register('edge-2')
  const body = { target_devices: 2, min_devices: 1 }
  const { id } = await unwrap(world.client(apiKey).POST('/api/v1/training/rounds/start', { body }))
  await begun
  const weights = encodeModel(initialModel({ features: 2, hidden: [], classes: 2, seed: 1 }), new Map())
  const path = `/api/v1/training/rounds/${id}/updates`
  const sent = await world.request('POST', path, {
    key: other.key,
    body: formOf(weights, { num_samples: 1 }, 'w.safetensors'),
  })
  expect(sent.status).toBe(201)
  await world.advance(61)
  const line = await eventually(async () => agent.lines.find((one) => one.includes('The round is already')) ?? null)
  expect(line).toMatch(/^Round .*: The round is already (aggregating|completed); training was stopped\.$/)
  agent.stop()
  await agent.ended
})

test('a round that ends without the device counts as failed for an agent with a round limit', async () => {
  const world = await startWorld()
  const { begun, trainer } = endlessTrainer()
  const agent = await startAgent(world, { trainer, rounds: 1 })
  const failure = agent.ended.catch((error: Error) => error.message)
  const { apiKey } = await agent.identity()
  const { id } = await startRound(world, apiKey, 1)
  await begun
  await world.advance(301)
  expect(await failure).toBe(`Round ${id} failed: The round is already failed; training was stopped.`)
})

test('an agent keeps its device across restarts of itself and of the service', async () => {
  const world = await startWorld()
  const trainer = await csvTrainer(await emptyFolder())
  const first = await startAgent(world, { trainer })
  const identity = await first.identity()
  first.stop()
  await first.ended
  const second = await startAgent(world, { trainer, stateDir: first.stateDir })
  await eventually(
    async () =>
      second.lines.find((line) => line === `Device ${identity.deviceId} is waiting for rounds at ${world.baseUrl}.`) ??
      null,
  )
  second.stop()
  await second.ended
  expect(await second.identity()).toEqual(identity)
  const { body } = await world.request('GET', '/api/v1/status', { key: identity.apiKey })
  expect(body).toMatchObject({ total_devices: 1 })
})

test('a name that is taken ends the agent with an error that says what to do', async () => {
  const world = await startWorld()
  await world.register('edge-1')
  const agent = await startAgent(world, { trainer: endlessTrainer().trainer, deviceId: 'edge-1' })
  await expect(agent.ended).rejects.toThrow(
    `Device 'edge-1' is already registered with ${world.baseUrl}, and its key is not on this machine. ` +
      'Choose another device id, or give the key that this device was registered with.',
  )
})

test('a key from elsewhere is used without registering, and ends the agent when it is refused', async () => {
  const world = await startWorld()
  const { key } = await world.register('edge-1')
  const trainer = await csvTrainer(await emptyFolder())
  const agent = await startAgent(world, { trainer, deviceId: 'edge-1', apiKey: key, rounds: 1 })
  const { id } = await startRound(world, key, 1, { classes: ['left', 'right'] })
  expect(await finishedRound(world, key, id)).toMatchObject({ status: 'completed' })
  await agent.ended
  const refused = await startAgent(world, { trainer, deviceId: 'edge-1', apiKey: `sk_live_${'x'.repeat(32)}` })
  await expect(refused.ended).rejects.toMatchObject({ status: 401 })
  const nameless = await startAgent(world, { trainer, apiKey: key })
  await expect(nameless.ended).rejects.toThrow('A device key belongs to one device: also give its device id.')
})

test('an agent registers again if a newly set up service does not know its key', async () => {
  const world = await startWorld()
  const stateDir = await emptyFolder()
  const state = await openAgentState(stateDir, world.baseUrl, 'edge-1')
  const old = { deviceId: 'edge-1', apiKey: `sk_live_${'x'.repeat(32)}` }
  await state.save(old)
  const agent = await startAgent(world, { trainer: endlessTrainer().trainer, deviceId: 'edge-1', stateDir })
  const identity = await eventually(async () => {
    const now = await state.load()
    return now === null || now.apiKey === old.apiKey ? null : now
  })
  const device = await world.request('GET', '/api/v1/devices/edge-1', { key: identity.apiKey })
  expect(device.body).toMatchObject({ device_id: 'edge-1', status: 'active' })
  agent.stop()
  await agent.ended
})

test('after a round that the service ended, an agent is soon ready for the next one, however long its interval is', async () => {
  const world = await startWorld()
  let rounds = 0
  const trainer: AgentTrainer = {
    train: async ({ folder, signal }) => {
      if (++rounds === 1)
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      const weights = join(folder, 'update')
      await writeFile(weights, new Float32Array(4))
      return { weights, report: { numSamples: 1 }, globalModel: null }
    },
  }
  const agent = await startAgent(world, { trainer: () => trainer, intervalSeconds: 3600 })
  const { apiKey } = await agent.identity()
  const first = await startRound(world, apiKey, 1)
  await expect.poll(() => rounds).toBe(1)
  const cancel = { params: { path: { round_id: first.id } }, body: {} }
  await unwrap(world.client(apiKey).POST('/api/v1/training/rounds/{round_id}/cancel', cancel))
  await expect.poll(() => agent.lines.join()).toContain('training was stopped')
  await startRound(world, apiKey, 1)
  await expect.poll(() => rounds).toBe(2)
})
