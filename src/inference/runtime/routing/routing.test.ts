import { expect, it } from 'vitest'
import type { ChatMessage, RequestedFormat, Tool } from '../../engines/engine.ts'
import {
  bySize,
  type Calibration,
  chooseModel,
  createRoute,
  estimatedTokens,
  type RoutableModel,
} from './choose-model.ts'
import { complexity, reasonsOf } from './complexity.ts'

const asking = (content: string, responseFormat: RequestedFormat = { type: 'text' }, before: ChatMessage[] = []) =>
  complexity({ messages: [...before, { role: 'user', content }], responseFormat })

const EASY = ['Hello', 'What is the capital of France?', 'Who wrote Hamlet?', 'Thanks!', 'Is water wet?']
const MIDDLE = [
  'Explain how vaccines work to a child of ten.',
  'Write a short poem about autumn leaves.',
  'Why is the sky blue, and why is it red in the evening?',
]
const HARD = [
  'Prove that the sum of the first n odd numbers equals n^2, step by step, and then derive a formula for the sum of cubes.',
  'Implement an LRU cache in TypeScript without using any library. It must be O(1), exactly one class, include unit tests:\n```ts\nclass Cache {}\n```',
  'Compare three strategies for migrating a monolith to services, analyze the trade-offs, and design a plan that must never lose data. Ensure it has at least five steps.',
  '1. Parse the log below.\n2. Diagnose the fault.\n3. Write a SQL query: SELECT id FROM runs WHERE 3 + 4 = 7\nExplain why.',
]

it('a score is a number with listed reasons, and the same for the same request', () => {
  expect(asking('What is the capital of France?')).toEqual({
    score: 0,
    signals: [
      { name: 'length', weight: 0.4, value: 0 },
      { name: 'context', weight: 0.3, value: 0 },
      { name: 'code', weight: 0.45, value: 0 },
      { name: 'maths', weight: 0.45, value: 0 },
      { name: 'steps', weight: 0.45, value: 0 },
      { name: 'constraints', weight: 0.4, value: 0 },
      { name: 'structure', weight: 0.3, value: 0 },
      { name: 'turns', weight: 0.2, value: 0 },
      { name: 'questions', weight: 0.25, value: 0 },
      { name: 'task', weight: 0.4, value: 0 },
    ],
  })
  expect(asking(HARD[0]!)).toEqual(asking(HARD[0]!))
  expect(reasonsOf(asking('Hello'))).toBe('nothing demanding')
  expect(reasonsOf(asking('Calculate 3 + 4.'))).toBe('maths 0.30, task 0.06')
})

it('demanding prompts score above medium ones, and those above easy ones', () => {
  const scores = (prompts: readonly string[]) => prompts.map((prompt) => asking(prompt).score)
  expect(Math.max(...scores(EASY))).toBeLessThan(Math.min(...scores(MIDDLE)))
  expect(Math.max(...scores(MIDDLE))).toBeLessThan(Math.min(...scores(HARD)))
})

it('every further reason raises the score, and none reaches 1', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'array', items: {} } } }
  const turns: ChatMessage[] = Array.from({ length: 20 }, (_, turn) => ({
    role: turn % 2 === 0 ? 'user' : 'assistant',
    content: 'and so it went on. '.repeat(200),
  }))
  const steps = [
    asking('Why?'),
    asking('Why? Explain why 3 + 4 = 7.'),
    asking('Why? Explain why 3 + 4 = 7.', { type: 'json_object' }),
    asking('Why? Explain why 3 + 4 = 7.', { type: 'json_schema', schema }),
    asking('Why? Explain why 3 + 4 = 7.', { type: 'json_schema', schema }, turns),
    asking(HARD.join('\n').repeat(50), { type: 'json_schema', schema }, turns),
  ].map(({ score }) => score)
  expect(steps).toEqual([...new Set(steps)].sort((a, b) => a - b))
  expect(steps.at(-1)).toBeLessThan(1)
})

it('conversations without a user, without messages, or with megabytes of text get a score, too', () => {
  const none = complexity({ messages: [{ role: 'system', content: 'Be kind.' }], responseFormat: { type: 'text' } })
  expect([complexity({ messages: [], responseFormat: { type: 'text' } }).score, none.score]).toEqual([0.06, 0.06])
  for (const piece of ['(', 'first ', '1 ', '- ', 'a\n', '`', '\\', 'must ']) {
    expect(asking(piece.repeat(500_000)).score).toBeGreaterThan(0.3)
  }
})

const model = (name: string, parameters: number | null, bytes: number, contextTokens: number | null = null) =>
  ({
    name,
    parameters,
    bytes,
    contextTokens,
    callsFunctions: true,
    enforcesFormats: true,
  }) satisfies RoutableModel
const TOOL: Tool = { name: 'now', description: null, parameters: { type: 'object' }, strict: false }
const THREE = [model('big', 70e9, 40e9), model('small', 1e9, 2e9), model('middle', 7e9, 1e9)]
const scored = (score: number) => ({ score, signals: [] })

it('models are ranked by parameters, or by bytes if any model lacks its number of parameters', () => {
  expect(bySize(THREE).map(({ name }) => name)).toEqual(['small', 'middle', 'big'])
  const unsaid = [...THREE, model('unsaid', null, 3e9)]
  expect(bySize(unsaid).map(({ name }) => name)).toEqual(['middle', 'small', 'unsaid', 'big'])
  const quantizations = [model('q8', 1e9, 2e9), model('q4', 1e9, 1e9)]
  expect(bySize(quantizations).map(({ name }) => name)).toEqual(['q4', 'q8'])
})

it('tiers are equal shares of the score', () => {
  const chosen = (score: number) => chooseModel(THREE, scored(score)).model
  expect([0, 0.33, 0.34, 0.66, 0.67, 0.999].map(chosen)).toEqual(['small', 'small', 'middle', 'middle', 'big', 'big'])
  expect(chooseModel([THREE[0]!], scored(0)).model).toBe('big')
})

it('calibrated tiers replace equal ones if they cover two of the models', () => {
  const tiers = [
    { model: 'small', upToScore: 0.1 },
    { model: 'middle', upToScore: -1 },
    { model: 'big', upToScore: 1 },
  ]
  const calibration: Calibration = { prompts: 40, tiers }
  const chosen = (score: number, models = THREE) => chooseModel(models, scored(score), { calibration }).model
  expect([0, 0.1, 0.11, 0.5, 1].map((score) => chosen(score))).toEqual(['small', 'small', 'big', 'big', 'big'])
  const subset = [THREE[0]!, THREE[1]!, model('unknown', 3e9, 3e9)]
  expect([0.05, 0.3].map((score) => chosen(score, subset))).toEqual(['small', 'big'])
  expect(chosen(0.3, [THREE[1]!, model('other', 9e9, 1)])).toBe('small')
})

it('calibrated models keep the order of their calibration, whatever their size and the order of their names', () => {
  const tiers = [
    { model: 'big', upToScore: 0.4 },
    { model: 'small', upToScore: 1 },
  ]
  for (const models of [THREE, [...THREE].reverse()]) {
    const chosen = (score: number) => chooseModel(models, scored(score), { calibration: { prompts: 40, tiers } })
    expect([0, 0.4, 0.5, 1].map((score) => chosen(score).model)).toEqual(['big', 'big', 'small', 'small'])
    expect(chosen(0).reason).toMatch(/; tier 1 of 3, calibrated on 40 prompts$/)
  }
})

it('a model that lacks what the request needs is skipped', () => {
  const onnx = { ...model('onnx', null, 1), callsFunctions: false, enforcesFormats: false }
  const text = { messages: [{ role: 'user', content: 'Hi' }], responseFormat: { type: 'text' }, tools: [] } as const
  const route = createRoute([onnx, model('gguf', null, 2)])
  const called: ChatMessage = { role: 'tool', content: '', toolCallId: 'a' }
  expect(route(text).model).toBe('onnx')
  expect(route({ ...text, tools: [TOOL] })).toEqual({
    model: 'gguf',
    reason: 'complexity 0.00 (nothing demanding); tier 2 of 2; the functions or the format are not supported by onnx',
  })
  expect(route({ ...text, messages: [...text.messages, called] }).model).toBe('gguf')
  expect(route({ ...text, responseFormat: { type: 'json_object' } }).model).toBe('gguf')
  expect(createRoute([onnx, { ...onnx, name: 'other', bytes: 2 }])({ ...text, tools: [TOOL] }).model).toBe('onnx')
})

it('a model with too short a context is skipped, and the reason says so', () => {
  const models = [model('short', 1e9, 1, 100), model('long', 2e9, 2, 1000)]
  const route = createRoute(models)
  const requested = (content: string) =>
    route({ messages: [{ role: 'user', content }], responseFormat: { type: 'text' }, tools: [] })
  expect(requested('Hello')).toEqual({ model: 'short', reason: 'complexity 0.00 (nothing demanding); tier 1 of 2' })
  expect(estimatedTokens({ messages: [{ role: 'user', content: 'hi '.repeat(300) }], tools: [] })).toBe(308)
  expect(requested('hi '.repeat(300))).toEqual({
    model: 'long',
    reason: 'complexity 0.21 (length 0.21); tier 2 of 2; about 308 tokens are too long for short',
  })
  expect(requested('hi '.repeat(9_000)).reason).toMatch(/; about 9008 tokens are too long for short, long$/)
  expect(requested('hi '.repeat(9_000)).model).toBe('long')
  const alike = createRoute([model('a', 1e9, 1, 100), model('b', 2e9, 2, 100)])
  expect(
    alike({ messages: [{ role: 'user', content: 'hi '.repeat(900) }], responseFormat: { type: 'text' }, tools: [] })
      .model,
  ).toBe('b')
})

it('estimates count functions, calls, and every byte of text that is not ASCII', () => {
  const tokens = (fields: Partial<ChatMessage>, tools: readonly Tool[] = []) =>
    estimatedTokens({ messages: [{ role: 'user', content: '', ...fields }], tools })
  expect(tokens({})).toBe(8)
  expect(tokens({ content: '天'.repeat(210) })).toBe(638)
  expect(tokens({ content: 'é abc' })).toBe(8 + 2 + 2)
  expect(tokens({}, [TOOL])).toBe(8 + 160 + Math.ceil(JSON.stringify([TOOL]).length / 2))
  expect(tokens({ role: 'assistant', reasoning: '天'.repeat(210) })).toBe(638)
  const toolCalls = [{ id: 'a', name: 'f', arguments: { text: 'x'.repeat(1000) } }]
  expect(tokens({ role: 'assistant', toolCalls })).toBe(8 + Math.ceil(JSON.stringify(toolCalls).length / 2))
})
