import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engines/engine.ts'
import type { InferenceServerOptions } from './build-server.ts'
import { endless, openStarter, serveForTest, type TestInference } from './test-inference.fixture.ts'

let engine: Engine
let server: TestInference

beforeAll(async () => {
  engine = await openStarter({ slots: 1 })
})

afterAll(() => engine.close())

afterEach(() => server.close())

const serve = async (options: Partial<InferenceServerOptions>): Promise<OpenAI> => {
  server = await serveForTest(engine, options)
  return new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })
}

const france = {
  model: 'starter',
  messages: [{ role: 'user' as const, content: 'What is the capital of France?' }],
  temperature: 0,
}
const PARIS = 'The capital of France is Paris.'

/** Takes the only slot, and returns a function that releases it. */
const occupy = async (client: OpenAI): Promise<() => void> => {
  const stream = await client.chat.completions.create({ ...endless, stream: true })
  const reading = (async () => {
    for await (const chunk of stream) void chunk
  })()
  // Aborting the stream rejects this promise.
  void reading.catch(() => undefined)
  return () => stream.controller.abort()
}

const textOf = async (requested: Promise<OpenAI.ChatCompletion>): Promise<string | null> =>
  (await requested).choices[0]!.message.content

test('a full queue gives a 503 with Retry-After, and the official client retries', async () => {
  const client = await serve({ maxQueue: 0 })
  const free = await occupy(client)
  const error = await client.chat.completions.create(france).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(OpenAI.InternalServerError)
  expect(error).toMatchObject({ status: 503, code: 'queue_full', type: 'server_error' })
  const after = Number((error as InstanceType<typeof OpenAI.APIError>).headers!.get('retry-after'))
  expect(after).toBeGreaterThanOrEqual(1)
  expect(after).toBeLessThanOrEqual(60)

  const retried = server.client.chat.completions.create(france)
  await server.until('http_requests_total{method="POST",route="/v1/chat/completions",status="503"}', 2)
  free()
  expect(await textOf(retried)).toBe(PARIS)
})

test('one request at a time counts tokens, 64 wait, and further ones get a 503', async () => {
  let begun = 0
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const countTokens: Engine['countTokens'] = async (...given) => {
    begun++
    await gate
    return engine.countTokens!(...given)
  }
  server = await serveForTest({ ...engine, countTokens }, { maxQueue: 0 })
  const refusals = new Set<string>()
  const count = async (): Promise<number> => {
    const { messages, model } = france
    const body = JSON.stringify({ model, messages })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${server.url}/v1/messages/count_tokens`, { method: 'POST', headers, body })
    if (response.status === 503)
      refusals.add(((await response.json()) as { error: Error }).error.message.replace(/ Try .*/, ''))
    return response.status
  }
  const counts = Array.from({ length: 70 }, count)
  await server.until('http_requests_total{method="POST",route="/v1/messages/count_tokens",status="503"}', 5)
  expect(begun).toBe(1)
  open()
  expect((await Promise.all(counts)).filter((status) => status === 200)).toHaveLength(65)
  expect(begun).toBe(65)
  const full = 'The engine is busy counting tokens (at most 1 at once), and the queue is full (64 requests).'
  expect([...refusals]).toEqual([full])
})

test('a waiting request is answered in turn, and one that disconnects leaves the queue', async () => {
  const client = await serve({ maxQueue: 2 })
  const free = await occupy(client)
  const gone = new AbortController()
  const leaving = client.chat.completions.create(france, { signal: gone.signal }).catch((thrown: unknown) => thrown)
  await server.until('inference_queue_length', 1)
  const waiting = client.chat.completions.create(france)
  await server.until('inference_queue_length', 2)
  await expect(client.chat.completions.create(france)).rejects.toMatchObject({ status: 503, code: 'queue_full' })
  gone.abort()
  expect(await leaving).toBeInstanceOf(OpenAI.APIUserAbortError)
  await server.until('inference_queue_length', 1)
  free()
  expect(await textOf(waiting)).toBe(PARIS)
  await server.until('inference_places_busy', 0)
})

test('more choices than slots run one after another', async () => {
  const client = await serve({ maxQueue: 0 })
  const { choices } = await client.chat.completions.create({ ...france, n: 3 })
  expect(choices.map(({ message }) => message.content)).toEqual([PARIS, PARIS, PARIS])
})

test('a request that exceeds the queue timeout gets an error, for streams too', async () => {
  const client = await serve({ queueTimeoutMs: 50 })
  const free = await occupy(client)
  for (const stream of [false, true]) {
    await expect(client.chat.completions.create({ ...france, stream })).rejects.toMatchObject({
      status: 503,
      code: 'queue_full',
      error: { message: expect.stringContaining('waited 0.05 seconds in the queue') },
    })
  }
  free()
})

test('closing the server lets a running answer finish', async () => {
  const client = await serve({})
  const stream = await client.chat.completions.create({ ...france, stream: true })
  let text = ''
  let closing: Promise<void> | null = null
  for await (const chunk of stream) {
    closing ??= server.close()
    text += chunk.choices[0]!.delta.content ?? ''
  }
  await closing
  expect(text).toBe(PARIS)
  await expect(client.models.list()).rejects.toBeInstanceOf(OpenAI.APIConnectionError)
})
