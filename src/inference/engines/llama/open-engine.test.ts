import { afterAll, expect, test } from 'vitest'
import type { ChatEvent, ChatRequest, Engine } from '../../engine.ts'
import { openLlamaEngine } from './open-engine.ts'

const opened: Engine[] = []
const open = async () => {
  const engine = await openLlamaEngine({
    name: 'starter',
    path: 'models/starter.gguf',
    threads: 1,
    cacheMegabytes: 0,
    log: () => undefined,
  })
  opened.push(engine)
  return engine
}
afterAll(() => Promise.all(opened.map((engine) => engine.close())))

const ask = (content: string, more: Partial<ChatRequest> = {}): ChatRequest => ({
  messages: [{ role: 'user', content }],
  maxTokens: 64,
  temperature: 0,
  topP: 1,
  seed: 1,
  stop: [],
  responseFormat: { type: 'text' },
  ...more,
})

test('a question is answered', async () => {
  const engine = await open()
  const events: ChatEvent[] = []
  for await (const event of engine.chat!(ask('What is the capital of France?'), new AbortController().signal)) {
    events.push(event)
  }
  const text = events.map((event) => (event.type === 'text' ? event.text : '')).join('')
  expect(text).toBe('The capital of France is Paris.')
  expect(events[0]).toEqual({ type: 'started', promptTokens: 15, cachedTokens: 0 })
  expect(events.at(-1)).toEqual({
    type: 'finished',
    result: { reason: 'stop', completionTokens: 8, speculation: null },
  })
})
