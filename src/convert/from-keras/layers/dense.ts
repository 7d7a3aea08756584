// Layers without spatial axes: products, normalization, embeddings, shapes and merging.
import { float, int, ints } from '../../onnx/model.ts'
import { numbersOf, scalarOf, tensorOf } from '../../onnx/tensors.ts'
import type { Json } from '../keras-config.ts'
import type { Layer, LayerCall, Size, Value } from '../layer-call.ts'
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

const requireLastAxis = (call: LayerCall, value: Value): void => {
  const axis = call.config.axis ?? -1
  const axes = Array.isArray(axis) ? axis : [axis]
  if (axes.length !== 1 || (axes[0] !== -1 && axes[0] !== value.shape.length - 1)) {
    throw call.refuse('it normalizes another axis than the last one.')
  }
}

/** Per channel: x · scale + offset. */
const scaled = (call: LayerCall, value: Value, scale: ArrayLike<number>, offset: ArrayLike<number>): Value => {
  const shape = value.channelsFirst
    ? [scale.length, ...new Array<number>(value.shape.length - 2).fill(1)]
    : [scale.length]
  const constant = (name: string, values: ArrayLike<number>) => call.constant(name, tensorOf('f32', shape, values))
  const product = call.emit('Mul', [value.name, constant('scale', scale)])
  return call.like(value, call.emit('Add', [product, constant('offset', offset)]))
}

const batchNorm: Layer = (call) => {
  const value = call.input()
  requireLastAxis(call, value)
  const mean = numbersOf(call.weight('moving_mean'))
  const variance = numbersOf(call.weight('moving_variance'))
  const orAll = (name: string, absent: number) => {
    const weight = call.optionalWeight(name)
    return weight === undefined ? new Float32Array(mean.length).fill(absent) : numbersOf(weight)
  }
  const [gamma, beta] = [orAll('gamma', 1), orAll('beta', 0)]
  const epsilon = call.number('epsilon', 1e-3)
  if (value.channelsFirst || value.shape.length === 2) {
    const parts = { gamma, beta, moving_mean: mean, moving_variance: variance }
    const inputs = Object.entries(parts).map(([name, values]) => call.vector(name, values))
    return call.like(value, call.emit('BatchNormalization', [value.name, ...inputs], { epsilon: float(epsilon) }))
  }
  const scale = Float64Array.from(gamma, (each, at) => each / Math.sqrt(variance[at]! + epsilon))
  return scaled(
    call,
    value,
    scale,
    Float64Array.from(beta, (each, at) => each - mean[at]! * scale[at]!),
  )
}

const layerNorm: Layer = (call) => {
  const value = call.input()
  requireLastAxis(call, value)
  const [width] = call.fixed(value.shape.slice(-1), 'the last axis')
  const gamma = call.optionalWeight('gamma')
  const beta = call.optionalWeight('beta')
  const scale = gamma === undefined ? new Float32Array(width!).fill(1) : numbersOf(gamma)
  const inputs = [call.last(value), call.vector('gamma', scale)]
  if (beta !== undefined) inputs.push(call.vector('beta', numbersOf(beta)))
  const name = call.emit('LayerNormalization', inputs, { axis: int(-1), epsilon: float(call.number('epsilon', 1e-3)) })
  return call.result(name, value.shape, { mask: value.mask })
}

/** Over the channels of each group and all steps, then a scale and an offset for each channel. */
const groupNorm: Layer = (call) => {
  const value = call.input()
  requireLastAxis(call, value)
  const [channels] = call.fixed(value.shape.slice(-1), 'the last axis')
  const asked = call.number('groups', 32)
  const groups = asked === -1 ? channels! : asked
  if (groups < 1 || channels! % groups !== 0) throw call.refuse(`${channels} channels are not ${groups} groups.`)
  const x = call.first(value)
  const grouped = call.emit('Reshape', [x, call.integers([0, groups, -1])])
  const unit = [call.vector('one', new Float32Array(groups).fill(1)), call.vector('zero', new Float32Array(groups))]
  const epsilon = float(call.number('epsilon', 1e-3))
  const even = call.emit('InstanceNormalization', [grouped, ...unit], { epsilon })
  const result = { ...value, name: call.emit('Reshape', [even, call.emit('Shape', [x])]), channelsFirst: true }
  const [gamma, beta] = [call.optionalWeight('gamma'), call.optionalWeight('beta')]
  const all = (absent: number) => new Float32Array(channels!).fill(absent)
  return scaled(call, result, gamma ? numbersOf(gamma) : all(1), beta ? numbersOf(beta) : all(0))
}

/** x / √(mean of squares + ε), times a scale for each channel. */
const rmsNorm: Layer = (call) => {
  const value = call.input()
  requireLastAxis(call, value)
  const x = call.last(value)
  const mean = call.emit('ReduceMean', [call.emit('Mul', [x, x]), call.integers([-1])])
  const epsilon = call.scalar(call.number('epsilon', 1e-6))
  const even = call.emit('Div', [x, call.emit('Sqrt', [call.emit('Add', [mean, epsilon])])])
  const scale = call.vector('scale', numbersOf(call.weight('scale')))
  return call.result(call.emit('Mul', [even, scale]), value.shape, { mask: value.mask })
}

/** All numbers in nested lists. */
const numbersIn = (value: Json | undefined): number[] => {
  if (typeof value === 'number') return [value]
  return Array.isArray(value) ? value.flatMap(numbersIn) : []
}

/** (x − mean) / max(√variance, 1e-7), with what was adapted or given. */
const normalization: Layer = (call) => {
  const value = call.cast(call.input(), 'f32')
  const axis = call.config.axis ?? -1
  const axes = numbersIn(axis)
  if (axes.length > 1 || (axes.length === 1 && axes[0] !== -1 && axes[0] !== value.shape.length - 1)) {
    throw call.refuse('it has statistics of other axes than the last one.')
  }
  const statistics = (name: string) => {
    const weight = call.optionalWeight(name)
    return weight === undefined ? Float64Array.from(numbersIn(call.config[name])) : numbersOf(weight)
  }
  const [mean, variance] = [statistics('mean'), statistics('variance')]
  const deviation = Float64Array.from(variance, (each) => Math.max(Math.sqrt(each), 1e-7))
  const plain = { ...value, name: call.last(value), channelsFirst: false }
  if (call.flag('invert')) return scaled(call, plain, deviation, mean)
  const offset = Float64Array.from(mean, (each, at) => -each / deviation[at]!)
  return scaled(
    call,
    plain,
    deviation.map((each) => 1 / each),
    offset,
  )
}

const rescaling: Layer = (call) => {
  const value = call.cast(call.input(), 'f32')
  const [scale, offset] = [numbersIn(call.config.scale), numbersIn(call.config.offset)]
  const length = Math.max(scale.length, offset.length, 1)
  const all = (values: number[]) => Array.from({ length }, (_, at) => values[values.length === 1 ? 0 : at] ?? 0)
  return scaled(call, { ...value, name: call.last(value), channelsFirst: false }, all(scale), all(offset))
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

const merged = (shapes: readonly (readonly Size[])[]): Size[] =>
  shapes[0]!.map((_, axis) => {
    const sizes = shapes.map((shape) => shape[axis]!)
    return sizes.find((size) => typeof size === 'number' && size !== 1) ?? sizes.find((size) => size !== 1) ?? 1
  })

/** The tensors of a merge in one layout: channels first where all have it. */
const inputsOf = (call: LayerCall): { names: string[]; values: Value[]; channelsFirst: boolean } => {
  const values = call.inputs.map((_, at) => call.input(at))
  const ranks = new Set(values.map(({ shape }) => shape.length))
  if (values.length === 0 || ranks.size !== 1) throw call.refuse('its inputs differ in the number of axes.')
  const channelsFirst = values.every((value) => value.channelsFirst)
  return { names: values.map((value) => (channelsFirst ? value.name : call.last(value))), values, channelsFirst }
}

/** Steps of all inputs that have a mask. */
const maskOf = (call: LayerCall, values: readonly Value[]): string | null => {
  const masks = [...new Set(values.flatMap(({ mask }) => (mask === null ? [] : [mask])))]
  return masks.length === 0 ? null : masks.reduce((a, b) => call.emit('And', [a, b]))
}

const merge =
  (make: (call: LayerCall, names: readonly string[]) => string): Layer =>
  (call) => {
    const { names, values, channelsFirst } = inputsOf(call)
    const shape = merged(values.map((value) => value.shape))
    return call.result(make(call, names), shape, {
      channelsFirst,
      type: values[0]!.type,
      mask: maskOf(call, values),
    })
  }

const inTurn =
  (type: string) =>
  (call: LayerCall, names: readonly string[]): string =>
    names.reduce((a, b) => call.emit(type, [a, b]))

const concatenate: Layer = (call) => {
  const { names, values, channelsFirst } = inputsOf(call)
  const rank = values[0]!.shape.length
  const asked = call.number('axis', -1)
  const axis = asked < 0 ? asked + rank : asked
  const parts = values.map((value) => value.shape[axis]!)
  const length = parts.every((size) => typeof size === 'number')
    ? parts.reduce((a, b) => Number(a) + Number(b))
    : 'joined'
  // Channels are the last axis in Keras.
  const at = !channelsFirst || axis === 0 ? axis : axis === rank - 1 ? 1 : axis + 1
  const shape = values[0]!.shape.map((size, each) => (each === axis ? length : size))
  const name = call.emit('Concat', names, { axis: int(at) })
  return call.result(name, shape, { channelsFirst, type: values[0]!.type, mask: maskOf(call, values) })
}

const unit = (call: LayerCall, x: string, axis: number): string => {
  const squares = call.emit('ReduceSum', [call.emit('Mul', [x, x]), call.integers([axis])])
  return call.emit('Div', [x, call.emit('Sqrt', [call.emit('Max', [squares, call.scalar(1e-12)])])])
}

/** Products over one axis of each input, for inputs of two or three axes. */
const dot: Layer = (call) => {
  const { names, values } = inputsOf(call)
  const rank = values[0]!.shape.length
  const [a, b] = call.sizes('axes', 2).map((axis) => (axis < 0 ? axis + rank : axis))
  if (values.length !== 2 || rank > 3 || a === 0 || b === 0) throw call.refuse('its inputs have more than three axes.')
  const [x, y] = call.flag('normalize') ? [unit(call, names[0]!, a!), unit(call, names[1]!, b!)] : names
  if (rank === 2) {
    const sum = call.emit('ReduceSum', [call.emit('Mul', [x!, y!]), call.integers([1])])
    return call.result(sum, [values[0]!.shape[0]!, 1])
  }
  const turned = (value: string) => call.emit('Transpose', [value], { perm: ints([0, 2, 1]) })
  const name = call.emit('MatMul', [a === 2 ? x! : turned(x!), b === 1 ? y! : turned(y!)])
  return call.result(name, [
    values[0]!.shape[0]!,
    values[0]!.shape[a === 2 ? 1 : 2]!,
    values[1]!.shape[b === 1 ? 2 : 1]!,
  ])
}

/** `x * 2 + y`: an operator of keras.ops, of tensors and numbers. */
export const arithmetic =
  (type: string): Layer =>
  (call) => {
    const [value] = call.inputs.filter((input) => typeof input === 'object')
    if (value === undefined || call.inputs.length !== 2) throw call.refuse('it has other inputs than two.')
    if (call.inputs.every((input) => typeof input === 'object')) return merge(inTurn(type))(call)
    const names = call.inputs.map((input) =>
      typeof input === 'number' ? call.scalar(input) : call.cast(input, 'f32').name,
    )
    return call.like(value, call.emit(type, names), { type: 'f32' })
  }

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
  BatchNormalization: batchNorm,
  LayerNormalization: layerNorm,
  GroupNormalization: groupNorm,
  RMSNormalization: rmsNorm,
  Normalization: normalization,
  Rescaling: rescaling,
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
  Add: merge(inTurn('Add')),
  Subtract: merge(inTurn('Sub')),
  Multiply: merge(inTurn('Mul')),
  Maximum: merge((call, names) => call.emit('Max', names)),
  Minimum: merge((call, names) => call.emit('Min', names)),
  Average: merge((call, names) => call.emit('Mean', names)),
  Concatenate: concatenate,
  Dot: dot,
}
