import { badRequest, ServiceError } from '../../domain/errors.ts'
import { type PickledFile, readPickledFile } from '../../tensors/sklearn-objects.ts'
import type { ByteSource } from '../../tensors/weight-file.ts'
import { graphBuilder } from '../onnx/graph-builder.ts'
import type { OnnxModel } from '../onnx/model.ts'
import type { Rows } from '../quantize/generate-samples.ts'
import * as bayes from './bayes.ts'
import * as boosting from './boosting.ts'
import * as compose from './compose.ts'
import * as curves from './curves.ts'
import * as distances from './distances.ts'
import * as encoders from './encoders.ts'
import * as ensembles from './ensembles.ts'
import { Estimator, readingOf } from './estimator.ts'
import * as hist from './hist-boosting.ts'
import { columnUses } from './inputs.ts'
import * as linear from './linear.ts'
import * as preprocessing from './preprocessing.ts'
import { addOutputs, type Converter } from './result.ts'
import { selection } from './selection.ts'
import * as svm from './svm.ts'
import { type Table, TableGraph } from './table.ts'
import * as texts from './text.ts'
import * as trees from './trees.ts'
import { typicalRows } from './typical-rows.ts'

/** The classes that each converter handles. */
const TABLE: readonly (readonly [Converter, string])[] = [
  [
    linear.linearRegressor,
    'LinearRegression Ridge RidgeCV Lasso LassoCV ElasticNet ElasticNetCV Lars LarsCV LassoLars LassoLarsCV LassoLarsIC BayesianRidge ARDRegression HuberRegressor TheilSenRegressor QuantileRegressor OrthogonalMatchingPursuit SGDRegressor PassiveAggressiveRegressor LinearSVR OrthogonalMatchingPursuitCV MultiTaskLasso MultiTaskElasticNet MultiTaskLassoCV MultiTaskElasticNetCV PLSRegression PLSCanonical CCA',
  ],
  [linear.logLinearRegressor, 'PoissonRegressor GammaRegressor TweedieRegressor'],
  [linear.logisticRegression, 'LogisticRegression LogisticRegressionCV'],
  [linear.linearClassifier, 'LinearSVC RidgeClassifier RidgeClassifierCV Perceptron PassiveAggressiveClassifier'],
  [linear.sgdClassifier, 'SGDClassifier'],
  [linear.linearDiscriminant, 'LinearDiscriminantAnalysis'],
  [linear.mlpRegressor, 'MLPRegressor'],
  [linear.mlpClassifier, 'MLPClassifier'],
  [trees.treeClassifier, 'DecisionTreeClassifier ExtraTreeClassifier RandomForestClassifier ExtraTreesClassifier'],
  [trees.treeRegressor, 'DecisionTreeRegressor ExtraTreeRegressor RandomForestRegressor ExtraTreesRegressor'],
  [trees.gradientBoostingClassifier, 'GradientBoostingClassifier'],
  [trees.gradientBoostingRegressor, 'GradientBoostingRegressor'],
  [hist.histClassifier, 'HistGradientBoostingClassifier'],
  [hist.histRegressor, 'HistGradientBoostingRegressor'],
  [boosting.adaBoostClassifier, 'AdaBoostClassifier'],
  [boosting.adaBoostRegressor, 'AdaBoostRegressor'],
  [boosting.isolationForest, 'IsolationForest'],
  [svm.supportVectorClassifier, 'SVC NuSVC'],
  [svm.supportVectorRegressor, 'SVR NuSVR'],
  [svm.oneClassSvm, 'OneClassSVM'],
  [distances.neighborsClassifier, 'KNeighborsClassifier'],
  [distances.neighborsRegressor, 'KNeighborsRegressor'],
  [distances.kMeans, 'KMeans MiniBatchKMeans MeanShift AffinityPropagation'],
  [distances.nearestCentroid, 'NearestCentroid'],
  [bayes.gaussianBayes, 'GaussianNB'],
  [bayes.multinomialBayes, 'MultinomialNB ComplementNB'],
  [bayes.bernoulliBayes, 'BernoulliNB'],
  [bayes.categoricalBayes, 'CategoricalNB'],
  [bayes.quadraticDiscriminant, 'QuadraticDiscriminantAnalysis'],
  [bayes.gaussianMixture, 'GaussianMixture'],
  [
    preprocessing.components,
    'PCA IncrementalPCA TruncatedSVD FastICA GaussianRandomProjection SparseRandomProjection NeighborhoodComponentsAnalysis',
  ],
  [preprocessing.standardScaler, 'StandardScaler'],
  [preprocessing.minMaxScaler, 'MinMaxScaler'],
  [preprocessing.maxAbsScaler, 'MaxAbsScaler'],
  [preprocessing.robustScaler, 'RobustScaler'],
  [preprocessing.normalizer, 'Normalizer'],
  [preprocessing.binarizer, 'Binarizer'],
  [preprocessing.simpleImputer, 'SimpleImputer'],
  [preprocessing.missingIndicator, 'MissingIndicator'],
  [preprocessing.polynomialFeatures, 'PolynomialFeatures'],
  [preprocessing.functionTransformer, 'FunctionTransformer'],
  [curves.powerTransformer, 'PowerTransformer'],
  [curves.quantileTransformer, 'QuantileTransformer'],
  [curves.binsDiscretizer, 'KBinsDiscretizer'],
  [curves.isotonicRegression, 'IsotonicRegression'],
  [
    selection,
    'SelectKBest SelectPercentile SelectFpr SelectFdr SelectFwe SelectFromModel VarianceThreshold RFE RFECV SequentialFeatureSelector',
  ],
  [texts.countVectorizer, 'CountVectorizer'],
  [texts.inverseFrequencies, 'TfidfTransformer'],
  [texts.inverseFrequencyVectorizer, 'TfidfVectorizer'],
  [encoders.oneHotEncoder, 'OneHotEncoder'],
  [encoders.ordinalEncoder, 'OrdinalEncoder'],
  [encoders.targetEncoder, 'TargetEncoder'],
  [encoders.labelEncoder, 'LabelEncoder'],
  [compose.pipeline, 'Pipeline'],
  [compose.featureUnion, 'FeatureUnion'],
  [compose.columnTransformer, 'ColumnTransformer'],
  [
    compose.wrapper,
    'GridSearchCV RandomizedSearchCV HalvingGridSearchCV HalvingRandomSearchCV RANSACRegressor SelfTrainingClassifier FrozenEstimator',
  ],
  [ensembles.votingClassifier, 'VotingClassifier'],
  [ensembles.votingRegressor, 'VotingRegressor'],
  [ensembles.baggingClassifier, 'BaggingClassifier'],
  [ensembles.baggingRegressor, 'BaggingRegressor'],
  [ensembles.stackingClassifier, 'StackingClassifier'],
  [ensembles.stackingRegressor, 'StackingRegressor'],
  [ensembles.calibratedClassifier, 'CalibratedClassifierCV'],
  [ensembles.oneVersusRest, 'OneVsRestClassifier'],
  [ensembles.oneVersusOne, 'OneVsOneClassifier'],
  [ensembles.multiOutputRegressor, 'MultiOutputRegressor'],
  [ensembles.regressorChain, 'RegressorChain'],
  [ensembles.transformedTarget, 'TransformedTargetRegressor'],
]

const CONVERTERS = new Map(
  TABLE.flatMap(([converter, names]) => names.split(' ').map((name) => [name, converter] as const)),
)

/** Limits for nested estimators and their total, because a file can reference one estimator repeatedly. */
const MAX_DEPTH = 16
const MAX_ESTIMATORS = 2000

const converterFor = ({ type }: Estimator): Converter => {
  const converter = CONVERTERS.get(type)
  if (converter !== undefined) return converter
  throw badRequest(
    `${type} cannot be converted. Supported are linear models, support vector machines, MLPs, trees and ` +
      'their ensembles, neighbors, naive Bayes, KMeans, PCA, scalers, encoders, imputers, and pipelines of these.',
  )
}

/** Converts estimators and their inner ones within the limits. */
const boundedConverter = (): Converter => {
  let depth = 0
  let count = 0
  const convert: Converter = (estimator, x, graph) => {
    const converter = converterFor(estimator)
    if (++depth > MAX_DEPTH || ++count > MAX_ESTIMATORS)
      estimator.refuse(`the model has more than ${MAX_DEPTH} levels or ${MAX_ESTIMATORS} estimators.`)
    const fitted = estimator.number('n_features_in_', x.columns)
    if (fitted !== x.columns) estimator.refuse(`it was fitted to ${fitted} columns, but gets ${x.columns}.`)
    const result = converter(estimator, x, graph, convert)
    depth--
    return result
  }
  return convert
}

/** Adds `X` if all columns are numbers or all are strings; otherwise one input per column, named like the columns. */
const addInputs = (estimator: Estimator, graph: TableGraph): Table => {
  const columns = estimator.features()
  const uses = columnUses(estimator, columns)
  const isText = uses.every((use) => use === 'string')
  if (isText || !uses.includes('string')) {
    const type = isText ? 'string' : 'f32'
    return graph.table(graph.builder.input('X', type, ['batch', columns]), type, columns)
  }
  const names = estimator.columnNames()
  const each = uses.map((use, at) => {
    if (use === null) return { name: '', type: 'f64' } as const
    const name = graph.builder.input(names[at] ?? `X${at}`, use, ['batch', 1])
    // Numbers next to strings are float64 in a data frame or an object array.
    return use === 'f32' ? ({ name: graph.castTo(name, 'f64'), type: 'f64' } as const) : ({ name, type: use } as const)
  })
  return { columns, whole: null, each }
}

type SklearnModel = { model: OnnxModel; notes: string[]; typicalRows?: Record<string, Rows> }

/** Typical rows by input: one input for all columns, or one per column. */
const rowsByInput = (rows: Rows, x: Table, model: OnnxModel): Record<string, Rows> => {
  if (x.whole !== null) return { [model.graph.inputs[0]!.name]: rows }
  // Unused columns have no input.
  const used = x.each.flatMap(({ name }, at) => (name === '' ? [] : [at]))
  return Object.fromEntries(
    model.graph.inputs.map(({ name }, place) => [name, rows.map((row) => [row[used[place]!]!])]),
  )
}

const convertFile = (file: PickledFile): SklearnModel => {
  const estimator = Estimator.of(file.value, readingOf(file), 'The object in the file')
  const notes: string[] = []
  converterFor(estimator)
  const version = estimator.text('_sklearn_version', 'unknown')
  const builder = graphBuilder('scikit-learn', { estimator: estimator.type, 'scikit-learn': version })
  const graph = new TableGraph(builder)
  const x = addInputs(estimator, graph)
  const convert = boundedConverter()
  addOutputs(graph, convert(estimator, x, graph, convert), notes)
  const model = builder.build()
  const names = model.graph.inputs.map(({ name }) => name)
  if (x.whole === null) notes.push(`Each column is a separate input: ${names.join(', ')}.`)
  const rows = typicalRows(file, x.columns)
  return { model, notes, ...(rows && { typicalRows: rowsByInput(rows, x, model) }) }
}

/**
 * Converts a fitted estimator of scikit-learn 0.24 or newer, from a pickle or joblib file, to ONNX: from `X`, float32
 * [batch, features], to `label` with `probabilities` (or `scores`), or `variable`. Executes nothing in the file. Computes in
 * float64 like scikit-learn, so that results differ only by the rounding to float32. Throws bad_request naming the
 * estimator.
 */
export const sklearnToOnnx = (source: ByteSource): SklearnModel => {
  try {
    return convertFile(readPickledFile(source))
  } catch (error) {
    if (error instanceof ServiceError) throw error
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    throw badRequest(`The scikit-learn model is damaged: ${error.message}. Save it again.`)
  }
}
