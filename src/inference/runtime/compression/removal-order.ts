import type { ChatMessage } from '../../engines/engine.ts'
import { type Unit, unitsOf } from './units.ts'

/** Scripts that do not separate words: pairs of characters replace words. */
const UNPARTED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

/** Splits a text into words for comparison: lower case, without a plural s. */
export const wordsOf = (text: string): string[] => {
  const words: string[] = []
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}_]+/gu)) {
    if (UNPARTED.test(word)) {
      const characters = [...word]
      for (let at = 0; at < Math.max(1, characters.length - 1); at++) words.push(characters.slice(at, at + 2).join(''))
    } else words.push(word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word)
  }
  return words
}

const K1 = 1.2
const B = 0.75
/** A sentence often refers to the one before it, as in 'It is kept in the cellar.', and an answer to its question. */
const SHARE_OF_PREVIOUS = 0.4

/**
 * Scores how relevant each text is to the query: Okapi BM25 over these texts (Robertson and Zaragoza 2009, section 3.5), plus a
 * share of the previous text's score. Words that occur in most texts count almost nothing.
 */
export const relevanceTo = (query: string, texts: readonly string[]): readonly number[] => {
  const documents = texts.map(wordsOf)
  const averageLength = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(1, documents.length)
  const holding = new Map<string, number>()
  for (const words of documents) for (const word of new Set(words)) holding.set(word, (holding.get(word) ?? 0) + 1)
  const weights = new Map<string, number>()
  for (const word of wordsOf(query)) {
    const count = holding.get(word) ?? 0
    weights.set(word, Math.log(1 + (documents.length - count + 0.5) / (count + 0.5)))
  }
  const scores = documents.map((words) => {
    const counts = new Map<string, number>()
    for (const word of words) if (weights.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1)
    const length = K1 * (1 - B + (B * words.length) / Math.max(1, averageLength))
    let score = 0
    for (const [word, count] of counts) score += (weights.get(word)! * count * (K1 + 1)) / (count + length)
    return score
  })
  return scores.map((score, index) => score + SHARE_OF_PREVIOUS * (scores[index - 1] ?? 0))
}

/** One step of compression, which removes `characters`. */
export interface Removal {
  readonly characters: number
  readonly apply: (kept: Kept) => void
}

/** What remains of older messages, by index: their units, and the indexes of the remaining ones; null if removed. */
export type Kept = Map<number, { readonly units: readonly Unit[]; readonly left: Set<number> } | null>

/** The last user turns that are protected. Earlier ones are context that may be pruned. */
const KEPT_EXCHANGES = 2

/** Shorter texts, such as 'Yes.', may repeat without being redundant. */
const DUPLICATE_CHARACTERS = 20

interface Candidate {
  readonly message: number
  readonly index: number
  readonly unit: Unit
  readonly score: number
}

/** Returns the index from which nothing is changed: the start of the last exchanges. */
const protectedFrom = (messages: readonly ChatMessage[]): number => {
  const turns = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []))
  return turns.at(-KEPT_EXCHANGES) ?? 0
}

const normal = (text: string): string => text.trim().replace(/\s+/g, ' ').toLowerCase()

/** Finds sentences and blocks of older turns that occur earlier, or in the texts that are kept anyway. */
const duplicatesIn = (candidates: readonly Candidate[], keptTexts: readonly string[]): Candidate[] => {
  const seen = new Set(keptTexts.flatMap(unitsOf).map(({ text }) => normal(text)))
  return candidates.filter(({ unit }) => {
    const text = normal(unit.text)
    if (text.length < DUPLICATE_CHARACTERS) return false
    if (seen.has(text)) return true
    seen.add(text)
    return false
  })
}

const pruning = ({ message, index, unit }: Candidate): Removal => ({
  characters: unit.text.length,
  apply: (kept) => void kept.get(message)?.left.delete(index),
})

/** Lists possible removals in order: duplicates first, then what is least relevant to the last user turn. */
export const removalsIn = (messages: readonly ChatMessage[]): { readonly kept: Kept; readonly removals: Removal[] } => {
  const end = protectedFrom(messages)
  const kept: Kept = new Map()
  for (const [message, { role, content }] of messages.slice(0, end).entries()) {
    if (role === 'system') continue
    const units = unitsOf(content)
    kept.set(message, { units, left: new Set(units.keys()) })
  }
  const older = [...kept].flatMap(([message, all]) => all?.units.map((unit, index) => ({ message, index, unit })) ?? [])
  const requested = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  const scores = relevanceTo(
    requested,
    older.map(({ unit }) => unit.text),
  )
  const candidates: Candidate[] = older.map((unit, index) => ({ ...unit, score: scores[index]! }))

  const untouched = messages
    .filter(({ role }, index) => role === 'system' || index >= end)
    .map(({ content }) => content)
  const redundant = new Set(duplicatesIn(candidates, untouched))
  // The unit that each message keeps: its most relevant one, preferably one that is not a duplicate.
  const best = new Map<number, Candidate>()
  for (const one of [...candidates.filter((other) => !redundant.has(other)), ...redundant]) {
    const rival = best.get(one.message)
    if (rival === undefined || (one.score > rival.score && !redundant.has(one))) best.set(one.message, one)
  }
  for (const one of best.values()) redundant.delete(one)
  const rest = candidates.filter((one) => best.get(one.message) !== one && !redundant.has(one))
  rest.sort((a, b) => a.score - b.score)
  return {
    kept,
    removals: [...[...redundant, ...rest].map(pruning), ...exchangesIn(messages, best, end)],
  }
}

/** Lists whole old exchanges, least relevant first: a user turn with its answers, so that the roles still alternate. */
const exchangesIn = (messages: readonly ChatMessage[], best: Map<number, Candidate>, end: number): Removal[] => {
  const exchanges: number[][] = []
  for (const [index, { role }] of messages.slice(0, end).entries()) {
    if (role === 'user') exchanges.push([index])
    else if (role === 'assistant') exchanges.at(-1)?.push(index)
  }
  const scored = exchanges.map((members) => ({
    members,
    score: Math.max(...members.map((member) => best.get(member)?.score ?? 0)),
    characters: members.reduce((sum, member) => sum + (best.get(member)?.unit.text.length ?? 0), 0),
  }))
  return scored
    .sort((a, b) => a.score - b.score)
    .map(({ members, characters }) => ({
      characters,
      apply: (kept) => {
        for (const member of members) kept.set(member, null)
      },
    }))
}
