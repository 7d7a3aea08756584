import type { ChatMessage } from '../../engines/engine.ts'
import { type Kept, removalsIn } from './removal-order.ts'

export interface CompressOptions {
  /** Prompts of at most this many tokens are left unchanged. */
  readonly thresholdTokens: number
  /** Where to stop. Three quarters of the threshold by default, so that not every further turn is compressed again. */
  readonly targetTokens?: number
}

export type CountTokens = (messages: readonly ChatMessage[]) => Promise<number>

/** The engine counts tokens only this often. In between, tokens are estimated from characters. */
const MAX_COUNTS = 8

/**
 * Shortens a long conversation. Removes duplicates from older turns, then the sentences and code blocks least relevant to the
 * last user turn, then whole old exchanges, until the target is reached. Never changes system messages and the last two
 * exchanges, leaves no message empty, and is deterministic. The removed text may have mattered: test/bench/compression.ts
 * measures how often.
 *
 * @returns null if nothing was removed
 */
export const compress = async (
  messages: readonly ChatMessage[],
  countTokens: CountTokens,
  { thresholdTokens, targetTokens = Math.floor(thresholdTokens * 0.75) }: CompressOptions,
): Promise<readonly ChatMessage[] | null> => {
  const tokensBefore = await countTokens(messages)
  if (tokensBefore <= thresholdTokens) return null
  const { kept, removals } = removalsIn(messages)
  let shorter = messages
  let tokens = tokensBefore
  let next = 0
  for (let count = 1; tokens > targetTokens && next < removals.length; count++) {
    const charactersPerToken = lengthOf(shorter) / Math.max(1, tokens)
    const requested = count < MAX_COUNTS ? (tokens - targetTokens) * charactersPerToken : Number.POSITIVE_INFINITY
    for (let gone = 0; gone < requested && next < removals.length; next++) {
      const removal = removals[next]!
      removal.apply(kept)
      gone += removal.characters
    }
    shorter = rebuilt(messages, kept)
    tokens = await countTokens(shorter)
  }
  return tokens < tokensBefore ? shorter : null
}

const lengthOf = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, { content }) => sum + content.length, 0)

/** Returns unchanged messages as the same objects, and omits removed exchanges. */
const rebuilt = (messages: readonly ChatMessage[], kept: Kept): ChatMessage[] =>
  messages.flatMap((message, index) => {
    const older = kept.get(index)
    if (older === null) return []
    if (older === undefined || older.left.size === older.units.length) return [message]
    const content = older.units
      .filter((_, unit) => older.left.has(unit))
      .map(({ text }) => text)
      .join('')
      // Keeps the first line's indentation, which may be part of code.
      .replace(/^\s*\n/, '')
      .trimEnd()
    return [{ ...message, content }]
  })
