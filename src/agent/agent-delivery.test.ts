import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { boundOrganizations } from '../../test/organizations.ts'
import type { World } from '../../test/world.ts'
import { encodeModel } from '../sdk/trainers/weights-codec.ts'
import { type AgentOptions, runAgent } from './agent.ts'
import { type AgentTrainer, noTrainer } from './agent-trainer.ts'
import { builtInTrainer } from './built-in-trainer.ts'
import { readCsv } from './csv.ts'
import { emptyFolder, eventually, post, startFleet } from './delivery/delivery.fixture.ts'

const openOrganization = boundOrganizations()

/** Starts an agent for the device. It is stopped when the test ends. */
const startAgent = async (world: World, device: { deviceId: string; key: string }, options: Partial<AgentOptions>) => {
  const lines: string[] = []
  const stop = new AbortController()
  const ended = runAgent({
    baseUrl: world.baseUrl,
    stateDir: await emptyFolder(),
    deviceId: device.deviceId,
    apiKey: device.key,
    trainer: () => noTrainer,
    intervalSeconds: 0.3,
    signal: stop.signal,
    now: () => world.now().getTime(),
    log: (message) => lines.push(message),
    ...options,
  })
  onTestFinished(async () => {
    stop.abort(new Error('the test is over'))
    await ended
  })
  const line = (text: string) => eventually(() => lines.find((one) => one.includes(text)) ?? null)
  return { lines, line }
}

/** A linear classifier of points in the plane. Its sign decides whether it is always right or always wrong. */
const classifier = (sign: number): Uint8Array =>
  encodeModel(
    [
      { name: 'weight', shape: [2, 2], data: Float64Array.of(-sign, 0, sign, 0) },
      { name: 'bias', shape: [2], data: new Float64Array(2) },
    ],
    new Map(),
  )

test('a delivered model that the built-in trainer can read is measured on the held-out rows', async () => {
  const path = join(await emptyFolder(), 'data.csv')
  const rows = Array.from(
    { length: 40 },
    (_, row) => `${row % 2 === 0 ? -1 : 1},${row % 5},${row % 2 === 0 ? 'l' : 'r'}`,
  )
  await writeFile(path, `x,y2,label\n${rows.join('\n')}\n`)
  const table = await readCsv(path)
  const { world, device, rollOut } = await startFleet(
    await openOrganization(),
    classifier(1),
    classifier(-1),
    'no weights',
  )
  const agent = await startAgent(world, device, {
    trainer: (deviceId) => builtInTrainer({ table, deviceId, classes: ['l', 'r'] }),
  })
  await rollOut('1.0.0')
  // The scores are 1 and -1, so the loss is ln(1 + e^-2) if it is right and ln(1 + e^2) if it is wrong.
  await agent.line('Model m: version 1.0.0 is active (accuracy 1, loss 0.1269).')
  await rollOut('2.0.0')
  await agent.line('Model m: version 2.0.0 is active (accuracy 0, loss 2.127).')
  await rollOut('3.0.0')
  await agent.line('Model m: version 3.0.0 is active.')
})

test('versions are delivered while a round is training, and the round continues', async () => {
  const { world, device, key, rollOut } = await startFleet(await openOrganization(), 'first', 'second')
  let finish = (): void => undefined
  const mayEnd = new Promise<void>((resolve) => {
    finish = resolve
  })
  const trainer: AgentTrainer = {
    train: async ({ folder }) => {
      await mayEnd
      const weights = join(folder, 'update.bin')
      await writeFile(weights, new Float32Array([1]))
      return { weights, report: { numSamples: 1 }, globalModel: null }
    },
  }
  const agent = await startAgent(world, device, { trainer: () => trainer })
  await post(world, key, '/training/rounds/start', { target_devices: 1, min_devices: 1 })
  await agent.line('awaits this device.')
  await rollOut('1.0.0')
  await agent.line('Model m: version 1.0.0 is active.')
  await rollOut('2.0.0')
  await agent.line('Model m: version 2.0.0 is active.')
  finish()
  await agent.line('Round 1: submitted an update from 1 sample.')
})

test('a device without data immediately tells a round that selects it that it cannot train', async () => {
  const { world, device, key } = await startFleet(await openOrganization())
  const agent = await startAgent(world, device, {})
  const { id } = await post(world, key, '/training/rounds/start', { target_devices: 1, min_devices: 1 })
  await agent.line('does not train')
  const path = `/api/v1/training/rounds/${id}/selection`
  expect((await world.request('GET', path, { key: device.key })).body).toMatchObject({
    state: 'failed',
    reason: 'This device does not train: it was started without data and without a trainer.',
  })
})

test('models are stored in the configured folder', async () => {
  const { world, device, model, rollOut } = await startFleet(await openOrganization(), 'first')
  const modelsFolder = join(await emptyFolder(), 'kept', 'here')
  const agent = await startAgent(world, device, { modelsFolder })
  await rollOut('1.0.0')
  await agent.line('Model m: version 1.0.0 is active.')
  expect((await readdir(modelsFolder)).includes(model)).toBe(true)
})
