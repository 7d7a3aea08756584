import type { AddonContext, AddonSampler } from './addon.ts'
import type { LlamaModel } from './load-model.ts'

/** Log probabilities (base e) in the model's own distribution: the softmax of its logits. */
export interface TokenScores {
  readonly logprob: number
  /** The most likely tokens, most likely first. */
  readonly top: readonly (readonly [token: number, logprob: number])[]
}

/** OpenAI's value for a token whose probability is 0 as a float. */
const UNLIKELY = -9999
/** Most tokens are among these, and reading them is cheap; a whole vocabulary takes tens of milliseconds. */
const LIKELY = 64

const logOf = (probability: number): number => (probability > 0 ? Math.log(probability) : UNLIKELY)

/**
 * Returns a function that scores tokens at an output of the context. It has samplers of its own, because those of a choice apply
 * penalties and grammars. Its calls run one after another.
 */
export const openScorer = ({ addon, handle }: Pick<LlamaModel, 'addon' | 'handle'>, context: () => AddonContext) => {
  const open = (temperature: number, topK: number): AddonSampler => {
    const sampler = new addon.AddonSampler(handle)
    sampler.applyConfig({ temperature, topK, topP: 1, minP: 0 })
    return sampler
  }
  let opened: readonly [best: AddonSampler, likely: AddonSampler, all: AddonSampler] | null = null
  /** Returns the tokens that the sampler leaves, most likely first, with the probabilities among them. */
  const left = async (output: number, sampler: AddonSampler): Promise<(readonly [number, number])[]> => {
    const [, pairs] = await context().sampleToken(output, sampler, true)
    return Array.from({ length: pairs.length / 2 }, (_, at) => [pairs[2 * at]!, pairs[2 * at + 1]!] as const)
  }
  const scoresOf = async (output: number, token: number, count: number): Promise<TokenScores> => {
    const [best, likely, all] = (opened ??= [open(0, 0), open(1, LIKELY), open(1, 0)])
    const [, , probability] = await context().sampleToken(output, best, false, true)
    const likeliest = await left(output, likely)
    const share = probability / likeliest[0]![1]
    const top = likeliest.map(([each, among]) => [each, logOf(among * share)] as const)
    const isToken = ([each]: readonly [number, number]): boolean => each === token
    const logprob = top.find(isToken)?.[1] ?? logOf((await left(output, all)).find(isToken)?.[1] ?? 0)
    return { logprob, top: top.slice(0, count) }
  }
  let last: Promise<unknown> = Promise.resolve()
  return (output: number, token: number, count: number): Promise<TokenScores> => {
    const scores = last.then(() => scoresOf(output, token, count))
    last = scores.catch(() => undefined)
    return scores
  }
}
