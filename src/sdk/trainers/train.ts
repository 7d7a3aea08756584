import { badRequest } from '../../domain/errors.ts'
import { crossEntropy, crossEntropyPass } from './cross-entropy.ts'
import { type Dataset, rowCount } from './dataset.ts'
import { type DenseNetwork, flatten, type NamedTensor, networkOf, unflatten } from './dense-network.ts'
import { minimize, type SgdOptions } from './sgd.ts'

export interface Evaluation {
  readonly count: number
  /** Mean softmax cross-entropy, natural log. */
  readonly loss: number
  /** The share of rows whose highest score is their label, 0 to 1. */
  readonly accuracy: number
}

export interface Trained {
  /** The same names and shapes as the given model. */
  readonly tensors: readonly NamedTensor[]
  /** Rows trained on. */
  readonly numSamples: number
  /** Loss of the new weights on the rows trained on. */
  readonly loss: number
  readonly accuracy: number
  readonly seconds: number
  /** The number of gradient descent steps. */
  readonly steps: number
}

const requireFit = (network: DenseNetwork, data: Dataset): void => {
  if (rowCount(data) === 0) throw badRequest('There are no rows of data.')
  if (data.featureCount !== network.inputs) {
    throw badRequest(`The model takes ${network.inputs} features, but the data has ${data.featureCount}.`)
  }
  const row = data.labels.findIndex((label) => label >= network.classes)
  if (row >= 0) {
    throw badRequest(
      `Row ${row + 1} has label ${data.labels[row]}, but the model has ${network.classes} classes (0 to ${network.classes - 1}).`,
    )
  }
}

const evaluateFlat = (network: DenseNetwork, parameters: Float64Array, data: Dataset): Evaluation => {
  const pass = crossEntropyPass(network, data)
  const count = rowCount(data)
  let loss = 0
  let correct = 0
  for (let row = 0; row < count; row++) {
    loss += pass.forward(parameters, row)
    if (pass.predicted() === data.labels[row]) correct++
  }
  return { count, loss: loss / count, accuracy: correct / count }
}

/** Returns the loss and accuracy of a model on labeled rows. Throws bad_request if they do not match. */
export const evaluate = (model: readonly NamedTensor[], data: Dataset): Evaluation => {
  const network = networkOf(model)
  requireFit(network, data)
  return evaluateFlat(network, flatten(network, model), data)
}

/**
 * Trains a logistic regression or multilayer perceptron on labeled rows, starting from `model`, whose tensors determine the
 * type and sizes. `model` is not modified. Throws bad_request if data and model do not match or training diverges.
 */
export const train = async (model: readonly NamedTensor[], data: Dataset, options: SgdOptions): Promise<Trained> => {
  const began = performance.now()
  const network = networkOf(model)
  requireFit(network, data)
  const parameters = flatten(network, model)
  const steps = await minimize(crossEntropy(network, data), parameters, options)
  const { count, loss, accuracy } = evaluateFlat(network, parameters, data)
  if (!Number.isFinite(loss)) {
    throw badRequest(
      `Training diverged: the loss is ${loss} at the end. Lower learning_rate (it is ${options.learningRate}).`,
    )
  }
  const seconds = (performance.now() - began) / 1000
  return { tensors: unflatten(network, parameters), numSamples: count, loss, accuracy, seconds, steps }
}
