// Linear models, scalers, and encoders of ai.onnx.ml.
import { badRequest } from '../../../domain/errors.ts'
import { attributeOf } from '../../onnx/model.ts'
import { type Lower, type Lowering, reshape } from '../lowering.ts'
import type { Tensor } from '../tflite-graph.ts'
import { arithmetic, castTo, unary } from './arithmetic.ts'
import { fullyConnected } from './matrix.ts'
import { reduceTensor } from './reductions.ts'
import { concat, gather, take } from './slices.ts'

const floats = (node: Lowering, name: string): readonly number[] => attributeOf(node.node, name, 'floats', [])

const rowsOf = (node: Lowering): Tensor => {
  const { shape } = node.input(0)
  if (shape.length === 0 || shape.length > 2)
    throw badRequest(`Its input has ${shape.length} dimensions; rows of features are expected.`)
  const rows = shape.length === 1 ? [1, shape[0]!] : [...shape]
  return castTo(node.graph, reshape(node.graph, node.value(0), rows), 'f32')
}

const postTransform = (node: Lowering, scores: Tensor): Tensor => {
  const kind = node.text('post_transform', 'NONE')
  if (kind === 'NONE') return scores
  if (kind === 'LOGISTIC') return arithmetic(node.graph).sigmoid(scores)
  if (kind === 'SOFTMAX') return node.graph.operator('SOFTMAX', [scores], {}, { beta: 1 })
  throw badRequest(`post_transform ${kind} is not supported by TFLite.`)
}

/**
 * The label and scores of a classifier. String labels become class numbers, because TFLite has no strings. With two classes
 * and one value s for the second, the first gets -s for scores and 1 - s for probabilities.
 */
export const classOutputs = (
  node: Lowering,
  scores: Tensor,
  kind: 'scores' | 'score of the second' | 'probability of the second',
): void => {
  const { graph } = node
  const { sub, neg } = arithmetic(graph)
  const both = {
    scores: () => scores,
    'score of the second': () => concat(graph, [neg(scores), scores], 1),
    'probability of the second': () => concat(graph, [sub(1, scores), scores], 1),
  }[kind]()
  const older = attributeOf(node.node, 'classlabels_ints', 'ints', undefined)
  const labels = attributeOf(node.node, 'classlabels_int64s', 'ints', older)
  if (node.wants(0)) {
    const result = { shape: [both.shape[0]!], type: 'i64' } as const
    const best = graph.operator('ARG_MAX', [both, graph.scalar('i32', 1)], result, { outputType: 4 })
    const ordinary = labels === undefined || labels.every((label, at) => label === at)
    node.define(ordinary ? best : gather(graph, graph.vector('i64', labels), best, 0))
  }
  if (node.wants(1)) node.define(kind === 'probability of the second' ? both : postTransform(node, both), undefined, 1)
}

const product = (node: Lowering, outputs: number): Tensor => {
  const x = rowsOf(node)
  const [coefficients, intercepts] = [floats(node, 'coefficients'), floats(node, 'intercepts')]
  const width = x.shape[1]!
  if (coefficients.length !== outputs * width) {
    throw badRequest(`${coefficients.length} coefficients for ${outputs} outputs and ${width} features.`)
  }
  const bias = intercepts.length === outputs ? node.graph.vector('f32', intercepts) : null
  return fullyConnected(node.graph, x, node.graph.constant('f32', [outputs, width], coefficients), bias)
}

const linearClassifier: Lower = (node) => {
  const rows = Math.max(1, floats(node, 'intercepts').length)
  const classes = node.result(1).shape.at(-1)!
  if (rows === 1 && classes === 2) return classOutputs(node, product(node, 1), 'score of the second')
  classOutputs(node, product(node, classes), 'scores')
}

const linearRegressor: Lower = (node) => node.define(postTransform(node, product(node, node.int('targets', 1))))

const scaler: Lower = unary((x, node, graph) => {
  const { sub, mul } = arithmetic(graph)
  const [offset, scale] = ['offset', 'scale'].map((name) => graph.vector('f32', floats(node, name)))
  return mul(sub(castTo(graph, x, 'f32'), offset!), scale!)
})

const normalizer: Lower = unary((x, node, graph) => {
  const { abs, div, mul, sqrt, max } = arithmetic(graph)
  const last = [x.shape.length - 1]
  const norm = node.text('norm', 'MAX')
  const sizes = {
    L1: () => reduceTensor(graph, 'SUM', abs(x), last),
    L2: () => sqrt(reduceTensor(graph, 'SUM', mul(x, x), last)),
    MAX: () => reduceTensor(graph, 'REDUCE_MAX', x, last),
  }
  const size = sizes[norm as keyof typeof sizes]
  if (size === undefined) throw badRequest(`The norm '${norm}' does not exist.`)
  return div(x, norm === 'MAX' ? size() : max(size(), 1e-30))
})

const imputer: Lower = unary((x, node, graph) => {
  const [values, replaced] = [floats(node, 'imputed_value_floats'), node.float('replaced_value_float', Number.NaN)]
  if (values.length === 0) throw badRequest('Only float values are imputed.')
  const { equal, notEqual, select } = arithmetic(graph)
  return select(Number.isNaN(replaced) ? equal(x, x) : notEqual(x, replaced), x, graph.vector('f32', values))
})

const binarizer: Lower = unary((x, node, graph) =>
  castTo(graph, arithmetic(graph).greater(x, node.float('threshold')), 'f32'),
)

const features: Lower = (node) => {
  const { shape } = node.input(0)
  const x = shape.length === 1 ? reshape(node.graph, node.value(0), [1, ...shape]) : node.value(0)
  const places = Array.from(node.weights(1, 'indices').values)
  node.define(take(node.graph, x, places, x.shape.length - 1))
}

const oneHot: Lower = (node) => {
  const categories = attributeOf(node.node, 'cats_int64s', 'ints', undefined)
  if (categories === undefined) throw badRequest('Text categories are not supported by TFLite.')
  const { graph } = node
  const x = castTo(graph, node.value(0), 'i64')
  const column = reshape(graph, x, [...x.shape, 1])
  node.define(castTo(graph, arithmetic(graph).equal(column, graph.vector('i64', categories)), 'f32'))
}

const vectorizer: Lower = (node) => {
  const parts = node.node.inputs.map((_, at) => castTo(node.graph, node.value(at), 'f32'))
  node.define(parts.length === 1 ? parts[0]! : concat(node.graph, parts, parts[0]!.shape.length - 1))
}

export const CLASSICAL: Readonly<Record<string, Lower>> = {
  ArrayFeatureExtractor: features,
  Binarizer: binarizer,
  FeatureVectorizer: vectorizer,
  Imputer: imputer,
  LinearClassifier: linearClassifier,
  LinearRegressor: linearRegressor,
  Normalizer: normalizer,
  OneHotEncoder: oneHot,
  Scaler: scaler,
}
