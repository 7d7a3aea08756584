import { badRequest } from '../../domain/errors.ts'
import { seededRandom } from './random.ts'

/** A named tensor with its values, row-major. */
export interface NamedTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly data: Float64Array
}

/** One fully connected layer, laid out like torch.nn.Linear: y = W x + b, W [outputs, inputs], b [outputs]. */
export interface DenseLayer {
  readonly inputs: number
  readonly outputs: number
  readonly weightName: string
  /** Where W and b start in the flat parameter vector. */
  readonly weightAt: number
  readonly biasName: string | null
  readonly biasAt: number
}

/** Fully connected layers with ReLU between them. One layer is multinomial logistic regression. */
export interface DenseNetwork {
  readonly layers: readonly DenseLayer[]
  readonly inputs: number
  readonly classes: number
  readonly parameterCount: number
}

const ours = 'The built-in trainer supports fully connected layers only; use --trainer "command" for other models.'

const show = (shape: readonly number[]): string => `[${shape.join(', ')}]`

/** Sorts `layers.10.weight` after `layers.2.weight`. */
const byLayerNumber = new Intl.Collator('en', { numeric: true })

/**
 * Returns the network with these tensors as its weights. Layers are recognized by shape and name: `<layer>weight` [outputs,
 * inputs] with an optional `<layer>bias` [outputs], ordered by the numbers in their names. Throws bad_request naming the first
 * tensor that does not match.
 */
export const networkOf = (tensors: readonly Pick<NamedTensor, 'name' | 'shape'>[]): DenseNetwork => {
  const shapes = new Map(tensors.map((tensor) => [tensor.name, tensor.shape]))
  const layers: DenseLayer[] = []
  let at = 0
  const used = new Set<string>()
  const weightNames = [...shapes.keys()].filter((name) => /(^|\.)weight$/.test(name)).sort(byLayerNumber.compare)
  for (const weightName of weightNames) {
    const shape = shapes.get(weightName)!
    const [outputs, inputs] = shape
    if (shape.length !== 2 || !outputs || !inputs) {
      throw badRequest(`Tensor '${weightName}' has shape ${show(shape)}, but a layer needs [outputs, inputs]. ${ours}`)
    }
    const before = layers.at(-1)
    if (before && before.outputs !== inputs) {
      throw badRequest(
        `Tensor '${weightName}' takes ${inputs} inputs, but '${before.weightName}' gives ${before.outputs} outputs. ${ours}`,
      )
    }
    const biasName = weightName.replace(/weight$/, 'bias')
    const biasShape = shapes.get(biasName)
    if (biasShape && (biasShape.length !== 1 || biasShape[0] !== outputs)) {
      throw badRequest(`Tensor '${biasName}' has shape ${show(biasShape)}, expected [${outputs}]. ${ours}`)
    }
    const biasAt = at + inputs * outputs
    layers.push({ inputs, outputs, weightName, weightAt: at, biasName: biasShape ? biasName : null, biasAt })
    at = biasAt + (biasShape ? outputs : 0)
    used.add(weightName).add(biasName)
  }
  const stranger = tensors.find((tensor) => !used.has(tensor.name))
  if (stranger) throw badRequest(`Tensor '${stranger.name}' ${show(stranger.shape)} belongs to no layer. ${ours}`)
  const first = layers[0]
  const last = layers.at(-1)
  if (!first || !last) throw badRequest(`The model has no tensor named 'weight' or '<layer>.weight'. ${ours}`)
  if (last.outputs < 2) {
    throw badRequest(
      `Tensor '${last.weightName}' gives ${last.outputs} output, but a classifier needs one per class. ${ours}`,
    )
  }
  return { layers, inputs: first.inputs, classes: last.outputs, parameterCount: at }
}

/** Copies the tensors into one vector, in the network's layout. */
export const flatten = (network: DenseNetwork, tensors: readonly NamedTensor[]): Float64Array => {
  const data = new Map(tensors.map((tensor) => [tensor.name, tensor.data]))
  const parameters = new Float64Array(network.parameterCount)
  for (const layer of network.layers) {
    parameters.set(data.get(layer.weightName)!, layer.weightAt)
    if (layer.biasName !== null) parameters.set(data.get(layer.biasName)!, layer.biasAt)
  }
  return parameters
}

/** The reverse of `flatten`: tensors in layer order, weight before bias. The values are copied. */
export const unflatten = (network: DenseNetwork, parameters: Float64Array): NamedTensor[] =>
  network.layers.flatMap((layer) => {
    const { inputs, outputs, weightName, weightAt, biasName, biasAt } = layer
    const weight = { name: weightName, shape: [outputs, inputs], data: parameters.slice(weightAt, biasAt) }
    if (biasName === null) return [weight]
    return [weight, { name: biasName, shape: [outputs], data: parameters.slice(biasAt, biasAt + outputs) }]
  })

/**
 * Returns an initial model for a round that distributes none. Without hidden sizes: multinomial logistic regression, `weight`
 * [classes, features] and `bias` [classes], all zero. With them: `layers.<n>.weight` and `.bias`, weights uniform within sqrt(6
 * / inputs) (He 2015), biases zero. All devices with the same sizes and seed start from the same values.
 */
export const initialModel = (sizes: {
  readonly features: number
  readonly hidden: readonly number[]
  readonly classes: number
  readonly seed: number
}): NamedTensor[] => {
  const random = seededRandom(sizes.seed)
  const widths = [sizes.features, ...sizes.hidden, sizes.classes]
  const linear = sizes.hidden.length === 0
  return widths.slice(1).flatMap((outputs, index) => {
    const inputs = widths[index]!
    const prefix = linear ? '' : `layers.${index}.`
    const bound = linear ? 0 : Math.sqrt(6 / inputs)
    const data = Float64Array.from({ length: outputs * inputs }, () =>
      linear ? 0 : bound * (2 * random.uniform() - 1),
    )
    return [
      { name: `${prefix}weight`, shape: [outputs, inputs], data },
      { name: `${prefix}bias`, shape: [outputs], data: new Float64Array(outputs) },
    ]
  })
}
