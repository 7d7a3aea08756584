import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type OpenAI from 'openai'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Engine } from '../engines/engine.ts'
import { loadAddon } from '../engines/llama/binding/load-addon.ts'
import { type LlamaModel, loadModel } from '../engines/llama/binding/load-model.ts'
import { withKeys } from '../models/gguf/with-keys.fixture.ts'
import { openStarter, STARTER, serveForTest, type TestInference } from './test-inference.fixture.ts'

type Body = Partial<OpenAI.CompletionCreateParamsNonStreaming> & Readonly<Record<string, unknown>>
type Logprobs = NonNullable<OpenAI.CompletionChoice['logprobs']>

let model: LlamaModel
let engine: Engine
let server: TestInference

beforeAll(async () => {
  model = await loadModel(STARTER, await loadAddon(null))
  engine = await openStarter()
  server = await serveForTest(engine)
})
afterAll(async () => {
  await server.close()
  await engine.close()
})

const FRANCE = 'The capital of France is'
const complete = (fields: Body = {}, { client }: TestInference = server) =>
  client.completions.create({ model: 'starter', prompt: FRANCE, temperature: 0, ...fields })
const one = async (fields: Body = {}, from: TestInference = server) => (await complete(fields, from)).choices[0]!
const scored = async (fields: Body = {}, from: TestInference = server) => {
  const { text, logprobs } = await one({ logprobs: 1, ...fields }, from)
  const { tokens, token_logprobs: scores, top_logprobs: top, text_offset: offsets } = logprobs as Required<Logprobs>
  return { text, tokens, scores: scores as (number | null)[], top, offsets }
}
const faultOf = async (fields: Body) => {
  const error = (await complete(fields).catch((thrown: unknown) => thrown)) as InstanceType<typeof OpenAI.APIError>
  return [error.status, error.code, error.param, error.message.replace(/^\d+ /, '')]
}
/** Batches of other sizes round differently, as when a prompt is in the cache. */
const closeTo = (values: readonly (number | null)[]) =>
  values.map((each) => each && (expect.closeTo(each, 0) as number))

test("a text is continued in OpenAI's shape, as it is, without a chat template", async () => {
  expect(await complete()).toEqual({
    id: expect.stringMatching(/^cmpl-/),
    object: 'text_completion',
    created: expect.any(Number),
    model: 'starter',
    choices: [{ index: 0, text: ' Paris.', logprobs: null, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: model.tokenize(FRANCE, true).length,
      completion_tokens: 3,
      total_tokens: model.tokenize(FRANCE, true).length + 3,
      prompt_tokens_details: { cached_tokens: expect.any(Number) },
    },
  })
  const long = await complete({ prompt: 'One, two,', temperature: 2 })
  expect(long.usage!.completion_tokens).toBeLessThanOrEqual(16)
  expect(await one({ stop: 'ris' })).toMatchObject({ text: ' Pa', finish_reason: 'stop' })
})

test('words of special tokens become those tokens, so that a chat can be written out', async () => {
  const prompt = '<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n'
  expect((await one({ prompt })).text).toBe('The capital of France is Paris.')
  const messages = [{ role: 'user' as const, content: 'What is the capital of France?' }]
  const chat = await server.client.chat.completions.create({ model: 'starter', messages, max_tokens: 1 })
  expect((await complete({ prompt, max_tokens: 1 })).usage!.prompt_tokens).toBe(chat.usage!.prompt_tokens)
})

test('several prompts have n choices each, in their order, and each prompt counts once', async () => {
  const { choices, usage } = await complete({ prompt: [FRANCE, 'The capital of Italy is'], n: 2 })
  expect(choices.map(({ index, text }) => [index, text])).toEqual([
    [0, ' Paris.'],
    [1, ' Paris.'],
    [2, ' Rome.'],
    [3, ' Rome.'],
  ])
  const tokens = model.tokenize(FRANCE, true).length + model.tokenize('The capital of Italy is', true).length
  expect(usage).toMatchObject({ prompt_tokens: tokens })
})

test('a stream has the same text, log probabilities, and usage', async () => {
  const fields = { echo: true, logprobs: 3, n: 2, stream_options: { include_usage: true } }
  const whole = await complete({ echo: true, logprobs: 3, n: 2 })
  const stream = await server.client.completions.create({
    model: 'starter',
    prompt: FRANCE,
    temperature: 0,
    ...fields,
    stream: true,
  })
  const texts = ['', '']
  const offsets: number[][] = [[], []]
  const scores: unknown[][] = [[], []]
  let usage: unknown
  const reasons: unknown[] = []
  for await (const chunk of stream) {
    usage = chunk.usage ?? usage
    for (const { index, text, logprobs, finish_reason: reason } of chunk.choices) {
      texts[index] += text
      offsets[index]!.push(...(logprobs?.text_offset ?? []))
      scores[index]!.push(...(logprobs?.top_logprobs ?? []))
      if (reason !== null) reasons.push(reason)
    }
  }
  expect(texts).toEqual(whole.choices.map(({ text }) => text))
  expect(offsets).toEqual(whole.choices.map(({ logprobs }) => logprobs!.text_offset))
  expect(scores.map((each) => each.length)).toEqual(whole.choices.map(({ logprobs }) => logprobs!.tokens!.length))
  expect(reasons).toEqual(['stop', 'stop'])
  expect(usage).toMatchObject({ completion_tokens: whole.usage!.completion_tokens })
})

test('echo scores the prompt as the model would have generated it, without the prompt cache', async () => {
  const written = await scored({ logprobs: 5 })
  // Has no text.
  expect(written.tokens.at(-1)).toBe('<|im_end|>')
  const echoed = await scored({ prompt: FRANCE + written.text, logprobs: 5, echo: true, max_tokens: 0 })
  expect(echoed.text).toBe(FRANCE + written.text)
  expect(echoed.tokens.join('')).toBe(echoed.text)
  expect(echoed.offsets.map((start, index) => echoed.text.startsWith(echoed.tokens[index]!, start))).not.toContain(
    false,
  )
  expect([echoed.scores[0], echoed.top[0]]).toEqual([null, null])
  expect(echoed.scores.slice(-3)).toEqual(closeTo(written.scores.slice(0, -1)))
  const again = await complete({ prompt: FRANCE + written.text, logprobs: 5, echo: true })
  expect(again.usage!.prompt_tokens_details!.cached_tokens).toBe(0)
  expect(again.choices[0]!.logprobs!.token_logprobs!.slice(0, echoed.scores.length)).toEqual(closeTo(echoed.scores))
})

test('a harness that sends tokens gets the scores of a continuation, and whether it is the likeliest', async () => {
  const context = [...model.tokenize(FRANCE, true)]
  const results = []
  for (const city of [' Paris.', ' Rome.']) {
    const body = {
      prompt: [[...context, ...model.tokenize(city, true)]],
      max_tokens: 1,
      logprobs: 1,
      seed: 1234,
      echo: true,
    }
    const { text, scores, top } = await scored(body)
    expect(text.startsWith(FRANCE + city)).toBe(true)
    // The last token is generated, and may be the one that ends the text.
    expect(scores).toHaveLength(body.prompt[0]!.length + 1)
    const own = scores.slice(context.length, -1) as number[]
    const greedy = own.every((score, index) => score === Math.max(...Object.values(top[context.length + index]!)))
    results.push({ sum: own.reduce((all, each) => all + each, 0), greedy })
  }
  expect(results.map(({ greedy }) => greedy)).toEqual([true, false])
  expect(results[0]!.sum).toBeGreaterThan(results[1]!.sum + 1)
})

test('an empty completion scores only the prompt, and echo alone repeats it', async () => {
  const { choices, usage } = await complete({ max_tokens: 0, echo: true })
  expect(choices).toEqual([{ index: 0, text: FRANCE, logprobs: null, finish_reason: 'length' }])
  expect(usage).toMatchObject({ completion_tokens: 0 })
  expect((await one({ prompt: [...model.tokenize(FRANCE, true)], echo: true })).text).toBe(`${FRANCE} Paris.`)
})

test('log probabilities are those of the model, before temperature, penalties, and top_k', async () => {
  // From here on, the prompt is in the cache.
  await complete()
  const plain = await scored({ logprobs: 5, max_tokens: 1 })
  expect(plain.scores[0]).toBe(Math.max(...Object.values(plain.top[0]!)))
  expect(Object.keys(plain.top[0]!)).toHaveLength(5)
  const odd = {
    temperature: 2,
    top_k: 1,
    presence_penalty: 2,
    repeat_penalty: 2,
    min_p: 0.5,
    logprobs: 5,
    max_tokens: 1,
  }
  expect((await scored(odd)).top).toEqual(plain.top)
  const rare = await scored({ temperature: 2, top_p: 1, seed: 5, logprobs: 0, max_tokens: 16, prompt: 'zq' })
  expect(rare.top.map((each, index) => each![rare.tokens[index]!])).toEqual(rare.scores)
})

test('stop sequences cut the tokens with the text', async () => {
  const { text, tokens } = await scored({ stop: 'aris' })
  expect([text, tokens]).toEqual([' P', [' P']])
})

test('chats have them in their format, with bytes, for each token of the content', async () => {
  const messages = [{ role: 'user' as const, content: 'Count from 1 to 5.' }]
  const ask = { model: 'starter', messages, temperature: 0, logprobs: true, top_logprobs: 20, seed: 1 }
  const { choices, usage } = await server.client.chat.completions.create({ ...ask, max_tokens: 12 })
  const content = choices[0]!.logprobs!.content!
  expect(content).toHaveLength(usage!.completion_tokens)
  expect(Buffer.from(content.flatMap(({ bytes }) => bytes!)).toString()).toBe(choices[0]!.message.content)
  for (const { token, logprob, top_logprobs: top } of content) {
    expect(top[0]).toMatchObject({ token, logprob })
    expect(top).toHaveLength(20)
    const likelihoods = top.map((each) => Math.exp(each.logprob))
    expect(likelihoods).toEqual(likelihoods.toSorted((a, b) => b - a))
    expect(likelihoods.reduce((all, each) => all + each, 0)).toBeLessThan(1.0001)
  }
  const streamed = []
  for await (const chunk of await server.client.chat.completions.create({ ...ask, max_tokens: 12, stream: true }))
    streamed.push(...(chunk.choices[0]?.logprobs?.content ?? []))
  expect(streamed.map(({ token }) => token)).toEqual(content.map(({ token }) => token))
})

test('a reply in a format has those of its own tokens, not of the ending that completes it', async () => {
  const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
  const { choices } = await server.client.chat.completions.create({
    model: 'starter',
    messages: [{ role: 'user', content: 'A name, please.' }],
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
    logprobs: true,
    seed: 3,
    max_tokens: 8,
  })
  const { message, logprobs, finish_reason: reason } = choices[0]!
  expect(JSON.parse(message.content!)).toEqual({ name: expect.any(String) })
  const written = Buffer.from(logprobs!.content!.flatMap(({ bytes }) => bytes!)).toString()
  expect(message.content!.startsWith(written)).toBe(true)
  expect([reason, written.length < message.content!.length]).toEqual(['length', true])
})

test('speculation changes nothing', async () => {
  const drafting = await openStarter({ draft: { kind: 'first-layers' } })
  const other = await serveForTest(drafting)
  onTestFinished(async () => {
    await other.close()
    await drafting.close()
  })
  const fields = {
    prompt: '<|im_start|>user\nCount from 1 to 20.<|im_end|>\n<|im_start|>assistant\n',
    max_tokens: 60,
    echo: true,
  }
  const [plain, guessed] = [await scored(fields), await scored(fields, other)]
  expect(guessed.tokens).toEqual(plain.tokens)
  expect(guessed.scores).toEqual(closeTo(plain.scores))
  const { response } = await other.client.completions
    .create({ model: 'starter', ...fields, temperature: 0, logprobs: 1 })
    .withResponse()
  expect(response.headers.get('x-service-speculative')).toBe('true')
})

test('a gap is filled by a model whose vocabulary has tokens for it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gap-'))
  const [before, after, gap] = [3, 4, 5]
  const path = await withKeys(STARTER, join(folder, 'gap.gguf'), {
    'tokenizer.ggml.fim_pre_token_id': before,
    'tokenizer.ggml.fim_suf_token_id': after,
    'tokenizer.ggml.fim_mid_token_id': gap,
  })
  const filling = await openStarter({ path })
  const other = await serveForTest(filling)
  onTestFinished(async () => {
    await other.close()
    await filling.close()
    await rm(folder, { recursive: true })
  })
  const [prompt, suffix] = ['The capital <|im_start|>of', ' is Paris.']
  const written = [before, ...model.tokenize(prompt, false), after, ...model.tokenize(suffix, false), gap]
  const filled = await complete({ prompt, suffix, logprobs: 2 }, other)
  expect(filled.usage!.prompt_tokens).toBe(written.length)
  const same = await one({ prompt: written, logprobs: 2 }, other)
  expect(filled.choices[0]).toMatchObject({ text: same.text, logprobs: { tokens: same.logprobs!.tokens } })
  expect((await one({ suffix: '' }, other)).text).toBe(' Paris.')
})

const SHAPE = 'prompt must be a string, an array of token numbers, or an array of either.'
test.each([
  [{ prompt: undefined }, 'prompt', 'prompt is required: a string or an array of at least 1 item.'],
  [{ prompt: [1, 'two'] }, 'prompt', SHAPE],
  [{ prompt: [[1.5]] }, 'prompt', SHAPE],
  [{ prompt: [1024] }, 'prompt', 'prompt has the token 1024, but those of this model are 0 to 1023.'],
  [{ prompt: '' }, 'prompt', 'prompt must have at least one token.'],
  [
    { n: 8, prompt: Array(9).fill('a') },
    'prompt',
    'prompt and n ask for 72 completions. Ask for at most 64 at a time.',
  ],
  [{ logprobs: 6 }, 'logprobs', 'logprobs must be an integer from 0 to 5, got 6.'],
  [{ max_tokens: -1 }, 'max_tokens', 'max_tokens must be an integer of at least 0, got -1.'],
  [{ messages: [] }, 'messages', "'messages' is not a field of this request. Leave it out."],
])('%j is refused', async (fields, param, message) => {
  expect(await faultOf(fields as Body)).toEqual([400, 'invalid_request', param, message])
})

test.each([
  [{ suffix: 'x' }, 'suffix', /^suffix is not supported: the vocabulary of this model has no tokens/],
  [{ suffix: 'x', echo: true }, 'echo', /^echo together with suffix is not supported/],
  [{ best_of: 2 }, 'best_of', /^'best_of' has a value that this server does not support/],
])('%j is refused as unsupported', async (fields, param, message) => {
  expect(await faultOf(fields)).toEqual([400, 'unsupported', param, expect.stringMatching(message)])
})

test('a prompt that does not fit is refused with its size', async () => {
  const far = await faultOf({ prompt: 'w '.repeat(100_000) })
  expect(far).toEqual([
    400,
    'context_length_exceeded',
    'prompt',
    expect.stringMatching(/^The prompt has 200000 characters/),
  ])
  const near = await faultOf({ prompt: 'w '.repeat(3000) })
  expect(near).toEqual([
    400,
    'context_length_exceeded',
    'prompt',
    expect.stringMatching(/^The prompt amounts to \d+ tokens, and/),
  ])
})
