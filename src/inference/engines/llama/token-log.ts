import type { TokenLogprob } from '../engine.ts'
import type { TextPart } from '../text/reasoning.ts'
import type { LlamaModel } from './binding/load-model.ts'
import type { TokenScores } from './binding/token-scores.ts'

/** What a step added to a reply. */
interface Added {
  readonly parts: readonly TextPart[]
  /** Characters of its tokens, and of the ending that no token has. */
  readonly read: number
  readonly ending: number
  /** Whether the reply ends here, and nothing of its tokens was cut off. */
  readonly isWhole: boolean
}

/** The log probabilities of one choice's tokens, until the text of the tokens is sent. */
export interface TokenLog {
  /** How many of the most likely tokens are requested in each place. */
  readonly alternatives: number
  /** How many tokens of the prompt are scored in one batch; null if they are not requested. */
  readonly promptPart: number | null
  /** Stores the scores of the token at a position. A prompt that is computed again is also scored again. */
  scored(position: number, token: number, scores: TokenScores): void
  /** Notes the text of the reply's next token, '' for the one that ends it. */
  read(position: number, text: string): void
  /** Returns the tokens of the text in a step: neither of reasoning, nor of what a stop sequence or a schema cut off. */
  release(added: Added): readonly TokenLogprob[]
  ofPrompt(): { readonly logprobs: readonly TokenLogprob[] }
}

/** Logits of prompt tokens that are in memory at a time: 16 MiB. */
const MAX_LOGITS = 2 ** 22

/** @param prompt the text of each of its tokens if they are requested. The first token has no log probability. */
export const createTokenLog = (
  { bytesOf, detokenize, vocabulary }: Pick<LlamaModel, 'bytesOf' | 'detokenize' | 'vocabulary'>,
  alternatives: number,
  prompt: { readonly first: number; readonly texts: readonly string[] } | null,
): TokenLog => {
  const describe = (token: number) => {
    const bytes = Buffer.from(bytesOf?.(token) ?? detokenize([token], true))
    return { token: bytes.toString(), bytes: [...bytes] }
  }
  const entries: Omit<TokenLogprob, 'characters'>[] =
    prompt === null ? [] : [{ ...describe(prompt.first), logprob: null, top: [] }]
  const withText = (at: number, text: string): TokenLogprob => ({ ...entries[at]!, characters: [...text].length })
  /** Tokens of the reply whose text is not sent. A token within a character belongs to that character. */
  let pending: { readonly start: number; readonly end: number; readonly entry: TokenLogprob }[] = []
  let length = 0
  let passed = 0
  let sent = 0
  return {
    alternatives,
    promptPart: prompt && Math.max(1, Math.floor(MAX_LOGITS / vocabulary)),
    scored: (position, token, { logprob, top }) => {
      const others = top.map(([other, score]) => ({ ...describe(other), logprob: score }))
      entries[position] = { ...describe(token), logprob, top: others }
    },
    read: (position, text) => {
      if (entries[position] === undefined) return
      pending.push({ start: length, end: length + Math.max(1, text.length), entry: withText(position, text) })
      length += text.length
    },
    release: ({ parts, read, ending, isWhole }) => {
      const text = parts.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)
      passed += read
      sent += text
      if (text === 0 && !isWhole) return []
      // Reasoning, and the spaces and marks around it, are before the text.
      const hidden = passed + ending - sent
      const isOut = ({ start }: { readonly start: number }): boolean => isWhole || start < passed
      const out = pending.filter(isOut)
      pending = pending.filter((each) => !isOut(each))
      return out.filter(({ end }) => end > hidden).map(({ entry }) => entry)
    },
    ofPrompt: () => ({ logprobs: prompt?.texts.map((each, position) => withText(position, each)) ?? [] }),
  }
}
