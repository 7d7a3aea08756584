import { badRequest } from '../domain/errors.ts'
import { ownEntry } from '../domain/own-entry.ts'
import { constantIn, constantOf } from './constant-checksums.ts'
import { dtypeOf, isArray, type NumpyArray } from './numpy-pickle.ts'
import type { PickleValue } from './pickle-value.ts'
import { requireShape, showName, showShape } from './shape.ts'
import { ESTIMATORS, type EstimatorRules } from './sklearn-estimators.ts'
import { isObject, type PickledObject, readPickledFile } from './sklearn-objects.ts'
import {
  type ByteSource,
  type Constant,
  columnMajorStrides,
  rowMajorStrides,
  type Statistic,
  type Tensor,
  type TensorPlaces,
} from './weight-file.ts'

/** What all estimators of a round must agree on: the classes and columns, in the same order. */
const ALWAYS_EQUAL = ['classes_', 'feature_names_in_']
const MAX_DEPTH = 8
const ARRAYS = 'Save the fitted arrays alone, such as numpy.savez(path, coef=model.coef_, intercept=model.intercept_).'
const TREES = /(Forest|Tree|Trees|GradientBoosting|AdaBoost|Bagging|IsolationForest)(Classifier|Regressor)?$/

const unsupported = (name: string) =>
  badRequest(
    TREES.test(name)
      ? `Tree estimators (${name}) cannot be averaged, and those of scikit-learn cannot be combined either. Train XGBoost ` +
          'models (.json, .ubj) with strategy xgb_bagging or xgb_cyclic.'
      : `${name} cannot be averaged. Linear and logistic models, SGD, MLP, KMeans, scalers, naive Bayes, and ` +
          `pipelines of these can. ${ARRAYS}`,
  )

interface Found {
  readonly source: ByteSource
  readonly tensors: Tensor[]
  readonly constants: Constant[]
  readonly statistics: Statistic[]
  needsModel: string | null
}

const tensorOf = (name: string, { type, shape: given, columnMajor, bytes }: NumpyArray): Tensor => {
  const dtype = dtypeOf(type)
  if (dtype === null)
    throw badRequest(
      `${showName(name)} is an array of NumPy type '${type?.type}${type?.size}', which cannot be averaged.`,
    )
  if (bytes === null || bytes.content !== null)
    throw badRequest(
      `${showName(name)} was pickled with protocol 2 or older, so no result can be written in its place. ` +
        'Save the model with pickle.dump(model, file, protocol=4), or with joblib.dump.',
    )
  const shape = requireShape([...given], name)
  const strides = columnMajor ? columnMajorStrides(shape) : rowMajorStrides(shape)
  return { name, dtype, shape, strides, byteOffset: bytes.offset, bigEndian: type!.bigEndian, deflated: null }
}

const plain = (value: PickleValue): unknown =>
  typeof value === 'bigint'
    ? String(value)
    : Array.isArray(value)
      ? value.map(plain)
      : isArray(value)
        ? value.shape
        : value

const constantFrom = (source: ByteSource, name: string, value: PickleValue): Constant => {
  if (!isArray(value) || value.bytes === null)
    return constantOf(name, new TextEncoder().encode(JSON.stringify(plain(isArray(value) ? [...value.items] : value))))
  const { shape, type, bytes } = value
  const { digest } =
    bytes.content === null ? constantIn(source, name, bytes.offset, bytes.length) : constantOf(name, bytes.content)
  return { name, digest: `${type?.type}${type?.size} ${showShape(shape)} ${digest}` }
}

/** Adds the arrays of an attribute. A number, such as the intercept of a model fitted without one, becomes a constant. */
const addArrays = (found: Found, name: string, value: PickleValue | undefined): string[] => {
  if (isArray(value)) {
    found.tensors.push(tensorOf(name, value))
    return [name]
  }
  if (Array.isArray(value) && value.every(isArray))
    return value.flatMap((item, at) => addArrays(found, `${name}.${at}`, item))
  if (typeof value !== 'number' && value !== null)
    throw badRequest(
      value === undefined
        ? `The estimator has no ${showName(name)}: fit it before saving.`
        : `${showName(name)} is not an array of numbers, so it cannot be averaged (if it is sparse, call densify() on the estimator).`,
    )
  found.constants.push(constantFrom(found.source, name, value))
  return []
}

/** Throws bad_request unless all arrays of an estimator agree on the number of classes and features. */
const requireDimensions = (
  name: string,
  shape: readonly number[],
  dimensions: string,
  sizes: Map<string, number>,
): void => {
  const letters = dimensions === '?f' ? (shape.length === 0 ? [] : ['f']) : [...dimensions]
  const fits = letters.every((letter, axis) => {
    const size = shape[axis] ?? 0
    if (!sizes.has(letter)) sizes.set(letter, size)
    return size > 0 && sizes.get(letter) === size
  })
  if (!fits || shape.length !== letters.length)
    throw badRequest(
      `${showName(name)} has shape ${showShape(shape)}, which does not fit the estimator's other arrays.`,
    )
}

const addStatistic = (
  found: Found,
  prefix: string,
  attributes: ReadonlyMap<PickleValue, PickleValue>,
  { kind, arrays, options }: NonNullable<EstimatorRules['merged']>,
): void => {
  const tensors: Record<string, string> = {}
  const sizes = new Map<string, number>()
  for (const [name, dimensions] of Object.entries(arrays)) {
    const value = attributes.get(name)
    if (isArray(value)) requireDimensions(prefix + name, value.shape, dimensions, sizes)
    if (typeof value === 'number')
      throw badRequest(
        `${showName(prefix + name)} is a Python number, which cannot be replaced in place. ` +
          `Make it a NumPy number before saving: estimator.${name} = numpy.float64(estimator.${name}).`,
      )
    // A scaler without with_std has neither var_ nor scale_.
    if (value === null && !(kind === 'standard_scaler' && attributes.get('var_') === attributes.get('scale_')))
      throw badRequest(`${showName(prefix + name)} is None: fit the estimator before saving.`)
    for (const added of addArrays(found, prefix + name, value)) tensors[name] = added
  }
  const values: Record<string, unknown> = {}
  for (const name of options) {
    const value = attributes.get(name)
    if (value === undefined) continue
    values[name] = plain(value)
    if (name === 'feature_range' && !(Array.isArray(value) && value.length === 2))
      throw badRequest(`${showName(prefix + name)} is not two numbers.`)
    found.constants.push(constantFrom(found.source, prefix + name, value))
  }
  found.statistics.push({ name: prefix === '' ? kind : `${prefix}${kind}`, kind, tensors, options: values })
}

/** The state is a dict of attributes, or a pair of that and the slots. */
const attributesOf = ({ state }: PickledObject): ReadonlyMap<PickleValue, PickleValue> => {
  const attributes = Array.isArray(state) ? state[0] : state
  return attributes instanceof Map ? attributes : new Map()
}

const addEstimator = (found: Found, prefix: string, value: PickleValue | undefined, depth: number): void => {
  if (value === null || value === 'passthrough') return
  if (!isObject(value) || !value.type.startsWith('sklearn.') || depth > MAX_DEPTH)
    throw badRequest(`The pickle does not contain an estimator of scikit-learn. ${ARRAYS}`)
  const attributes = attributesOf(value)
  const name = value.type.slice(value.type.lastIndexOf('.') + 1)
  if (name === 'Pipeline') {
    const steps = attributes.get('steps')
    if (!Array.isArray(steps)) throw badRequest('The pipeline in the pickle has no steps.')
    for (const step of steps) {
      const [label, estimator] = Array.isArray(step) ? step : []
      addEstimator(found, `${prefix}${String(label)}.`, estimator, depth + 1)
    }
    return
  }
  const rules = ownEntry(ESTIMATORS, name) ?? null
  if (rules === null) throw unsupported(name)
  if (rules.averaged?.includes('coef_') && attributes.get('average'))
    throw badRequest(
      `${name} with the option average cannot be averaged: it continues from other arrays than coef_, so that every round ` +
        'would train from the same coefficients. Use average=False.',
    )
  for (const array of rules.averaged ?? []) addArrays(found, prefix + array, attributes.get(array))
  for (const constant of [...ALWAYS_EQUAL, ...(rules.constants ?? [])]) {
    const given = attributes.get(constant)
    if (given !== undefined) found.constants.push(constantFrom(found.source, prefix + constant, given))
  }
  const binarizer = attributes.get('_label_binarizer')
  const classes =
    isObject(binarizer) && !attributes.has('classes_') ? attributesOf(binarizer).get('classes_') : undefined
  if (classes !== undefined) found.constants.push(constantFrom(found.source, `${prefix}classes_`, classes))
  if (rules.merged !== undefined) addStatistic(found, prefix, attributes, rules.merged)
  found.needsModel ??= rules.needsModel ?? null
}

/**
 * Reads the fitted arrays of a scikit-learn estimator or pipeline from a pickle (protocols 3 to 5) or an uncompressed joblib
 * file, without importing or running anything in it. Arrays that are not parameters stay unchanged. Throws bad_request
 * naming the estimator or the attribute.
 */
export const readSklearn = (source: ByteSource): TensorPlaces => {
  const { value: root, compressed } = readPickledFile(source, 'arrays')
  if (compressed)
    throw badRequest(
      'The joblib file is compressed, so no result can be written in its place. Save it with joblib.dump(model, path).',
    )
  const found: Found = { source, tensors: [], constants: [], statistics: [], needsModel: null }
  addEstimator(found, '', root, 0)
  const { tensors, constants, statistics, needsModel } = found
  return {
    tensors,
    members: [],
    constants,
    ...(statistics.length > 0 && { statistics }),
    ...(needsModel && { needsModel }),
  }
}
