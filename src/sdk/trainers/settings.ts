import { badRequest } from '../../domain/errors.ts'

/** A round's hyperparameters for the built-in trainer. */
export interface TrainingSettings {
  readonly learningRate: number
  readonly batchSize: number
  readonly epochs: number
  readonly l2: number
  /** FedProx's mu. */
  readonly proximal: number
  /** Ditto's lambda: how strongly the personal model is pulled toward the global one. */
  readonly personal: number
  /** After this time a device delivers its current weights; null: it finishes all epochs. */
  readonly maxSeconds: number | null
  readonly seed: number
  /** Sizes of the hidden layers if the round distributes no model; none: a logistic regression. */
  readonly hidden: readonly number[]
  /** The class names in the order of their indices, or only their number. */
  readonly classes: readonly string[] | number | null
}

const fault = (name: string, value: unknown, expected: string): Error =>
  badRequest(`The round's hyperparameter ${name} must be ${expected}, got ${JSON.stringify(value)}.`)

interface Range {
  readonly fallback: number
  readonly min: number
  readonly whole: boolean
  readonly expected: string
}

const number = (given: Readonly<Record<string, unknown>>, name: string, range: Range): number => {
  const value = given[name] ?? range.fallback
  const fits = typeof value === 'number' && Number.isFinite(value) && value >= range.min
  if (!fits || (range.whole && !Number.isSafeInteger(value))) throw fault(name, value, range.expected)
  return value
}

const positive = (fallback: number): Range => ({
  fallback,
  min: Number.MIN_VALUE,
  whole: false,
  expected: 'a number above 0',
})
const atLeastZero: Range = { fallback: 0, min: 0, whole: false, expected: 'a number of at least 0' }
const count = (fallback: number): Range => ({ fallback, min: 1, whole: true, expected: 'a whole number of at least 1' })

const hiddenLayersOf = (value: unknown): readonly number[] => {
  const sizes: unknown[] = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
  for (const size of sizes) {
    if (!Number.isSafeInteger(size) || (size as number) < 1)
      throw fault('hidden_layers', value, 'sizes such as [32, 16]')
  }
  return sizes as number[]
}

const classesOf = (value: unknown): readonly string[] | number | null => {
  const expected = 'a list of at least two different class names, or how many classes there are'
  if (value === undefined || value === null) return null
  if (!Array.isArray(value)) {
    if (!Number.isSafeInteger(value) || (value as number) < 2) throw fault('classes', value, expected)
    return value as number
  }
  const names = value.map(String)
  if (names.length < 2 || new Set(names).size < names.length) throw fault('classes', value, expected)
  return names
}

/**
 * Reads learning_rate (.01), batch_size (10), local_epochs (20; these three defaults are from the FedProx paper), weight_decay
 * (0), mu (0; also proximal_mu), lambda (0), max_seconds (none), seed (0), hidden_layers ([]) and classes (none); ignores other
 * names. Throws bad_request naming an invalid one.
 */
export const settingsFrom = (hyperparameters: Readonly<Record<string, unknown>>): TrainingSettings => ({
  learningRate: number(hyperparameters, 'learning_rate', positive(0.01)),
  batchSize: number(hyperparameters, 'batch_size', count(10)),
  epochs: number(hyperparameters, 'local_epochs', count(20)),
  l2: number(hyperparameters, 'weight_decay', atLeastZero),
  proximal: number(hyperparameters, hyperparameters.mu === undefined ? 'proximal_mu' : 'mu', atLeastZero),
  personal: number(hyperparameters, 'lambda', atLeastZero),
  maxSeconds: hyperparameters.max_seconds == null ? null : number(hyperparameters, 'max_seconds', positive(1)),
  seed: number(hyperparameters, 'seed', { ...atLeastZero, whole: true, expected: 'a whole number of at least 0' }),
  hidden: hiddenLayersOf(hyperparameters.hidden_layers),
  classes: classesOf(hyperparameters.classes),
})
