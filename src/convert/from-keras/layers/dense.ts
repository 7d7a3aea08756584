// Layers without spatial axes: products, embeddings and shapes.
import { int, ints } from '../../onnx/model.ts'
import { numbersOf, scalarOf } from '../../onnx/tensors.ts'
import { numbersIn } from '../keras-config.ts'
import type { Layer, Size } from '../layer-call.ts'
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

const embedding: Layer = (call) => {
  const value = call.cast(call.input(), 'i64')
  const table = call.weightOfRank('embeddings', 2)
  const name = call.emit('Gather', [call.constant('embeddings', table), value.name], { axis: int(0) })
  const isZero = () => call.emit('Equal', [value.name, call.scope.builder.constant('zero', scalarOf('i64', 0))])
  const mask = call.flag('mask_zero') ? call.emit('Not', [isZero()]) : null
  return call.result(name, [...value.shape, table.shape[1]!], { mask })
}

const product = (shape: readonly Size[]): Size =>
  shape.every((size) => typeof size === 'number')
    ? shape.reduce((all: number, size) => all * Number(size), 1)
    : 'elements'

const flatten: Layer = (call) => {
  const value = call.input()
  const name = call.emit('Flatten', [call.last(value)], { axis: int(1) })
  return call.result(name, [value.shape[0]!, product(value.shape.slice(1))], { type: value.type })
}

const reshape: Layer = (call) => {
  const value = call.input()
  const target = numbersIn(call.config.target_shape)
  const name = call.reshape(call.last(value), [typeof value.shape[0] === 'number' ? value.shape[0] : 0, ...target])
  const known = product(value.shape.slice(1))
  const others = target.filter((size) => size !== -1).reduce((all, size) => all * size, 1)
  const shape = target.map((size) => (size !== -1 ? size : typeof known === 'number' ? known / others : 'elements'))
  return call.result(name, [value.shape[0]!, ...shape], { type: value.type })
}

const permute: Layer = (call) => {
  const value = call.input()
  const order = [0, ...numbersIn(call.config.dims)]
  if (order.some((axis) => value.shape[axis] === undefined)) throw call.refuse('its dims do not fit its input.')
  const name = call.emit('Transpose', [call.last(value)], { perm: ints(order) })
  return call.result(
    name,
    order.map((axis) => value.shape[axis]!),
    { type: value.type },
  )
}

const repeatVector: Layer = (call) => {
  const value = call.inputOfRank(2)
  const count = call.number('n')
  const wide = call.emit('Unsqueeze', [value.name, call.integers([1])])
  const name = call.emit('Tile', [wide, call.integers([1, count, 1])])
  return call.result(name, [value.shape[0]!, count, value.shape[1]!])
}

const same: Layer = (call) => call.input()

const IDENTITIES = [
  'Dropout',
  'SpatialDropout1D',
  'SpatialDropout2D',
  'SpatialDropout3D',
  'GaussianNoise',
  'GaussianDropout',
]

export const DENSE_LAYERS: Readonly<Record<string, Layer>> = {
  ...Object.fromEntries(
    [...IDENTITIES, 'AlphaDropout', 'ActivityRegularization', 'Identity'].map((name) => [name, same]),
  ),
  Dense: dense,
  Embedding: embedding,
  Flatten: flatten,
  Reshape: reshape,
  Permute: permute,
  RepeatVector: repeatVector,
  Masking: (call) => {
    const value = call.input()
    const kept = call.emit('Not', [call.emit('Equal', [value.name, call.scalar(call.number('mask_value', 0))])])
    const any = call.emit('ReduceMax', [call.emit('Cast', [kept], { to: int(1) }), call.integers([-1])])
    const mask = call.emit('Cast', [call.emit('Squeeze', [any, call.integers([-1])])], { to: int(9) })
    return call.like(value, call.emit('Mul', [value.name, any]), { mask })
  },
}
