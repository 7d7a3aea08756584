import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BatchContext, openContext } from './batch-context.ts'
import { loadAddon } from './load-addon.ts'
import { type LlamaModel, loadModel } from './load-model.ts'
import { openTokenProbabilities } from './token-probabilities.ts'

let model: LlamaModel
let context: BatchContext
beforeAll(async () => {
  model = await loadModel('models/starter.gguf', await loadAddon(null))
  context = await openContext(model, { slots: 2, contextTokens: 300, batchTokens: 128, threads: 1 })
})
afterAll(() => context.close())

test('scores are the logarithms of the whole distribution, also of unlikely tokens, whatever a sampler does', async () => {
  const tokens = model.tokenize('The capital of France is Paris. Count from 1 to 20.', true)
  const rows = await (await openTokenProbabilities(model, 256, 1)).after(tokens, 0)
  const [outputs] = await context.decode([
    { sequence: 1, position: 0, tokens, outputs: Uint32Array.from(tokens.keys()) },
  ])
  const sampler = context.createSampler({
    temperature: 2,
    topP: 0.1,
    seed: 7,
    sampling: { top_k: 3, presence_penalty: 2 },
    grammar: context.readGrammar('root ::= "no"'),
  })
  let unlikely = 0
  for (const [place, row] of rows.entries()) {
    const output = outputs![place]!
    await sampler.next(output)
    const order = [...row.keys()].sort((one, other) => row[other]! - row[one]!)
    for (const token of [order[0]!, order[40]!, order[90]!, order.at(-1)!]) {
      const { logprob, top } = await context.score(output, token, 20)
      expect(Math.abs(logprob - Math.log(row[token]!))).toBeLessThan(1e-3)
      expect(top.map(([each]) => row[each])).toEqual(order.slice(0, 20).map((each) => row[each]))
      const sum = top.reduce((all, [, each]) => all + Math.exp(each), 0)
      expect(sum).toBeLessThan(1 + 1e-5)
      expect(sum).toBeCloseTo(
        order.slice(0, 20).reduce((all, each) => all + row[each]!, 0),
        4,
      )
      unlikely = Math.min(unlikely, logprob)
    }
  }
  expect(unlikely).toBeLessThan(-12)
  sampler.dispose()
})

test('calls at the same time do not disturb each other', async () => {
  const tokens = model.tokenize('Hello! How can I help you?', true)
  const [outputs] = await context.decode([
    { sequence: 0, position: 0, tokens, outputs: Uint32Array.from(tokens.keys()) },
  ])
  const score = (output: number) => context.score(output, 5, 5)
  const alone = []
  for (const output of outputs!) alone.push(await score(output))
  expect(await Promise.all([...outputs!].map(score))).toEqual(alone)
})
