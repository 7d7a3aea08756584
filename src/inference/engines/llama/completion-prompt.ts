import { InferenceError } from '../../errors.ts'
import type { Completion } from '../engine.ts'
import { createDetokenizer } from '../text/text-stream.ts'
import type { LlamaModel } from './binding/load-model.ts'

type Vocabulary = Pick<LlamaModel, 'tokenize' | 'detokenize' | 'firstToken' | 'gapTokens' | 'vocabulary'>

const GAP = 'the vocabulary of this model has no tokens to fill in the middle. Use a code model that has them.'

/**
 * Tokenizes a text to continue, like llama-server: words of special tokens become those tokens, except around a gap, and the
 * model's first token comes before a text that does not begin with it, but never before tokens.
 * @throws InferenceError invalid_request, unsupported
 */
export const tokenizePrompt = (model: Vocabulary, { prompt, suffix }: Completion): number[] => {
  const { vocabulary, firstToken, gapTokens } = model
  const invalid = (what: string) => new InferenceError('invalid_request', `prompt ${what}`, { param: 'prompt' })
  const isText = typeof prompt === 'string'
  const unknown = isText ? undefined : prompt.find((token) => token < 0 || token >= vocabulary)
  if (unknown !== undefined)
    throw invalid(`has the token ${unknown}, but those of this model are 0 to ${vocabulary - 1}.`)
  const tokens = [...(isText ? model.tokenize(prompt, suffix === null) : prompt)]
  if (suffix !== null) {
    if (gapTokens === null)
      throw new InferenceError('unsupported', `suffix is not supported: ${GAP}`, { param: 'suffix' })
    tokens.unshift(gapTokens[0])
    tokens.push(gapTokens[1], ...model.tokenize(suffix, false), gapTokens[2])
  }
  if (isText && firstToken !== null && tokens[0] !== firstToken) tokens.unshift(firstToken)
  if (tokens.length === 0) throw invalid('must have at least one token.')
  return tokens
}

/** Returns the text of each token, '' for a first token that the text of the prompt does not contain. */
export const textsOf = (
  { detokenize, firstToken }: Vocabulary,
  prompt: Completion['prompt'],
  tokens: readonly number[],
) => {
  const reader = createDetokenizer((each) => detokenize(each, true))
  const isAdded =
    typeof prompt === 'string' && tokens[0] === firstToken && !prompt.startsWith(detokenize([tokens[0]!], true))
  return tokens.map((token, index) => (index === 0 && isAdded ? '' : reader.push(token)))
}
