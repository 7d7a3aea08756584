// Layers without spatial axes: products, embeddings, and shapes.
import { int, type OnnxTensor, text } from '../../onnx/model.ts'
import { numbersOf, scalarOf, tensorOf } from '../../onnx/tensors.ts'
import { numbersIn } from '../keras-config.ts'
import { type Layer, LayerCall, type Size, type Value } from '../layer-call.ts'
import { activated } from './activations.ts'

const dense: Layer = (call) => {
  if ((call.config.quantization_config ?? null) !== null || call.config.lora_rank) {
    throw call.refuse('it is quantized or has a LoRA adapter; save the model before that.')
  }
  const value = call.cast(call.input(), 'f32')
  const weight = call.weightOfRank('kernel', 2)
  const kernel = call.constant('kernel', weight)
  const bias = call.optionalWeight('bias')
  const x = call.last(value)
  const biases = bias === undefined ? [] : [call.vector('bias', numbersOf(bias))]
  const product =
    value.shape.length === 2
      ? call.emit('Gemm', [x, kernel, ...biases])
      : [call.emit('MatMul', [x, kernel]), ...biases].reduce((a, b) => call.emit('Add', [a, b]))
  const shape = [...value.shape.slice(0, -1), weight.shape[1]!]
  return activated(call, call.result(product, shape, { mask: value.mask }), call.config.activation)
}

/** The product of an equation such as `bij,bjk->bik`. */
export const einsum = (call: LayerCall, equation: string, values: readonly Value[]): Value => {
  const [terms, result] = equation.replaceAll(' ', '').split('->')
  if (result === undefined || equation.includes('.'))
    throw call.refuse(`its equation '${equation}' has an ellipsis or no result.`)
  const sizes = new Map<string, Size>()
  terms!.split(',').forEach((term, at) => {
    for (const [axis, letter] of [...term].entries()) sizes.set(letter, values[at]?.shape[axis] ?? 1)
  })
  const names = values.map((value) => call.last(value))
  const name = call.emit('Einsum', names, { equation: text(equation.replaceAll(' ', '')) })
  const shape = [...result].map((letter) => sizes.get(letter) ?? 1)
  return call.result(name, shape)
}

/** 1 where the index on the last axis is the class, otherwise 0. */
export const oneHot = (call: LayerCall, value: Value, classes: number): Value => {
  const numbers = call.constant('classes', tensorOf('i64', [classes], [...Array(classes).keys()]))
  const wide = call.unsqueeze(call.cast({ ...value, name: call.last(value) }, 'i64').name, [-1])
  const name = call.castTo(call.emit('Equal', [wide, numbers]), 'f32')
  return call.result(name, [...value.shape, classes])
}

/** A product along several axes, given by its equation. */
const einsumDense: Layer = (call) => {
  const value = call.cast(call.input(), 'f32')
  const kernel = call.weight('kernel')
  const constant = (name: string, tensor: OnnxTensor) =>
    call.constant(name, tensorOf('f32', tensor.shape, numbersOf(tensor)))
  const weight = call.result(constant('kernel', kernel), kernel.shape)
  const product = einsum(call, call.text('equation', ''), [value, weight])
  const bias = call.optionalWeight('bias')
  const name = bias === undefined ? product.name : call.emit('Add', [product.name, constant('bias', bias)])
  return activated(call, { ...product, name }, call.config.activation)
}

const categories: Layer = (call) => {
  const value = call.input()
  if (call.inputs.length > 1) throw call.refuse('it is called with count_weights.')
  const ones = oneHot(call, value, call.number('num_tokens'))
  const mode = call.text('output_mode', 'multi_hot')
  const isSingle = value.shape.at(-1) === 1
  const over = call.integers([-2])
  if (mode === 'one_hot' && !isSingle) return ones
  const name = call.emit(mode === 'count' ? 'ReduceSum' : 'ReduceMax', [ones.name, over], { keepdims: int(0) })
  return call.result(name, [...value.shape.slice(0, -1), ones.shape.at(-1)!])
}

/** The number of boundaries that are not above the value. */
const discretization: Layer = (call) => {
  const value = call.cast(call.input(), 'f32')
  const bounds = numbersIn(call.config.bin_boundaries)
  if (bounds.length === 0) throw call.refuse('it has no bin_boundaries; adapt it before saving.')
  const reached = call.emit('GreaterOrEqual', [call.unsqueeze(call.last(value), [-1]), call.vector('bounds', bounds)])
  const counts = call.emit('ReduceSum', [call.castTo(reached, 'i32'), call.integers([-1])], { keepdims: int(0) })
  const bins = call.result(counts, value.shape, { type: 'i32' })
  if (call.text('output_mode', 'int') === 'int') return bins
  const settings = { ...call.layer, config: { ...call.config, num_tokens: bounds.length + 1 } }
  return categories(new LayerCall(call.scope, settings, call.place, [bins]))
}

const embedding: Layer = (call) => {
  const value = call.cast(call.input(), 'i64')
  const table = call.weightOfRank('embeddings', 2)
  const name = call.emit('Gather', [call.constant('embeddings', table), value.name], { axis: int(0) })
  const isZero = () => call.emit('Equal', [value.name, call.scope.builder.constant('zero', scalarOf('i64', 0))])
  const mask = call.flag('mask_zero') ? call.emit('Not', [isZero()]) : null
  return call.result(name, [...value.shape, table.shape[1]!], { mask })
}

export const elementsOf = (shape: readonly Size[]): Size =>
  shape.every((size) => typeof size === 'number')
    ? shape.reduce((all: number, size) => all * Number(size), 1)
    : 'elements'

/** A target shape with -1 replaced by what remains of all elements. */
export const inferred = (target: readonly number[], whole: Size): Size[] => {
  const others = target.filter((size) => size !== -1).reduce((all, size) => all * size, 1)
  return target.map((size) => (size !== -1 ? size : typeof whole === 'number' ? whole / others : 'elements'))
}

const flatten: Layer = (call) => {
  const value = call.input()
  const name = call.emit('Flatten', [call.last(value)], { axis: int(1) })
  return call.result(name, [value.shape[0]!, elementsOf(value.shape.slice(1))], { type: value.type })
}

const reshape: Layer = (call) => {
  const value = call.input()
  const target = numbersIn(call.config.target_shape)
  const name = call.reshape(call.last(value), [typeof value.shape[0] === 'number' ? value.shape[0] : 0, ...target])
  const shape = inferred(target, elementsOf(value.shape.slice(1)))
  return call.result(name, [value.shape[0]!, ...shape], { type: value.type })
}

const permute: Layer = (call) => {
  const value = call.input()
  const order = [0, ...numbersIn(call.config.dims)]
  if (order.some((axis) => value.shape[axis] === undefined)) throw call.refuse('its dims do not fit its input.')
  const shape = order.map((axis) => value.shape[axis]!)
  return call.result(call.transpose(call.last(value), order), shape, { type: value.type })
}

const repeatVector: Layer = (call) => {
  const value = call.inputOfRank(2)
  const count = call.number('n')
  const wide = call.unsqueeze(value.name, [1])
  const name = call.emit('Tile', [wide, call.integers([1, count, 1])])
  return call.result(name, [value.shape[0]!, count, value.shape[1]!])
}

/** Layers that have an effect only in training. */
const IDENTITIES =
  'Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D AlphaDropout GaussianDropout GaussianNoise Identity ' +
  'ActivityRegularization'

const AUGMENTATIONS =
  'Flip Rotation Zoom Contrast Brightness Translation Hue Saturation Sharpness Shear ColorJitter Grayscale Perspective ' +
  'Invert Posterization Erasing GaussianBlur ElasticTransform ColorDegeneration Height Width'

export const DENSE_LAYERS: Readonly<Record<string, Layer>> = {
  ...Object.fromEntries(IDENTITIES.split(' ').map((name) => [name, (call: LayerCall) => call.input()])),
  ...Object.fromEntries(
    AUGMENTATIONS.split(' ').map((name) => [`Random${name}`, (call: LayerCall) => call.cast(call.input(), 'f32')]),
  ),
  Dense: dense,
  EinsumDense: einsumDense,
  Embedding: embedding,
  CategoryEncoding: categories,
  Discretization: discretization,
  Flatten: flatten,
  Reshape: reshape,
  Permute: permute,
  RepeatVector: repeatVector,
  Masking: (call) => {
    const value = call.input()
    const kept = call.emit('Not', [call.emit('Equal', [value.name, call.scalar(call.number('mask_value', 0))])])
    const any = call.emit('ReduceMax', [call.castTo(kept, 'f32'), call.integers([-1])])
    const mask = call.castTo(call.squeeze(any, [-1]), 'bool')
    return call.like(value, call.emit('Mul', [value.name, any]), { mask })
  },
}
