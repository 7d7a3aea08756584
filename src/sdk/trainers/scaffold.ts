import { badRequest } from '../../domain/errors.ts'
import { type DenseNetwork, flatten, type NamedTensor, networkOf, unflatten } from './dense-network.ts'
import { decodeModel, encodeModel, type Model } from './weights-codec.ts'

/** The control variates of one device in one round: flat vectors of the model's parameters. */
export interface Controls {
  /** c, the service's; zero in a job's first round. */
  readonly global: Float64Array
  /** c_i, the device's own; zero before its first round in the job. */
  readonly own: Float64Array
}

/** Returns c - c_i, which is added to every gradient of local training (Karimireddy et al. 2020, algorithm 1, line 10). */
export const correctionOf = ({ global, own }: Controls): Float64Array =>
  global.map((value, index) => value - own[index]!)

/**
 * Returns c_i+ - c_i by option II: c_i+ = c_i - c + (x - y) / (K * lr), where x is the model before training, y the one after
 * it, K the number of steps and lr the learning rate.
 */
export const controlChange = (
  { global }: Controls,
  trained: {
    readonly from: Float64Array
    readonly to: Float64Array
    readonly steps: number
    readonly learningRate: number
  },
): Float64Array => {
  const length = trained.steps * trained.learningRate
  return trained.from.map((x, index) => (x - trained.to[index]!) / length - global[index]!)
}

const flatFrom = (bytes: Uint8Array | null, network: DenseNetwork, what: string): Float64Array => {
  if (bytes === null) return new Float64Array(network.parameterCount)
  const { tensors } = decodeModel(bytes)
  const found = networkOf(tensors)
  if (found.parameterCount !== network.parameterCount) {
    throw badRequest(`${what} has ${found.parameterCount} values, but the model has ${network.parameterCount}.`)
  }
  return flatten(network, tensors)
}

/** Returns this round's control variates, from the service's file and the device's stored one. */
export const readControls = (
  model: readonly NamedTensor[],
  files: { readonly control: Uint8Array | null; readonly memory: Uint8Array | null },
): Controls => {
  const network = networkOf(model)
  return {
    global: flatFrom(files.control, network, "The round's control variate"),
    own: flatFrom(files.memory, network, "This device's control variate"),
  }
}

/**
 * Returns what a SCAFFOLD update includes in addition to its weights: the change of the control variate, in the model's layout,
 * and the new variate for the device to store once the update is accepted. The stored one adds the values actually sent, so
 * that rounding does not make the service's mean and the devices' variates drift apart.
 */
export const writeControls = (
  model: Model,
  controls: Controls,
  change: Float64Array,
): { control: Uint8Array<ArrayBuffer>; memory: Uint8Array<ArrayBuffer> } => {
  const network = networkOf(model.tensors)
  const control = encodeModel(unflatten(network, change), model.dtypes)
  const sent = flatten(network, decodeModel(control).tensors)
  const kept = controls.own.map((value, index) => value + sent[index]!)
  const wide = new Map(model.tensors.map(({ name }) => [name, 'f64' as const]))
  return { control, memory: encodeModel(unflatten(network, kept), wide) }
}
