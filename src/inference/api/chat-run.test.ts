import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Engine } from '../engines/engine.ts'
import { createAdmissions } from '../runtime/queue/admission.ts'
import { createSchemaCompiler } from '../structured-output/schema-compiler.ts'
import { singleModel } from './available-models.ts'
import type { ChatCompletionRequest } from './chat.schema.ts'
import { type ChatRun, startChat } from './chat-run.ts'
import { openStarter } from './test-inference.fixture.ts'

let engine: Engine

beforeAll(async () => {
  engine = await openStarter({ slots: 2 })
})

afterAll(() => engine.close())

const request = (content: string): ChatCompletionRequest => ({
  model: 'starter',
  stream: false,
  includeUsage: false,
  messages: [{ role: 'user', content }],
  maxTokens: null,
  temperature: 0,
  topP: 1,
  seed: 1,
  stop: [],
  choices: 2,
  responseFormat: { type: 'text' },
  toolUse: null,
  sampling: {},
  reasoning: {},
})

/** Runs a chat of two choices while another client holds one of the two slots. */
const runBesideAnother = async (content: string, use: (run: ChatRun) => Promise<void>) => {
  const schemas = createSchemaCompiler()
  onTestFinished(schemas.close)
  const admissions = createAdmissions({ maxQueue: 4, timeoutMs: 120_000, now: () => performance.now() })
  const admission = admissions.of(engine)
  const { signal } = new AbortController()
  const [other] = await Promise.all(admission.enter(1, signal))
  const deps = {
    models: singleModel(engine, 0),
    route: null,
    compress: null,
    admissions,
    countAdmissions: admissions,
    schemas,
  }
  const run = await startChat(deps, request(content), signal)
  const failure = await use(run).catch((error: Error) => error.message)
  const left = [admission.busy(), admission.waiting()]
  other!.release()
  return { failure, left, after: admission.busy() }
}

test('a chat that ends while one of its choices waits for a slot does not wait for another client', async () => {
  const stopped = await runBesideAnother('What is the capital of France?', async ({ events }) => {
    for await (const { index } of events) throw new Error(`not read beyond choice ${index}`)
  })
  expect(stopped).toEqual({ failure: 'not read beyond choice 0', left: [1, 0], after: 0 })
})

test('a chat with a failed choice does not wait for another client', async () => {
  const failed = await runBesideAnother('long '.repeat(20_000), async ({ events }) => {
    for await (const _ of events);
  })
  expect(failed).toEqual({ failure: expect.stringContaining('context'), left: [1, 0], after: 0 })
})
