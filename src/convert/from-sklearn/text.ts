// Text vectorizers, using onnxruntime's operators: other runtimes have no Tokenizer.
import { int, ints, text, texts } from '../onnx/model.ts'
import type { Estimator } from './estimator.ts'
import { normed } from './preprocessing.ts'
import { type Converter, tableResult } from './result.ts'
import type { Table, TableGraph } from './table.ts'

const WORDS = '(?u)\\b\\w\\w+\\b'

const requirePlain = (estimator: Estimator): void => {
  const given = ['tokenizer', 'preprocessor', 'strip_accents'].find((name) => estimator.has(name))
  if (given !== undefined) estimator.refuse(`${given} cannot be converted. Fit it without.`)
  if (estimator.get('analyzer') !== 'word' || estimator.get('token_pattern') !== WORDS)
    estimator.refuse('only analyzer="word" with the default token_pattern can be converted.')
}

/** The n-grams of the vocabulary with their columns, grouped by number of words. */
const gramsOf = (estimator: Estimator): { words: string[]; column: number }[][] => {
  const [least = 1, most = 1] = Array.from(estimator.numbers('ngram_range').data)
  if (!(least >= 1 && most <= 8)) estimator.refuse('n-grams of more than 8 words cannot be converted.')
  if (most > 1 && estimator.has('stop_words')) estimator.refuse('stop_words together with n-grams cannot be converted.')
  const vocabulary = estimator.get('vocabulary_')
  if (!(vocabulary instanceof Map)) return estimator.refuse('vocabulary_ is not a dictionary. Is it fitted?')
  estimator.spend(vocabulary.size)
  const grams = Array.from({ length: most }, (): { words: string[]; column: number }[] => [])
  for (const [key, column] of vocabulary) {
    const words = String(key).split(' ')
    const isFit = Number(column) >= 0 && Number(column) < vocabulary.size && words.length <= most
    if (!isFit) estimator.refuse(`vocabulary_ has ${JSON.stringify(key)}, which does not fit its other entries.`)
    grams[words.length - 1]!.push({ words, column: Number(column) })
  }
  return grams
}

/** Counts how often each n-gram of the vocabulary occurs. Only the letters A to Z are lowercased. */
const counts = (estimator: Estimator, x: Table, graph: TableGraph): Table => {
  requirePlain(estimator)
  const grams = gramsOf(estimator)
  const flat = graph.reshape(graph.as(x, 'string'), [-1])
  // Any other locale would have to be installed where the model runs.
  const lower = { case_change_action: text('LOWER'), is_case_sensitive: int(0), locale: text('C') }
  const own = estimator.flag('lowercase', true) ? graph.emit('StringNormalizer', [flat], lower) : flat
  const rule = { tokenexp: text('[\\p{L}\\p{N}_]+'), mincharnum: int(2), mark: int(0), pad_value: text('#') }
  const words = graph.builder.node('Tokenizer', [own], rule, { domain: 'com.microsoft', output: 'words' })
  const sizes = grams.map((list) => list.reduce((sum, gram) => sum + gram.words.length, 0))
  const all = grams.flat()
  const found = graph.emit('TfIdfVectorizer', [words], {
    mode: text('TF'),
    min_gram_length: int(1),
    max_gram_length: int(grams.length),
    max_skip_count: int(0),
    ngram_counts: ints(sizes.map((_, at) => sizes.slice(0, at).reduce((sum, size) => sum + size, 0))),
    ngram_indexes: ints(all.map(({ column }) => column)),
    pool_strings: texts(all.flatMap((gram) => gram.words)),
  })
  const name = graph.castTo(found, 'f64')
  return graph.table(estimator.flag('binary') ? graph.indicator(graph.over(name, 0)) : name, 'f64', all.length)
}

export const countVectorizer: Converter = (estimator, x, graph) => ({
  kind: 'table',
  table: counts(estimator, x, graph),
})

/** Source: TfidfTransformer.transform. */
export const inverseFrequencies: Converter = (estimator, x, graph) => {
  let name = graph.as(x, 'f64')
  if (estimator.flag('sublinear_tf')) {
    const isThere = graph.over(name, 0)
    const logarithm = graph.emit('Log', [graph.emit('Where', [isThere, name, graph.scalar(1)])])
    name = graph.emit('Where', [isThere, graph.add(logarithm, graph.scalar(1)), name])
  }
  if (estimator.flag('use_idf', true)) name = graph.multiply(name, graph.vector(estimator.vector('idf_', x.columns)))
  return tableResult(graph, normed(estimator, name, graph), x.columns)
}

export const inverseFrequencyVectorizer: Converter = (estimator, x, graph, convert) =>
  convert(estimator.estimator('_tfidf'), counts(estimator, x, graph), graph, convert)
