import type { ChatMessage } from '../../engines/engine.ts'
import { type Kept, type Removal, removalsIn } from './removal-order.ts'

export interface CompressOptions {
  /** Prompts of up to so many tokens are left as they are. */
  readonly thresholdTokens: number
  /** Where to stop: three quarters of the threshold unless given, so that not every further turn compresses again. */
  readonly targetTokens?: number
}

export interface CompressionReport {
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly removedTokens: number
  /** False when all that may go is gone, and it is still too long. */
  readonly reachedTarget: boolean
  readonly removed: Readonly<Record<Removal['kind'], number>>
}

export interface Compressed {
  readonly messages: readonly ChatMessage[]
  readonly report: CompressionReport
}

export type CountTokens = (messages: readonly ChatMessage[]) => Promise<number>

/** The engine is asked a few times only: in between, tokens are estimated from characters. */
const MAX_COUNTS = 8

/**
 * Makes a long conversation shorter: takes out of older turns what was said twice, then the sentences and blocks of code
 * that have least to do with the last user turn, then whole old exchanges, until the target is met. System messages and
 * the last two exchanges are never touched, no message becomes empty, and the same input always gives the same output.
 * What it drops may have mattered: test/bench/compression.ts measures how often.
 *
 * @returns null when nothing was removed
 */
export const compress = async (
  messages: readonly ChatMessage[],
  countTokens: CountTokens,
  { thresholdTokens, targetTokens = Math.floor(thresholdTokens * 0.75) }: CompressOptions,
): Promise<Compressed | null> => {
  const tokensBefore = await countTokens(messages)
  if (tokensBefore <= thresholdTokens) return null
  const { kept, removals } = removalsIn(messages)
  const removed = { duplicate: 0, sentence: 0, code: 0, exchange: 0 }
  let shorter = messages
  let tokens = tokensBefore
  let next = 0
  for (let count = 1; tokens > targetTokens && next < removals.length; count++) {
    const charactersPerToken = lengthOf(shorter) / Math.max(1, tokens)
    const requested = count < MAX_COUNTS ? (tokens - targetTokens) * charactersPerToken : Number.POSITIVE_INFINITY
    for (let gone = 0; gone < requested && next < removals.length; next++) {
      const removal = removals[next]!
      removal.apply(kept)
      removed[removal.kind]++
      gone += removal.characters
    }
    shorter = rebuilt(messages, kept)
    tokens = await countTokens(shorter)
  }
  if (tokens >= tokensBefore) return null
  const removedTokens = tokensBefore - tokens
  const reachedTarget = tokens <= targetTokens
  return {
    messages: shorter,
    report: { tokensBefore, tokensAfter: tokens, removedTokens, reachedTarget, removed },
  }
}

const lengthOf = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, { content }) => sum + content.length, 0)

/** Messages that lost nothing are the same objects; those of removed exchanges are gone. */
const rebuilt = (messages: readonly ChatMessage[], kept: Kept): ChatMessage[] =>
  messages.flatMap((message, index) => {
    const older = kept.get(index)
    if (older === null) return []
    if (older === undefined || older.left.size === older.units.length) return [message]
    const content = older.units
      .filter((_, unit) => older.left.has(unit))
      .map(({ text }) => text)
      .join('')
      // The indentation of what comes first now may be that of code.
      .replace(/^\s*\n/, '')
      .trimEnd()
    return [{ ...message, content }]
  })
