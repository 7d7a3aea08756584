import { badRequest } from '../../domain/errors.ts'
import {
  isArray,
  type NumpyArray,
  readArrayField,
  readArrayNumbers,
  readArrayTexts,
} from '../../tensors/numpy-pickle.ts'
import type { PickleValue } from '../../tensors/pickle-value.ts'
import { isObject, type PickledFile, type PickledObject } from '../../tensors/sklearn-objects.ts'

/** The maximum count of numbers per model, because an array can be referenced many times. */
const MAX_NUMBERS = 64_000_000

export interface Numbers {
  readonly shape: readonly number[]
  readonly data: ArrayLike<number>
}

/** Class labels or categories: all numbers, possibly with NaN, or all strings, with '' in place of None or NaN at `missing`. */
export type Labels =
  | { readonly numbers: readonly number[] }
  | { readonly texts: readonly string[]; readonly missing: number | null }

export const labelCount = (labels: Labels): number => ('texts' in labels ? labels.texts : labels.numbers).length

/** State of one conversion: the file and the remaining budget of numbers. */
export interface Reading {
  readonly file: PickledFile
  numbersLeft: number
}

export const readingOf = (file: PickledFile): Reading => ({ file, numbersLeft: MAX_NUMBERS })

/** Attributes that hold an inner fitted estimator, most specific first. */
const INNER = ['best_estimator_', 'estimator_', 'base_estimator_', 'regressor_', '_preprocessor', 'estimator']

/** A fitted estimator or another object of its pickle. All methods throw bad_request naming the class and the attribute. */
export class Estimator {
  /** The class name without modules. */
  readonly type: string
  readonly reading: Reading
  readonly #attributes: ReadonlyMap<PickleValue, PickleValue>

  constructor(object: PickledObject, reading: Reading) {
    this.reading = reading
    this.type = object.type.split('.').at(-1)!
    this.#attributes = object.state instanceof Map ? object.state : new Map()
  }

  /** The estimator in a value, such as a list item. */
  static of(value: PickleValue | undefined, reading: Reading, what: string): Estimator {
    if (!isObject(value))
      throw badRequest(`${what} is not an estimator of scikit-learn. Save the fitted estimator alone.`)
    return new Estimator(value, reading)
  }

  refuse(reason: string): never {
    throw badRequest(`${this.type}: ${reason}`)
  }

  get(name: string): PickleValue {
    return this.#attributes.get(name) ?? null
  }

  has(name: string): boolean {
    return this.get(name) !== null
  }

  text(name: string, absent?: string): string {
    const value = this.get(name) ?? absent
    return typeof value === 'string' ? value : this.refuse(`the attribute ${name} is not a string. Is it fitted?`)
  }

  number(name: string, absent?: number): number {
    const value = this.get(name) ?? absent
    if (typeof value === 'number') return value
    if (typeof value === 'boolean' || typeof value === 'bigint') return Number(value)
    const { data } = this.numbers(name)
    return data.length === 1 ? data[0]! : this.refuse(`the attribute ${name} is not a number. Is it fitted?`)
  }

  flag(name: string, absent = false): boolean {
    return (this.get(name) ?? absent) === true
  }

  /** A numeric attribute: an array, a list, or a single number. */
  numbers(name: string): Numbers {
    return this.asNumbers(this.get(name), name)
  }

  /** A matrix with this many columns (a vector is one row, unless columns is 1). */
  matrix(name: string, columns: number): { rows: number; data: ArrayLike<number> } {
    const { shape, data } = this.numbers(name)
    const rows = data.length / columns
    if (shape.length > 2 || !Number.isInteger(rows) || rows === 0 || (shape.length === 2 && shape[1] !== columns))
      this.refuse(`${name} of shape [${shape.join(', ')}] does not fit ${columns} columns.`)
    return { rows, data }
  }

  /** This many numbers; a single number is repeated. */
  vector(name: string, length: number): number[] {
    const { data } = this.numbers(name)
    this.spend(length)
    if (data.length === 1) return Array<number>(length).fill(data[0]!)
    if (data.length !== length) this.refuse(`${name} has ${data.length} numbers where ${length} are expected.`)
    return Array.from(data)
  }

  asNumbers(value: PickleValue, name: string): Numbers {
    if (typeof value === 'number' || typeof value === 'boolean') return { shape: [], data: [Number(value)] }
    if (Array.isArray(value) && value.every((item) => typeof item === 'number'))
      return { shape: [value.length], data: value as number[] }
    if (isObject(value) && /^scipy\.sparse\..*csr_(matrix|array)$/.test(value.type))
      return new Estimator(value, this.reading).#dense()
    if (!isArray(value)) this.refuse(`the attribute ${name} is not an array. Is it fitted?`)
    this.spend(value.shape.reduce((product, size) => product * size, 1))
    const isStored = value.bytes !== null
    const data = isStored ? readArrayNumbers(this.reading.file.source, value) : value.items.map(Number)
    return { shape: value.shape, data }
  }

  /** Expands a matrix in compressed sparse row format. */
  #dense(): Numbers {
    const [rows = 0, columns = 0] = Array.from(this.numbers('_shape').data)
    const [data, indices, starts] = ['data', 'indices', 'indptr'].map((name) => this.numbers(name).data)
    if (!(rows >= 0 && columns >= 0) || starts!.length !== rows + 1) this.refuse('its rows do not fit its shape.')
    this.spend(rows * columns)
    const dense = new Float64Array(rows * columns)
    for (let row = 0; row < rows; row++)
      for (let at = starts![row]!; at < Math.min(starts![row + 1]!, data!.length); at++)
        dense[row * columns + indices![at]!] = data![at]!
    return { shape: [rows, columns], data: dense }
  }

  /** A field of a record array. */
  field(array: NumpyArray, name: string): ArrayLike<number> {
    this.spend(array.shape.reduce((product, size) => product * size, 1))
    return readArrayField(this.reading.file.source, array, name)
  }

  hasField(array: NumpyArray, name: string): boolean {
    return array.type?.fields?.has(name) === true
  }

  array(name: string): NumpyArray {
    const value = this.get(name)
    return isArray(value) ? value : this.refuse(`the attribute ${name} is not an array. Is it fitted?`)
  }

  labels(name: string): Labels {
    return this.asLabels(this.get(name), name)
  }

  asLabels(value: PickleValue, name: string): Labels {
    if (!isArray(value) || value.shape.length !== 1) this.refuse(`${name} is not a list of labels.`)
    this.spend(value.shape[0]!)
    if (value.type?.type === 'U' || value.type?.type === 'S')
      return { texts: readArrayTexts(this.reading.file.source, value), missing: null }
    const { items } = value
    const isMissing = (item: PickleValue) => item === null || Number.isNaN(item)
    if (value.bytes === null && items.some((item) => typeof item === 'string')) {
      if (!items.every((item) => typeof item === 'string' || isMissing(item)))
        this.refuse(`${name} contains both text and numbers, which cannot be converted.`)
      const missing = items.findIndex(isMissing)
      const texts = items.map((item) => (typeof item === 'string' ? item : ''))
      if (missing >= 0 && texts.filter((item) => item === '').length > 1)
        this.refuse(
          `${name} contains more than one of '', None, and NaN, which an ONNX string input cannot tell apart. Replace them before fitting.`,
        )
      return { texts, missing: missing < 0 ? null : missing }
    }
    return { numbers: Array.from(this.asNumbers(value, name).data) }
  }

  estimator(name: string): Estimator {
    return Estimator.of(this.get(name) ?? undefined, this.reading, `${this.type}.${name}`)
  }

  /** The items of a list, tuple, or object array. */
  list(name: string): readonly PickleValue[] {
    const value = this.get(name)
    const items = isArray(value) ? value.items : value
    if (!Array.isArray(items)) return this.refuse(`the attribute ${name} is not a list. Is it fitted?`)
    this.spend(items.length)
    return items
  }

  estimators(name: string): Estimator[] {
    const list = this.list(name).map((item) => Estimator.of(item, this.reading, `A member of ${this.type}.${name}`))
    return list.length > 0 ? list : this.refuse(`${name} is empty. Is it fitted?`)
  }

  /** The number of input columns that the estimator was fitted to. */
  features(): number {
    if (/^(LabelEncoder|IsotonicRegression|CountVectorizer|TfidfVectorizer)$/.test(this.type)) return 1
    const [inner] = this.has('n_features_in_') ? [] : this.inner()
    if (inner !== undefined) return inner.features()
    const features = this.number('n_features_in_', 0)
    if (!Number.isInteger(features) || features < 1 || features > 1_000_000)
      this.refuse('it is not fitted, or was saved by scikit-learn before 0.24: n_features_in_ is missing.')
    return features
  }

  /** The column names from fitting, or none. Pipelines do not store them, but their first step does. */
  columnNames(): readonly string[] {
    if (this.has('feature_names_in_')) {
      const names = this.labels('feature_names_in_')
      return 'texts' in names ? names.texts : []
    }
    return this.inner()[0]?.columnNames() ?? []
  }

  /** Inner estimators that get the same columns, as in a union, vote, or search; for a pipeline, the first step. */
  inner(): Estimator[] {
    const list = ['steps', 'transformer_list', 'estimators_', 'calibrated_classifiers_'].find((name) => this.has(name))
    const steps = list === undefined ? [] : this.list(list).map((step) => (Array.isArray(step) ? step[1] : step))
    const all = (list === undefined ? INNER.map((name) => this.get(name)) : steps).filter(isObject)
    const used = list === undefined || list === 'steps' ? all.slice(0, 1) : all
    return used.map((own) => new Estimator(own, this.reading))
  }

  /** The scikit-learn version that saved it: 1.2 is 1.02, 0 if unknown. */
  version(): number {
    const [major, minor] = this.text('_sklearn_version', '0.0').split('.').map(Number)
    return (major ?? 0) + (minor ?? 0) / 100
  }

  /** Counts numbers read and created, to limit files that reference the same data repeatedly. */
  spend(count: number): void {
    this.reading.numbersLeft -= count
    if (!(this.reading.numbersLeft >= 0))
      this.refuse(`the model has more than ${MAX_NUMBERS} numbers, which is too large to convert.`)
  }
}
