// Estimators that replace categories with numbers.
import { type Estimator, type Labels, labelCount } from './estimator.ts'
import { type Converter, tableResult } from './result.ts'
import type { Table, TableGraph } from './table.ts'

/** The categories of each column. */
export const categoriesOf = (estimator: Estimator): Labels[] =>
  estimator.list('categories_').map((column, at) => estimator.asLabels(column, `categories_[${at}]`))

/** Whether a row has each category, [batch, categories], as 0 or 1 of float64. NaN matches the category NaN, if any. */
const indicators = (graph: TableGraph, x: Table, column: number, categories: Labels): string => {
  const own = graph.select(x, [column])
  if ('texts' in categories) {
    const found = graph.numbered(graph.as(own, 'string'), categories.texts)
    return graph.indicator(graph.emit('Equal', [found, graph.integers([...categories.texts.keys()])]))
  }
  // Inputs are float32, so the categories are rounded to float32 for comparison.
  const known = categories.numbers.filter((value) => !Number.isNaN(value)).map(Math.fround)
  const input = graph.as(own, 'f64')
  const equal = graph.indicator(graph.emit('Equal', [input, graph.vector(known, 'categories')]))
  const missing = () => graph.indicator(graph.emit('IsNaN', [input]))
  return known.length === categories.numbers.length ? equal : graph.concat([equal, missing()])
}

const isMissing = (categories: Labels, at: number): boolean =>
  'texts' in categories ? categories.missing === at : Number.isNaN(categories.numbers[at])

/** One number for each category and one for all others: [batch, 1]. */
const encoded = (
  graph: TableGraph,
  x: Table,
  column: number,
  categories: Labels,
  values: readonly number[],
  unknown: number,
): string => {
  const known = indicators(graph, x, column, categories)
  // NaN is inserted after the product, because multiplying by it would make all results NaN.
  const finite = values.map((value) => (Number.isNaN(value) ? 0 : value))
  const value = graph.emit('MatMul', [known, graph.matrix(values.length, 1, finite)])
  const has = (weights: readonly number[]) =>
    graph.over(graph.emit('MatMul', [known, graph.matrix(values.length, 1, weights)]), 0)
  const numbered = graph.emit('Where', [has(values.map(() => 1)), value, graph.scalar(unknown)])
  if (!values.some(Number.isNaN)) return numbered
  return graph.emit('Where', [has(values.map((own) => Number(Number.isNaN(own)))), graph.scalar(Number.NaN), numbered])
}

const categoriesFor = (estimator: Estimator, x: Table): Labels[] => {
  const categories = categoriesOf(estimator)
  return categories.length === x.columns
    ? categories
    : estimator.refuse(`it has categories for ${categories.length} columns, but gets ${x.columns}.`)
}

const positionsIn = (categories: Labels): number[] => [...Array(labelCount(categories)).keys()]

/** The output index of each category: its position, or that of its group if infrequent categories are grouped. */
const groupsOf = (estimator: Estimator, column: number, categories: Labels): number[] => {
  const positions = positionsIn(categories)
  if (!estimator.flag('_infrequent_enabled')) return positions
  const groups = estimator.list('_default_to_infrequent_mappings')[column] ?? null
  if (groups === null) return positions
  const { data } = estimator.asNumbers(groups, '_default_to_infrequent_mappings')
  const isFit = data.length === positions.length && Array.from(data).every((at) => at >= 0 && at < positions.length)
  return isFit ? Array.from(data) : estimator.refuse('_default_to_infrequent_mappings does not fit its categories.')
}

/** The category of each column that has no output. The attribute may also be an array of numbers. */
const droppedIndices = (estimator: Estimator): readonly unknown[] => {
  const name = estimator.has('_drop_idx_after_grouping') ? '_drop_idx_after_grouping' : 'drop_idx_'
  if (!estimator.has(name)) return []
  const list = estimator.list(name)
  return list.length > 0 ? list : Array.from(estimator.numbers(name).data)
}

/** Categories that were not seen during fitting give zeros, as with handle_unknown="ignore". */
export const oneHotEncoder: Converter = (estimator, x, graph) => {
  const categories = categoriesFor(estimator, x)
  const drops = droppedIndices(estimator)
  const isGrouped = estimator.text('handle_unknown', 'error') === 'infrequent_if_exist'
  const parts: string[] = []
  let columns = 0
  for (const [at, own] of categories.entries()) {
    const groups = groupsOf(estimator, at, own)
    const count = Math.max(...groups) + 1
    let all = indicators(graph, x, at, own)
    if (groups.some((group, n) => group !== n)) {
      const cells = groups.flatMap((group) => Array.from({ length: count }, (_, k) => Number(k === group)))
      const unseen = graph.subtract(graph.scalar(1), graph.sum(all, 1))
      all = graph.emit('MatMul', [all, graph.matrix(groups.length, count, cells, 'groups')])
      const last = Array.from({ length: count }, (_, k) => Number(k === count - 1))
      if (isGrouped) all = graph.add(all, graph.multiply(unseen, graph.vector(last)))
    }
    const kept = [...Array(count).keys()].filter((index) => index !== drops[at])
    if (kept.length === 0) continue
    parts.push(kept.length === count ? all : graph.gather(all, kept))
    columns += kept.length
  }
  if (columns === 0) estimator.refuse('it outputs no columns.')
  return tableResult(graph, graph.concat(parts), columns)
}

export const ordinalEncoder: Converter = (estimator, x, graph) => {
  const categories = categoriesFor(estimator, x)
  const isUnknownGiven = estimator.text('handle_unknown', 'error') === 'use_encoded_value'
  const unknown = isUnknownGiven ? estimator.number('unknown_value') : -1
  const missing = estimator.number('encoded_missing_value', Number.NaN)
  const parts = categories.map((own, at) => {
    const values = groupsOf(estimator, at, own).map((group, n) => (isMissing(own, n) ? missing : group))
    return encoded(graph, x, at, own, values, unknown)
  })
  return tableResult(graph, graph.concat(parts), x.columns)
}

/** For a single column of labels. */
export const labelEncoder: Converter = (estimator, x, graph) => {
  const classes = estimator.labels('classes_')
  return tableResult(graph, encoded(graph, x, 0, classes, positionsIn(classes), 0), 1)
}

/** The mean target of each category, per class if there are several. Source: TargetEncoder.transform. */
export const targetEncoder: Converter = (estimator, x, graph) => {
  const categories = categoriesFor(estimator, x)
  const encodings = estimator.list('encodings_')
  const each = encodings.length / x.columns
  const means = estimator.vector('target_mean_', each)
  const parts = encodings.map((item, at) => {
    const own = categories[Math.floor(at / each)] ?? estimator.refuse('encodings_ do not fit its columns.')
    const { data } = estimator.asNumbers(item, `encodings_[${at}]`)
    if (data.length !== labelCount(own)) estimator.refuse(`encodings_[${at}] does not have a number for each category.`)
    return encoded(graph, x, Math.floor(at / each), own, Array.from(data), means[at % each]!)
  })
  return tableResult(graph, graph.concat(parts), encodings.length)
}
