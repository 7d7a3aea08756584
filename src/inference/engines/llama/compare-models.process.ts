import { InferenceError } from '../../errors.ts'
import { readGgufHeader } from '../../models/gguf/header.ts'
import { serveOnce } from '../child/run-once.ts'
import { loadAddon } from './binding/load-addon.ts'
import { type LlamaModel, loadModel } from './binding/load-model.ts'
import { openTokenProbabilities, type TokenProbabilities } from './binding/token-probabilities.ts'
import type { ComparisonCommand, ModelComparison } from './compare-models.ts'

const WINDOW = 512
const MAX_WINDOWS = 16
/** Fewer tokens are not meaningful. */
const MIN_TOKENS = 32
/** Logits of this many tokens are in memory at a time. */
const STRIDE = 64
const TIMED_TOKENS = 16
/** Probabilities that float32 rounds to zero are not impossible. */
const MIN_PROBABILITY = 1e-40

/** Splits a text into windows of equal length that start with the model's first token; the last, partial one is omitted. */
const windowsOf = ({ tokenize, firstToken, trainContextTokens }: LlamaModel, text: string): Uint32Array[] => {
  const tokens = [...(firstToken === null ? [] : [firstToken]), ...tokenize(text, false)]
  if (tokens.length < MIN_TOKENS) {
    const words = `The text has ${tokens.length} tokens; at least ${MIN_TOKENS} are needed, and ${WINDOW} or more for a meaningful result.`
    throw new InferenceError('unsupported', words)
  }
  const length = Math.min(WINDOW, trainContextTokens, tokens.length)
  return Array.from({ length: Math.min(MAX_WINDOWS, Math.floor(tokens.length / length)) }, (_, index) => {
    const window = Uint32Array.from(tokens.slice(index * length, (index + 1) * length))
    if (firstToken !== null) window[0] = firstToken
    return window
  })
}

const median = (values: readonly number[]): number => [...values].sort((one, other) => one - other)[values.length >> 1]!

/** Computes one token at a time, as in generation, and returns the median time. */
const timePerToken = async (model: TokenProbabilities, window: Uint32Array): Promise<number> => {
  model.clear()
  const times: number[] = []
  for (let at = 0; at < Math.min(TIMED_TOKENS, window.length); at++) {
    const started = performance.now()
    await model.read(window.subarray(at, at + 1), at)
    times.push(performance.now() - started)
  }
  return median(times)
}

const mostLikely = (row: Float32Array): number => row.reduce((best, value, at) => (value > row[best]! ? at : best), 0)

/** KL(p || q) in nats. */
const divergenceOf = (p: Float32Array, q: Float32Array): number => {
  let sum = 0
  for (let at = 0; at < p.length; at++)
    if (p[at]! > 0) sum += p[at]! * Math.log(p[at]! / Math.max(q[at]!, MIN_PROBABILITY))
  return Math.max(0, sum)
}

const compare = async ({ original, other, text, threads }: ComparisonCommand): Promise<ModelComparison> => {
  if ((await readGgufHeader(original)).embeds) {
    throw new InferenceError('unsupported', 'The model computes embeddings: it has no token probabilities to compare.')
  }
  const addon = await loadAddon(null)
  const models = [await loadModel(original, addon), await loadModel(other, addon)] as const
  const windows = windowsOf(models[0], text)
  const length = windows[0]!.length
  const [one, two] = [
    await openTokenProbabilities(models[0], length, threads),
    await openTokenProbabilities(models[1], length, threads),
  ] as const
  let [loss, otherLoss, divergence, same, count] = [0, 0, 0, 0, 0]
  const score = (next: number, p: Float32Array, q: Float32Array): void => {
    loss -= Math.log(Math.max(p[next]!, MIN_PROBABILITY))
    otherLoss -= Math.log(Math.max(q[next]!, MIN_PROBABILITY))
    divergence += divergenceOf(p, q)
    same += mostLikely(p) === mostLikely(q) ? 1 : 0
    count++
  }
  for (const window of windows) {
    const half = length >> 1
    for (const model of [one, two]) {
      model.clear()
      await model.read(window.subarray(0, half), 0)
    }
    // The token after the last one is not in the window.
    for (let at = half; at < length - 1; at += STRIDE) {
      const part = window.subarray(at, Math.min(at + STRIDE, length - 1))
      const [rows, otherRows] = [await one.after(part, at), await two.after(part, at)]
      for (const [index, row] of rows.entries()) score(window[at + index + 1]!, row, otherRows[index]!)
    }
  }
  const statistics = async (model: TokenProbabilities, sum: number) => ({
    perplexity: Math.exp(sum / count),
    millisecondsPerToken: await timePerToken(model, windows[0]!),
  })
  return {
    original: await statistics(one, loss),
    other: await statistics(two, otherLoss),
    divergence: divergence / count,
    agreement: same / count,
    scoredTokens: count,
  }
}

serveOnce(compare)
