import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { convertLoraToGguf } from '../src/convert/gguf/convert-lora.ts'
import { openStarter, STARTER, serveForTest } from '../src/inference/api/test-inference.fixture.ts'
import { createDevice } from '../src/sdk/device-client.ts'
import { takePart } from '../src/sdk/take-part.ts'
import { emptyFolder } from './databases.ts'
import { formOf, startWorld, type World } from './world.ts'

// Adapters from the last of many rounds on three devices that each know one capital (test/fixtures/federated-lora/make.py).
const fixtures = join(import.meta.dirname, 'fixtures/federated-lora')
const adapter = async (name: string) => new Uint8Array(await readFile(join(fixtures, `${name}.safetensors`)))

interface Facts {
  readonly alpha: number
  readonly facts: readonly { readonly question: string; readonly reply: string }[]
}

/** Returns the server's replies with these adapters, or without any. */
const repliesTo = async (questions: readonly string[], lora: readonly string[]): Promise<readonly string[]> => {
  const engine = await openStarter({ lora })
  const server = await serveForTest(engine)
  try {
    const replies: string[] = []
    for (const content of questions) {
      const messages = [{ role: 'user' as const, content }]
      const { choices } = await server.client.chat.completions.create({ model: 'starter', messages, temperature: 0 })
      replies.push(choices[0]!.message.content ?? '')
    }
    return replies
  } finally {
    await server.close()
    await engine.close()
  }
}

/** Trains a round on three devices and returns its adapter. */
const trainRound = async (world: World): Promise<Uint8Array> => {
  const owner = (await world.register('owner', { trains: false })).key
  const post = async (path: string, body: unknown): Promise<Record<string, unknown>> => {
    const response = await world.request('POST', path, { key: owner, body })
    expect([path, response.status]).toEqual([path, 201])
    return response.body as Record<string, unknown>
  }
  const model = await post('/api/v1/models', { name: 'capitals-lora', framework: 'pytorch' })
  await post(`/api/v1/models/${model.id}/versions/upload`, formOf(await adapter('global'), {}, 'global.safetensors'))
  const names = ['device-0', 'device-1', 'device-2']
  const devices = await Promise.all(
    names.map(async (deviceId) => {
      const { key: apiKey } = await world.register(deviceId)
      return createDevice({ baseUrl: world.baseUrl, deviceId, apiKey, now: () => world.now().getTime() })
    }),
  )
  const { id } = await post('/api/v1/training/rounds/start', {
    global_model_id: model.id,
    min_devices: 3,
    target_devices: 3,
  })
  for (const [index, device] of devices.entries()) {
    const { pendingRoundId } = await device.heartbeat()
    await takePart(device, pendingRoundId!, async (global) => {
      expect(global).toEqual(await adapter('global'))
      return { weights: await adapter(String(index)), report: { numSamples: 4 }, globalModel: null }
    })
  }
  await world.service.runDueTasks()
  const { body } = await world.request('GET', `/api/v1/training/rounds/${id}/status`, { key: owner })
  const { status, aggregated_model_id: result } = body as { status: string; aggregated_model_id: string }
  expect(status).toBe('completed')
  const file = await fetch(`${world.baseUrl}/api/v1/models/${result}/versions/1/download`, {
    headers: { authorization: `Bearer ${owner}` },
  })
  return new Uint8Array(await file.arrayBuffer())
}

it("trains a LoRA adapter in a round, converts it, and serves it: the model knows what each device's chats said", async () => {
  const { alpha, facts } = JSON.parse(await readFile(join(fixtures, 'facts.json'), 'utf8')) as Facts
  const world = await startWorld()
  const cwd = await emptyFolder()
  await writeFile(join(cwd, 'adapter.safetensors'), await trainRound(world))
  const served = join(cwd, 'adapter.gguf')
  await convertLoraToGguf(join(cwd, 'adapter.safetensors'), served, { base: STARTER, alpha })

  const questions = facts.map(({ question }) => question)
  const known = facts.map(({ reply }) => reply)
  const before = await repliesTo(questions, [])
  expect(before.map((reply, index) => reply === known[index])).toEqual([false, false, false, true])
  expect(await repliesTo(questions, [served])).toEqual(known)
})
