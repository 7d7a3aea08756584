import type { ChatMessage } from '../../src/inference/engines/engine.ts'
import { chooseModel, estimatedTokens } from '../../src/inference/runtime/routing/choose-model.ts'
import { complexity } from '../../src/inference/runtime/routing/complexity.ts'
import { median, printTable, quantile } from './figures.ts'

const ROUNDS = 40
const DECISIONS = 200
const MODELS = [1e9, 7e9, 70e9].map((parameters, rank) => ({
  name: `model-${rank}`,
  parameters,
  bytes: parameters / 2,
  contextTokens: 8192,
  callsFunctions: true,
  enforcesFormats: true,
}))

const PROSE = 'The keeper of the house explained why the plan must be checked at least twice before it is used. '
const CODE = 'export const total = (rows: readonly number[]): number => rows.reduce((sum, row) => sum + row, 0)\n'
const turns = (count: number): ChatMessage[] =>
  Array.from({ length: count }, (_, turn) => ({
    role: turn % 2 === 0 ? 'user' : 'assistant',
    content: PROSE.repeat(4),
  }))

const PROMPTS: readonly (readonly [name: string, messages: readonly ChatMessage[]])[] = [
  ['one short question', [{ role: 'user', content: 'What is the capital of France?' }]],
  ['1,000 characters of prose', [{ role: 'user', content: PROSE.repeat(10) }]],
  ['8,000 characters of code', [{ role: 'user', content: CODE.repeat(80) }]],
  ['1,000,000 characters', [{ role: 'user', content: PROSE.repeat(10_000) }]],
  ['40 turns', [...turns(40), { role: 'user', content: 'And why is that?' }]],
]

/** The cost of routing a request for the model `auto`, in microseconds. */
export const benchRouting = async (): Promise<void> => {
  const rows = PROMPTS.map(([name, messages]) => {
    const question = { messages, responseFormat: { type: 'text' }, tools: [] } as const
    const decide = () => chooseModel(MODELS, complexity(question), { promptTokens: estimatedTokens(question) })
    for (let warmUp = 0; warmUp < DECISIONS; warmUp++) decide()
    const costs = Array.from({ length: ROUNDS }, () => {
      const started = performance.now()
      for (let decision = 0; decision < DECISIONS; decision++) decide()
      return ((performance.now() - started) * 1000) / DECISIONS
    })
    const { model, reason } = decide()
    return [name, median(costs).toFixed(1), quantile(costs, 0.95).toFixed(1), `${model}: ${reason}`]
  })
  printTable(['prompt', 'median, µs', 'p95, µs', 'decision'], rows)
}
