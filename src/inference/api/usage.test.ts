import { expect, test } from 'vitest'
import type { Speculation } from '../engines/engine.ts'
import { chatFrames, presentUsage } from './chat.routes.ts'
import type { ChoiceEvent } from './choices.ts'
import { accelerationHeaders, addEvent, NOTHING } from './replies.ts'

const started = (index: number, promptTokens: number, cachedTokens: number): ChoiceEvent => ({
  index,
  event: { type: 'started', promptTokens, cachedTokens },
})

const finished = (index: number, completionTokens: number, speculation: Speculation | null): ChoiceEvent => ({
  index,
  event: { type: 'finished', result: { reason: 'stop', completionTokens, speculation } },
})

const tallyOf = (events: readonly ChoiceEvent[]) => events.reduce(addEvent, NOTHING)

test('the prompt counts once, with the cached tokens of its first choice, and completions add up', () => {
  const tally = tallyOf([started(1, 10, 9), started(0, 10, 4), finished(1, 7, null), finished(0, 5, null)])
  expect(presentUsage(tally)).toEqual({
    prompt_tokens: 10,
    completion_tokens: 12,
    total_tokens: 22,
    prompt_tokens_details: { cached_tokens: 4 },
  })
  expect(accelerationHeaders(tally)).toEqual({})
})

test('prompt counts that an engine reports at the end replace the earlier ones', () => {
  const event = finished(0, 3, null)
  const late = {
    reason: 'stop',
    completionTokens: 3,
    speculation: null,
    prompt: { tokens: 8, cachedTokens: 2 },
  } as const
  const tally = tallyOf([started(0, 5, 0), { ...event, event: { type: 'finished', result: late } }])
  expect(tally).toMatchObject({ promptTokens: 8, cachedTokens: 2 })
})

test('speculation is reported if tokens were proposed, and early exit if the first layers were right', () => {
  const lookup = { kind: 'prompt-lookup', drafted: 6, confirmed: 4 } as const
  const first = { kind: 'first-layers', drafted: 10, confirmed: 8 } as const
  expect(accelerationHeaders(tallyOf([finished(0, 9, { ...lookup, drafted: 0, confirmed: 0 })]))).toEqual({})
  expect(accelerationHeaders(tallyOf([finished(0, 9, lookup)]))).toEqual({ 'X-Service-Speculative': 'true' })
  const tally = tallyOf([finished(0, 9, first), finished(1, 9, { ...first, confirmed: 3 })])
  expect(tally.speculation).toEqual({ drafted: 20, confirmed: 11 })
  expect(accelerationHeaders(tally)).toEqual({ 'X-Service-Speculative': 'true', 'X-Service-Early-Exit-Tokens': '11' })
  expect(presentUsage(tally)).toMatchObject({ early_exit_tokens: 11 })
})

test('early exit is reported in the last chunk of a stream even without include_usage', () => {
  const last = finished(0, 9, { kind: 'first-layers', drafted: 10, confirmed: 8 })
  const tally = tallyOf([last])
  const frames = chatFrames({ id: 'chatcmpl-1', created: 1, model: 'm' }, { includeUsage: false, choices: 1 })
  const parsed = JSON.parse(frames.event(last, tally).replace(/^data: /, '')) as object
  expect(parsed).toEqual({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
    usage: presentUsage(tally),
  })
})
