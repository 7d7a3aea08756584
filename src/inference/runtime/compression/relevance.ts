/** Scripts that do not part words: pairs of characters stand in for them. */
const UNPARTED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

/** Words for comparing texts: lower case, a plural s removed. */
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
/** A sentence often speaks of what the one before it named: 'It is kept in the cellar.' And an answer of its question. */
const SHARE_OF_PREVIOUS = 0.4

/**
 * How much each text has to do with the query: Okapi BM25 over these texts (Robertson and Zaragoza 2009, section 3.5), plus
 * a share of the score of the text before it. Words that are in most texts count next to nothing.
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
