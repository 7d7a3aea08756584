import { ints, texts } from '../onnx/model.ts'
import { type Estimator, type Labels, labelCount } from './estimator.ts'
import { type Converter, tableResult } from './result.ts'
import type { Table, TableGraph } from './table.ts'

/** The categories of each column. */
export const categoriesOf = (estimator: Estimator): Labels[] =>
  estimator.list('categories_').map((column, at) => estimator.asLabels(column, `categories_[${at}]`))

/** For each category whether a row has it, [batch, categories], as 0 or 1 of float64. */
const indicators = (graph: TableGraph, x: Table, column: number, categories: Labels): string => {
  const own = graph.select(x, [column])
  if ('numbers' in categories) {
    // Inputs are float32, and so is what they are compared with.
    const values = graph.vector(categories.numbers.map(Math.fround), 'categories')
    return graph.indicator(graph.node('Equal', [graph.as(own, 'f64'), values]))
  }
  const indices = [...categories.texts.keys()]
  const found = graph.graph.node(
    'LabelEncoder',
    [graph.as(own, 'string')],
    {
      keys_strings: texts(categories.texts),
      values_int64s: ints(indices),
      default_int64: { kind: 'int', value: -1 },
    },
    { domain: 'ai.onnx.ml', output: 'category' },
  )
  return graph.indicator(graph.node('Equal', [found, graph.integers(indices)]))
}

const requireColumns = (estimator: Estimator, x: Table, categories: readonly Labels[]): void => {
  if (categories.length !== x.columns)
    estimator.refuse(`it has categories for ${categories.length} columns, but gets ${x.columns}.`)
}

/** Categories that were not seen when it was fitted give zeros, as with handle_unknown="ignore". */
export const oneHotEncoder: Converter = (estimator, x, graph) => {
  const categories = categoriesOf(estimator)
  requireColumns(estimator, x, categories)
  if (estimator.flag('_infrequent_enabled'))
    estimator.refuse('infrequent categories cannot be converted. Fit it without min_frequency and max_categories.')
  const dropped = estimator.has('drop_idx_') ? estimator.list('drop_idx_').length : 0
  const drops = dropped > 0 ? estimator.list('drop_idx_') : droppedIndices(estimator)
  const parts: string[] = []
  let columns = 0
  for (const [at, own] of categories.entries()) {
    const drop = drops[at] ?? null
    const kept = Array.from({ length: labelCount(own) }, (_, index) => index).filter((index) => index !== drop)
    if (kept.length === 0) continue
    const all = indicators(graph, x, at, own)
    parts.push(kept.length === labelCount(own) ? all : graph.gather(all, kept))
    columns += kept.length
  }
  if (columns === 0) estimator.refuse('it makes no columns.')
  return tableResult(graph, graph.concat(parts), columns)
}

/** `drop_idx_` may be an array of numbers too. */
const droppedIndices = (estimator: Estimator): readonly (number | null)[] =>
  estimator.has('drop_idx_') ? Array.from(estimator.numbers('drop_idx_').data) : []

export const ordinalEncoder: Converter = (estimator, x, graph) => {
  const categories = categoriesOf(estimator)
  requireColumns(estimator, x, categories)
  const isUnknownGiven = estimator.text('handle_unknown', 'error') === 'use_encoded_value'
  const unknown = isUnknownGiven ? estimator.number('unknown_value') : -1
  const parts = categories.map((own, at) => {
    const known = indicators(graph, x, at, own)
    const count = labelCount(own)
    const index = graph.node('MatMul', [
      known,
      graph.matrix(
        count,
        1,
        Array.from({ length: count }, (_, n) => n),
      ),
    ])
    const isKnown = graph.node('Greater', [graph.sum(known, 1), graph.scalar(0)])
    return graph.node('Where', [isKnown, index, graph.scalar(unknown)])
  })
  return tableResult(graph, graph.concat(parts), x.columns)
}

/** Of a single column of labels. */
export const labelEncoder: Converter = (estimator, x, graph) => {
  const classes = estimator.labels('classes_')
  const count = labelCount(classes)
  const known = indicators(graph, x, 0, classes)
  const indices = graph.matrix(
    count,
    1,
    Array.from({ length: count }, (_, n) => n),
  )
  return tableResult(graph, graph.node('MatMul', [known, indices]), 1)
}
