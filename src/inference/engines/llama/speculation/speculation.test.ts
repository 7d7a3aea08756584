import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { InferenceError } from '../../../errors.ts'
import type { ChatRequest, Engine, Speculation } from '../../engine.ts'
import { openLlamaEngine } from '../open-engine.ts'
import type { DraftOptions } from '../settings.ts'

const root = join(import.meta.dirname, '../../../../..')
const STARTER = join(root, 'models/starter.gguf')
const FIRST_BLOCK = join(root, 'test/fixtures/models/tiny-chat-first1-q8_0.gguf')

const open = (draft: DraftOptions | null, log: (line: string) => void = () => {}) =>
  openLlamaEngine({
    name: 'starter',
    path: STARTER,
    threads: 1,
    slots: 2,
    contextTokens: 512,
    cacheMegabytes: 0,
    draft,
    log,
  })

const QUESTIONS = [
  'What is the capital of France?',
  'Count from 1 to 20.',
  'Repeat the words red green blue red green blue three times.',
  'Write JSON with a name and an age.',
  'Tell me a story about a fox and a river.',
  'hello',
]

const output = async (engine: Engine, question: string, more: Partial<ChatRequest> = {}) => {
  const request: ChatRequest = {
    messages: [{ role: 'user', content: question }],
    maxTokens: 60,
    temperature: 0,
    topP: 1,
    seed: 1,
    stop: [],
    responseFormat: { type: 'text' },
    ...more,
  }
  let text = ''
  for await (const event of engine.chat!(request, new AbortController().signal)) {
    if (event.type === 'text') text += event.text
    if (event.type === 'finished') return { text, ...event.result }
  }
  throw new Error('The answer did not finish.')
}

const outputs = async (engine: Engine) => {
  const replies = []
  for (const question of QUESTIONS) {
    replies.push(await output(engine, question))
    replies.push(await output(engine, question, { temperature: 1.2, topP: 0.95, seed: 77 }))
    replies.push(await output(engine, question, { responseFormat: { type: 'json_object' }, temperature: 0.8, seed: 5 }))
  }
  return replies
}

const plainly = ({ text, reason, completionTokens }: Awaited<ReturnType<typeof output>>) => ({
  text,
  reason,
  completionTokens,
})

const DRAFTS: readonly DraftOptions[] = [
  { kind: 'prompt-lookup' },
  { kind: 'draft-model', path: FIRST_BLOCK },
  { kind: 'first-layers' },
]

/** The replies without a draft. */
let expected: Awaited<ReturnType<typeof outputs>>
beforeAll(async () => {
  const plain = await open(null)
  expected = await outputs(plain).finally(plain.close)
})

it.each(DRAFTS)('writes the same text with $kind as without, greedy and sampled, free and in JSON', async (draft) => {
  const engine = await open(draft)
  try {
    const replies = await outputs(engine)
    expect(replies.map(plainly)).toEqual(expected.map(plainly))
    const together = await Promise.all(QUESTIONS.map((question) => output(engine, question)))
    expect(together.map(plainly)).toEqual(expected.filter((_, n) => n % 3 === 0).map(plainly))
    const counted = replies.map(({ speculation }) => speculation).filter((each): each is Speculation => each !== null)
    expect(counted.length).toBeGreaterThan(0)
    for (const { kind, drafted, confirmed } of counted) {
      expect(kind).toBe(draft.kind)
      expect(confirmed).toBeLessThanOrEqual(drafted)
    }
    expect(counted.some(({ confirmed }) => confirmed > 0)).toBe(true)
    expect(expected.every(({ speculation }) => speculation === null)).toBe(true)
  } finally {
    await engine.close()
  }
})

it('leaves no file of the first blocks behind', () => {
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('svc-first-layers-'))).toEqual([])
})

it('answers without a draft and warns if there is no room for the first blocks', async () => {
  const { TMPDIR } = process.env
  onTestFinished(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  process.env.TMPDIR = join(root, 'no-such-folder')
  const lines: string[] = []
  const engine = await open({ kind: 'first-layers' }, (line) => lines.push(line))
  try {
    expect(await output(engine, QUESTIONS[0]!)).toEqual(expected[0])
    expect(lines).toEqual([
      expect.stringContaining('the engine of starter: speculative decoding could not be started and stays off: ENOENT'),
    ])
  } finally {
    await engine.close()
  }
})

it('refuses a draft model that is a LoRA adapter', async () => {
  const refused = open({ kind: 'draft-model', path: join(root, 'test/fixtures/models/tiny-lora.gguf') })
  await expect(refused).rejects.toThrow(InferenceError)
  await expect(refused).rejects.toThrow('is a LoRA adapter')
})
