import { expect, onTestFinished, test } from 'vitest'
import { readGgufHeader } from '../../models/gguf/header.ts'
import type { Addon } from './binding/addon.ts'
import { loadAddon } from './binding/load-addon.ts'
import { openRunner, type Runner } from './runner.ts'
import { type DraftOptions, settingsOf } from './settings.ts'

const MODEL = 'models/starter.gguf'

/** Asks all questions at once, and returns the text of each answer. */
const ask = async (
  firstBytes: number,
  questions: readonly string[],
  {
    draft = null,
    maxTokens = 40,
    warn = () => undefined,
  }: { draft?: DraftOptions | null; maxTokens?: number; warn?: (message: string) => void } = {},
): Promise<readonly string[]> => {
  const texts = questions.map(() => '')
  let runner: Runner | null = null
  await new Promise<void>((resolve, reject) => {
    let running = questions.length
    const onEvents: Parameters<typeof openRunner>[2]['onEvents'] = (events) => {
      for (const event of events) {
        if (event.type === 'text') texts[event.id] += event.text
        // The others arrive while the first answer is being written.
        if (event.type === 'started' && event.id === 0) for (let id = 1; id < questions.length; id++) chat(id)
        if (event.type === 'finished' && --running === 0) resolve()
        if (event.type === 'failed') reject(new Error(event.failure.message))
      }
    }
    const chat = (id: number): void =>
      runner!.chat(id, {
        messages: [{ role: 'user', content: questions[id]! }],
        maxTokens,
        temperature: 0,
        topP: 1,
        seed: 1,
        stop: [],
        responseFormat: { type: 'text' },
      })
    const settings = settingsOf({
      name: 'starter',
      path: MODEL,
      threads: 1,
      cacheMegabytes: 64,
      draft,
      log: () => undefined,
    })
    readGgufHeader(MODEL)
      .then((header) => openRunner(settings, header, { onEvents, figures: () => undefined, warn }, firstBytes))
      .then((opened) => {
        runner = opened
        chat(0)
      }, reject)
  })
  return texts
}

test('growing the slots during generation does not change the text', async () => {
  const questions = ['What is the capital of France?', 'What is the capital of Italy?', 'Hello!']
  const together = await ask(1, questions)
  expect(together[0]).toBe('The capital of France is Paris.')
  expect(together[1]).toBe('The capital of Italy is Rome.')
  expect(together).toEqual(await ask(2 ** 30, questions))
})

test('replies continue without the draft model after llama.cpp fails to compute with it', async () => {
  const addon = (await loadAddon(null)) as { -readonly [Name in keyof Addon]: Addon[Name] }
  const { AddonContext, AddonModel } = addon
  onTestFinished(() => void Object.assign(addon, { AddonContext, AddonModel }))
  const draft = { kind: 'draft-model', path: 'test/fixtures/models/tiny-chat-first1-q8_0.gguf' } as const
  const drafts = new Set<object>()
  let computed = 0
  addon.AddonModel = class extends AddonModel {
    constructor(path: string, options: object) {
      super(path, options)
      if (path === draft.path) drafts.add(this)
    }
  }
  addon.AddonContext = class extends AddonContext {
    readonly isDraft: boolean
    constructor(model: InstanceType<typeof AddonModel>, options: object) {
      super(model, options)
      this.isDraft = drafts.has(model)
    }
    override async decodeBatch(): Promise<void> {
      if (this.isDraft && ++computed > 1) throw new Error('llama_decode failed: 2')
      return super.decodeBatch()
    }
  }
  const questions = ['Count from 1 to 20.', 'Hello!']
  const warnings: string[] = []
  // Long enough to try guesses again where the times of a busy machine speak against them.
  const maxTokens = 100
  const without = await ask(2 ** 30, questions, { draft, maxTokens, warn: (message) => warnings.push(message) })
  expect(warnings).toEqual(['speculative decoding has failed and is off from here on: llama_decode failed: 2'])
  expect(computed).toBe(2)
  expect(without).toEqual(await ask(2 ** 30, questions, { maxTokens }))
})
