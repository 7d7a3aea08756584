import { resolve } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Engine } from '../../engines/engine.ts'
import { openLlamaEngine } from '../../engines/llama/open-engine.ts'
import { InferenceError } from '../../errors.ts'
import { createModelPool, defaultMemoryBytes, type ModelPool, type ModelPoolOptions } from './model-pool.ts'

const MEGABYTES_64 = 64 * 2 ** 20
const FILES = {
  whole: 'models/starter.gguf',
  eight: 'test/fixtures/models/tiny-chat-q8_0.gguf',
  first: 'test/fixtures/models/tiny-chat-first1-q8_0.gguf',
}

const signal = new AbortController().signal

/** A pool of three real models, with the order in which they were loaded and closed. */
const poolOf = (options: Partial<ModelPoolOptions> = {}): { readonly pool: ModelPool; readonly events: string[] } => {
  const events: string[] = []
  const models = Object.entries(FILES).map(([name, path]) => ({
    name,
    created: 1,
    expectedBytes: 1,
    files: { path },
    open: (): Promise<Engine> => {
      events.push(`open ${name}`)
      const settings = { threads: 1, slots: 1, contextTokens: 128, cacheMegabytes: 0, log: () => undefined }
      return openLlamaEngine({ name, path, ...settings })
    },
  }))
  const pool = createModelPool({ models, onClosed: (name) => events.push(`close ${name}`), ...options })
  onTestFinished(() => pool.close())
  return { pool, events }
}

const answer = async (engine: Engine): Promise<string> => {
  let text = ''
  const request = { temperature: 0, topP: 1, seed: 1, stop: [], responseFormat: { type: 'text' } } as const
  const messages = [{ role: 'user', content: 'What is the capital of France?' }] as const
  for await (const event of engine.chat!({ messages, maxTokens: 16, ...request }, signal)) {
    if (event.type === 'text') text += event.text
  }
  return text
}

it('models are loaded on first use, once for concurrent requests, and answer until the pool is closed', async () => {
  const { pool, events } = poolOf()
  expect([pool.list().map(({ name }) => name), pool.loaded()]).toEqual([['whole', 'eight', 'first'], []])
  const leases = await Promise.all(['whole', 'eight', 'whole', 'whole'].map((name) => pool.open(name, signal)))
  expect(await Promise.all(leases.map(({ engine }) => answer(engine)))).toEqual(
    Array(4).fill('The capital of France is Paris.'),
  )
  expect(events).toEqual(['open whole', 'open eight'])
  expect(pool.loaded().map(({ model }) => model.name)).toEqual(['whole', 'eight'])
  for (const { release } of leases) release()
  await pool.close()
  expect(pool.loaded()).toEqual([])
  await expect(pool.open('whole', signal)).rejects.toMatchObject({ code: 'engine_failed' })
})

it('the least recently used model makes room, based on actual memory use', async () => {
  const { pool: probe } = poolOf()
  const bytes = async (name: keyof typeof FILES) => {
    const { engine, release } = await probe.open(name, signal)
    release()
    return engine.model.memoryBytes
  }
  const [whole, eight, first] = [await bytes('whole'), await bytes('eight'), await bytes('first')]
  await probe.close()
  const { pool, events } = poolOf({ memoryBytes: whole + eight + first - 1 })
  for (const name of ['whole', 'eight', 'whole', 'first']) (await pool.open(name, signal)).release()
  expect(events).toEqual(['open whole', 'open eight', 'open first', 'close eight'])
  expect(pool.loaded().map(({ model }) => model.name)).toEqual(['whole', 'first'])
})

it('reports an unknown model, insufficient memory, and a file that cannot be loaded', async () => {
  const { pool } = poolOf({ memoryBytes: 1000, timeoutMs: 20 })
  await expect(pool.open('other', signal)).rejects.toMatchObject({ code: 'model_not_found', param: 'model' })
  await expect(pool.open('whole', signal)).rejects.toMatchObject({
    code: 'out_of_memory',
    message: expect.stringMatching(/^Model 'whole' needs [\d.]+ MB of memory, and the limit is 1 kB\. Choose/),
  })
  const unloadable = (name: string, path: string, lora: readonly string[] = []) => ({
    name,
    created: 1,
    expectedBytes: 1,
    files: { path, lora },
    open: () => openLlamaEngine({ name, path, lora, cacheMegabytes: 0, log: () => undefined }),
  })
  const message = 'There is no config.json in /the/model: it must be next to /the/model/onnx/model.onnx.'
  const onnx = {
    ...unloadable('onnx', '/the/model/onnx/model.onnx'),
    open: () => Promise.reject(new InferenceError('invalid_model', message)),
  }
  const broken = createModelPool({
    models: [
      unloadable('broken', 'package.json'),
      unloadable('deleted', "/the/o'brien files/m.gguf"),
      unloadable('changed', resolve(FILES.whole), ['/the/lora/a.gguf']),
      onnx,
    ],
  })
  for (const [name, fault] of [
    ['deleted', "There is no model file at 'm.gguf'."],
    ['onnx', 'There is no config.json in model: it must be next to model.onnx.'],
    ['changed', "There is no LoRA adapter at 'a.gguf'."],
  ] as const)
    await expect(broken.open(name, signal)).rejects.toMatchObject({
      code: 'invalid_model',
      message: `The model '${name}' cannot be loaded on this server: ${fault}`,
    })
  for (let attempt = 0; attempt < 2; attempt++) {
    await expect(broken.open('broken', signal)).rejects.toMatchObject({
      code: 'invalid_model',
      statusCode: 500,
      message: expect.stringMatching(/^The model 'broken' cannot be loaded on this server: The model file /),
    })
  }
})

it('the default budget is most of the free memory', () => {
  expect(defaultMemoryBytes()).toBeGreaterThan(MEGABYTES_64)
  expect(defaultMemoryBytes()).toBeLessThan(process.availableMemory() * 1.5)
})
