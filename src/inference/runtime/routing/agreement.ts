import { jsonOrNull } from '../../../domain/parse-json.ts'

/** The words of a text, or its symbols if it has no words. Marks, such as the vowel signs of Hindi, are parts of words. */
const wordsOf = (text: string): readonly string[] => {
  const plain = text.normalize('NFKC').toLowerCase()
  return plain.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? plain.match(/\S\p{M}*/gu) ?? []
}

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  )
}

const asJson = (text: string): string | null => {
  const value = /^\s*[[{]/.test(text) ? jsonOrNull(text) : null
  return value === null ? null : JSON.stringify(sorted(value))
}

/**
 * Scores how much two answers agree, 0..1: the F1 of their words, as in question answering (Rajpurkar et al. 2016, section
 * 6.1), ignoring case and punctuation, or of their symbols if neither has words; for two JSON documents, whether they are equal. It compares words rather than meaning:
 * 'It is not so' almost agrees with 'It is so'.
 */
export const agreement = (answer: string, expected: string): number => {
  const [json, expectedJson] = [asJson(answer), asJson(expected)]
  if (json !== null && expectedJson !== null) return json === expectedJson ? 1 : 0
  const [words, expectedWords] = [wordsOf(answer), wordsOf(expected)]
  if (words.length === 0 || expectedWords.length === 0) return words.length === expectedWords.length ? 1 : 0
  const left = new Map<string, number>()
  for (const word of expectedWords) left.set(word, (left.get(word) ?? 0) + 1)
  let shared = 0
  for (const word of words) {
    const count = left.get(word) ?? 0
    if (count === 0) continue
    left.set(word, count - 1)
    shared++
  }
  return (2 * shared) / (words.length + expectedWords.length)
}
