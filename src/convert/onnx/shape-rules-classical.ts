// Shapes of ai.onnx.ml: linear models, trees, scalers. Source: onnx/docs/Operators-ml.md.
import { elementCount } from './model.ts'
import type { NodeContext, StaticValue } from './node-context.ts'

const listLength = (context: NodeContext, ...names: readonly string[]): number => {
  for (const name of names) {
    const attribute = context.node.attributes[name]
    if (attribute !== undefined && Array.isArray(attribute.value) && attribute.value.length > 0) {
      return attribute.value.length
    }
  }
  return 0
}

const rowsOf = (context: NodeContext): number => {
  const { shape } = context.input(0)
  return shape.length < 2 ? 1 : shape[0]!
}

/** A label for each row, and a score for each row and class. */
const classifier = (context: NodeContext): StaticValue[] => {
  const texts = listLength(context, 'classlabels_strings', 'class_labels_strings') > 0
  const labels = ['classlabels_strings', 'classlabels_int64s', 'classlabels_ints', 'classlabels_int64s'] as const
  const classes = Math.max(listLength(context, ...labels), 1)
  const rows = rowsOf(context)
  return [
    { type: texts ? 'string' : 'i64', shape: [rows] },
    { type: 'f32', shape: [rows, classes] },
  ]
}

const regressor = (context: NodeContext): StaticValue[] => [
  { type: 'f32', shape: [rowsOf(context), context.int('targets', context.int('n_targets', 1))] },
]

const floatsLike = (context: NodeContext): StaticValue[] => [{ type: 'f32', shape: context.input(0).shape }]

export const CLASSICAL_SHAPES = {
  ArrayFeatureExtractor: (context: NodeContext): StaticValue[] => {
    const { type, shape } = context.input(0)
    const count = elementCount(context.input(1).shape)
    return [{ type, shape: shape.length < 2 ? [1, count] : [...shape.slice(0, -1), count] }]
  },
  Binarizer: (context: NodeContext): StaticValue[] => [context.input(0)],
  FeatureVectorizer: (context: NodeContext): StaticValue[] => {
    const columns = context.node.inputs.map((_, at) => context.input(at).shape.at(-1) ?? 1)
    return [{ type: 'f32', shape: [rowsOf(context), columns.reduce((sum, count) => sum + count, 0)] }]
  },
  Imputer: (context: NodeContext): StaticValue[] => [context.input(0)],
  LabelEncoder: (context: NodeContext): StaticValue[] => {
    const attributes = context.node.attributes
    const type = 'values_strings' in attributes ? 'string' : 'values_floats' in attributes ? 'f32' : ('i64' as const)
    return [{ type, shape: context.input(0).shape }]
  },
  LinearClassifier: classifier,
  LinearRegressor: regressor,
  Normalizer: floatsLike,
  OneHotEncoder: (context: NodeContext): StaticValue[] => [
    { type: 'f32', shape: [...context.input(0).shape, listLength(context, 'cats_int64s', 'cats_strings')] },
  ],
  Scaler: floatsLike,
  SVMClassifier: classifier,
  SVMRegressor: regressor,
  TreeEnsembleClassifier: classifier,
  TreeEnsembleRegressor: regressor,
} as const
