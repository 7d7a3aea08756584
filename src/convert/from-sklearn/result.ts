import { badRequest } from '../../domain/errors.ts'
import { int } from '../onnx/model.ts'
import { stringTensorOf, tensorOf } from '../onnx/tensors.ts'
import { type Estimator, type Labels, labelCount } from './estimator.ts'
import type { Table, TableGraph } from './table.ts'

/** What an estimator computes: a table, values, or classes with the class index of each row, [batch]. */
export type Result =
  | { readonly kind: 'table'; readonly table: Table }
  | { readonly kind: 'values'; readonly values: string; readonly columns: number }
  | {
      readonly kind: 'classes'
      readonly classes: Labels
      readonly index: string
      /** [batch, classes], float64. */
      readonly probabilities: string | null
      /** The `decision_function`: [batch, classes], or [batch, 1] for two classes. */
      readonly scores: string | null
      readonly scoreColumns: number
      /** The output of `transform` for the next pipeline step, for classifiers and clusterings that have it. */
      readonly transform?: () => Table
    }

export type ValuesResult = Extract<Result, { kind: 'values' }>
export type ClassesResult = Extract<Result, { kind: 'classes' }>

/** Converts an estimator applied to the table `x`. `convert` converts its inner estimators. */
export type Converter = (estimator: Estimator, x: Table, graph: TableGraph, convert: Converter) => Result

export const tableResult = (graph: TableGraph, name: string, columns: number): Result => ({
  kind: 'table',
  table: graph.table(name, 'f64', columns),
})

export const valuesResult = (values: string, columns: number): ValuesResult => ({ kind: 'values', values, columns })

/** The class of each row, without probabilities. */
export const byIndex = (
  classes: Labels,
  index: string,
  scores: string | null = null,
  scoreColumns = 0,
): ClassesResult => ({ kind: 'classes', classes, index, probabilities: null, scores, scoreColumns })

/** Selects the most probable class. */
export const byProbability = (graph: TableGraph, classes: Labels, probabilities: string): ClassesResult => ({
  ...byIndex(classes, graph.argMax(probabilities)),
  probabilities,
})

/** Selects the class by scores: a single one by its sign, several by the largest; with probabilities if there are any. */
export const byScores = (
  graph: TableGraph,
  classes: Labels,
  scores: string,
  probabilities: string | null,
): ClassesResult => {
  const scoreColumns = labelCount(classes) === 2 ? 1 : labelCount(classes)
  const index = scoreColumns === 1 ? indexOf(graph, graph.over(scores, 0)) : graph.argMax(scores)
  return { ...byIndex(classes, index, scores, scoreColumns), probabilities }
}

/** 1 for inliers and -1 for outliers, with the decision function as `scores`. */
export const inliers = (graph: TableGraph, scores: string, comparison: 'Greater' | 'GreaterOrEqual'): ClassesResult => {
  const index = indexOf(graph, graph.emit(comparison, [scores, graph.scalar(0)]))
  return byIndex({ numbers: [-1, 1] }, index, scores, 1)
}

/** The classes of a classifier with one output. */
export const classesOf = (estimator: Estimator): { classes: Labels; count: number } => {
  if (Array.isArray(estimator.get('classes_'))) estimator.refuse('several outputs cannot be converted.')
  const name = ['_label_binarizer', 'label_binarizer_'].find((own) => estimator.has(own))
  const binarizer = name === undefined ? estimator : estimator.estimator(name)
  if (binarizer.text('y_type_', '').startsWith('multilabel'))
    estimator.refuse('several labels per row cannot be converted.')
  // Some classifiers, such as RidgeClassifier, take them from their label binarizer.
  const classes = (estimator.has('classes_') ? estimator : binarizer).labels('classes_')
  const count = labelCount(classes)
  return count > 1 ? { classes, count } : estimator.refuse('it has only one class.')
}

const labelOf = (graph: TableGraph, { classes, index }: ClassesResult) => {
  const shape = [labelCount(classes)]
  const labels =
    'texts' in classes
      ? stringTensorOf(shape, classes.texts)
      : tensorOf(classes.numbers.every(Number.isInteger) ? 'i64' : 'f32', shape, classes.numbers)
  const name = graph.builder.constant('classes', labels)
  return { label: graph.emit('Gather', [name, index], { axis: int(0) }), type: labels.type }
}

/** Adds the graph's outputs: `label` with `probabilities` or `scores`, otherwise `variable`. */
export const addOutputs = (graph: TableGraph, result: Result, notes: string[]): void => {
  const batch = 'batch'
  if (result.kind === 'table' && graph.typeOf(result.table) === 'string')
    throw badRequest('The model outputs only text, no numbers: there is nothing to convert.')
  if (result.kind !== 'classes') {
    const [name, columns] =
      result.kind === 'values'
        ? [graph.castTo(result.values, 'f32'), result.columns]
        : [graph.as(result.table, 'f32'), result.table.columns]
    graph.builder.output('variable', name, 'f32', [batch, columns])
    return
  }
  const { label, type } = labelOf(graph, result)
  graph.builder.output('label', label, type, [batch])
  if (result.probabilities !== null) {
    const probabilities = graph.castTo(result.probabilities, 'f32')
    graph.builder.output('probabilities', probabilities, 'f32', [batch, labelCount(result.classes)])
  } else if (result.scores !== null) {
    graph.builder.output('scores', graph.castTo(result.scores, 'f32'), 'f32', [batch, result.scoreColumns])
    notes.push('The model has no probabilities: its outputs are the label and the scores of its decision function.')
  }
}

/** The share of each class in the votes of classifiers with these classes: [batch, classes]. */
export const votes = (graph: TableGraph, index: string, count: number): string => {
  const column = graph.reshape(index, [-1, 1])
  return graph.indicator(graph.emit('Equal', [column, graph.integers([...Array(count).keys()])]))
}

/** Converts a boolean per row, [batch, 1], to the index of one of two classes. */
export const indexOf = (graph: TableGraph, condition: string): string => graph.flat(graph.castTo(condition, 'i64'))
