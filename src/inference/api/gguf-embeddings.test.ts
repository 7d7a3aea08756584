import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import type { Engine } from '../engines/engine.ts'
import { openLlamaEngine } from '../engines/llama/open-engine.ts'
import { STARTER, serveForTest, type TestInference } from './test-inference.fixture.ts'

const FOLDER = new URL('../../../test/fixtures/models/tiny-embed/', import.meta.url)
const path = fileURLToPath(new URL('tiny-embed.gguf', FOLDER))
const options = { threads: 1, cacheMegabytes: 0, log: () => undefined }

let engine: Engine
let server: TestInference
let expected: readonly { readonly text: string; readonly tokens: number; readonly embedding: readonly number[] }[]

beforeAll(async () => {
  expected = JSON.parse(await readFile(new URL('expected.json', FOLDER), 'utf8'))
  engine = await openLlamaEngine({ ...options, name: 'tiny-embed', path })
  server = await serveForTest(engine)
})

afterAll(async () => {
  await server.close()
  await engine.close()
})

const largestDifference = (one: readonly number[], other: readonly number[]): number =>
  Math.max(...one.map((value, index) => Math.abs(value - other[index]!)))

test('a GGUF embedding model matches the vectors of the original BERT, in both encodings and under concurrency', async () => {
  const input = expected.map(({ text }) => text)
  const { data, usage } = await server.client.embeddings.create({
    model: 'tiny-embed',
    input,
    encoding_format: 'float',
  })
  // llama.cpp approximates GELU with a half-precision lookup table.
  for (const [index, { embedding }] of data.entries())
    expect(largestDifference(embedding, expected[index]!.embedding)).toBeLessThan(2e-3)
  expect(usage.total_tokens).toBe(expected.reduce((sum, { tokens }) => sum + tokens, 0))
  const packed = await server.client.embeddings.create({ model: 'tiny-embed', input: input[0]! })
  expect(largestDifference(packed.data[0]!.embedding, data[0]!.embedding)).toBeLessThan(1e-6)
  const all = await Promise.all(
    Array.from({ length: 12 }, () => server.client.embeddings.create({ model: 'tiny-embed', input: input[1]! })),
  )
  for (const { data: same } of all) expect(same[0]!.embedding).toEqual(all[0]!.data[0]!.embedding)
})

test('a text with far more characters than the context can hold is refused by name before it reaches the engine', async () => {
  const inputs: (readonly string[])[] = []
  const watched: Engine = {
    ...engine,
    embed: (texts, signal) => {
      inputs.push(texts)
      return engine.embed!(texts, signal)
    },
  }
  const { contextTokens } = engine.model
  const other = await serveForTest(watched)
  try {
    const ask = (input: string | string[]) =>
      other.client.embeddings.create({ model: 'tiny-embed', input }).catch((error: unknown) => error)
    const long = 'a '.repeat(contextTokens * 32 + 1)
    for (const [input, what] of [
      [long, 'The text'],
      [['Paris.', long], 'input[1]'],
    ] as const)
      expect(await ask(typeof input === 'string' ? input : [...input])).toMatchObject({
        status: 400,
        code: 'context_length_exceeded',
        param: 'input',
        message: `400 ${what} has ${long.length} characters, far more than a context of ${contextTokens} tokens holds. Shorten it.`,
      })
    expect(inputs).toEqual([])
    await ask('Paris.')
    expect(inputs).toEqual([['Paris.']])
  } finally {
    await other.close()
  }
})

test('a text that is too long is refused, and so is a chat', async () => {
  const long = { model: 'tiny-embed', input: ['Paris.', 'the '.repeat(40)] }
  const fault = (asked: Promise<unknown>) => asked.catch((error: unknown) => error)
  expect(await fault(server.client.embeddings.create(long))).toMatchObject({
    status: 400,
    code: 'context_length_exceeded',
    param: 'input',
  })
  const messages = [{ role: 'user' as const, content: 'hi' }]
  expect(await fault(server.client.chat.completions.create({ model: 'tiny-embed', messages }))).toMatchObject({
    status: 400,
    code: 'unsupported',
    param: 'model',
  })
})

test('dimensions may only be the length of the vectors', async () => {
  const ask = (dimensions: number) =>
    server.client.embeddings
      .create({ model: 'tiny-embed', input: 'Paris.', dimensions })
      .catch((error: unknown) => error)
  const { length } = expected[0]!.embedding
  expect(await ask(length)).toMatchObject({ object: 'list' })
  expect(await ask(length - 1)).toMatchObject({
    status: 400,
    code: 'unsupported',
    param: 'dimensions',
    message: `400 dimensions must be ${length}, or left out: 'tiny-embed' has vectors of that length.`,
  })
})

test('a model without a pooling type gives the mean of its tokens', async () => {
  const bytes = await readFile(path)
  const key = 'bert.pooling_type'
  bytes.writeUInt32LE(0, bytes.indexOf(key) + key.length + 4)
  const unpooled = join(await emptyFolder(), 'unpooled.gguf')
  await writeFile(unpooled, bytes)
  const other = await openLlamaEngine({ ...options, name: 'unpooled', path: unpooled })
  const signal = new AbortController().signal
  try {
    const texts = ['Paris.', expected[0]!.text]
    expect((await other.embed!(texts, signal)).vectors).toEqual((await engine.embed!(texts, signal)).vectors)
  } finally {
    await other.close()
  }
})

test('a model that was replaced by a language model fails instead of waiting for ever', async () => {
  const replaced = join(await emptyFolder(), 'replaced.gguf')
  await cp(path, replaced)
  const other = await openLlamaEngine({ ...options, name: 'replaced', path: replaced })
  try {
    await cp(STARTER, replaced)
    process.kill(other.figures().process_id!, 'SIGKILL')
    await expect.poll(() => other.figures().restarts_total).toBe(1)
    await expect(other.embed!(['Paris.'], new AbortController().signal)).rejects.toMatchObject({
      code: 'invalid_model',
      message: "The model's file was replaced, and is no longer an embedding model. Restart the server.",
    })
  } finally {
    await other.close()
  }
})
