// Layers and operators with several inputs.
import { int } from '../../onnx/model.ts'
import type { Layer, LayerCall, Value } from '../layer-call.ts'
import { broadcast } from './arithmetic-operators.ts'
import { einsum } from './dense.ts'

/** Expands the value to this number of axes, inserting new ones after the batch, as Keras does for merges. */
const expanded = (call: LayerCall, value: Value, rank: number): Value => {
  const more = Array.from({ length: rank - value.shape.length }, (_, at) => at + 1)
  if (more.length === 0) return value
  const shape = value.shape.toSpliced(1, 0, ...more.map(() => 1))
  return { ...value, name: call.unsqueeze(call.last(value), more), shape, channelsFirst: false }
}

/** The inputs of a merge in one layout: channels first if all have it. */
const inputsOf = (call: LayerCall): { names: string[]; values: Value[]; channelsFirst: boolean } => {
  const given = call.inputs.map((_, at) => call.input(at))
  if (given.length === 0) throw call.refuse('it has no inputs.')
  const rank = Math.max(...given.map(({ shape }) => shape.length))
  const values = given.map((value) => expanded(call, value, rank))
  const channelsFirst = values.every((value) => value.channelsFirst)
  return { names: values.map((value) => (channelsFirst ? value.name : call.last(value))), values, channelsFirst }
}

/** The common mask of all inputs that have one. */
const maskOf = (call: LayerCall, values: readonly Value[]): string | null => {
  const masks = [...new Set(values.flatMap(({ mask }) => (mask === null ? [] : [mask])))]
  return masks.length === 0 ? null : masks.reduce((a, b) => call.emit('And', [a, b]))
}

const merge =
  (make: (call: LayerCall, names: readonly string[]) => string): Layer =>
  (call) => {
    const { names, values, channelsFirst } = inputsOf(call)
    const shape = broadcast(values.map((value) => value.shape))
    return call.result(make(call, names), shape, { channelsFirst, type: values[0]!.type, mask: maskOf(call, values) })
  }

const inTurn =
  (type: string) =>
  (call: LayerCall, names: readonly string[]): string =>
    names.reduce((a, b) => call.emit(type, [a, b]))

const concatenate: Layer = (call) => {
  const { names, values, channelsFirst } = inputsOf(call)
  const rank = values[0]!.shape.length
  const requested = call.number('axis', -1)
  const axis = requested < 0 ? requested + rank : requested
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

/** Products over one axis of each input; the remaining axes of the first come before those of the second. */
const dot: Layer = (call) => {
  const values = call.inputs.map((_, at) => call.input(at))
  const requested = call.sizes('axes', 2)
  const axes = values.map(({ shape }, at) => (requested[at]! < 0 ? requested[at]! + shape.length : requested[at]!))
  if (values.length !== 2 || axes.includes(0)) throw call.refuse('it multiplies along the batch.')
  const letters = ['bcdefghij', 'bklmnopq'].map((names, at) =>
    values[at]!.shape.map((_, axis) => (axis === axes[at] ? 'a' : names[axis]!)).join(''),
  )
  const result = [...letters[0]!, ...letters[1]!.slice(1)].filter((letter) => letter !== 'a').join('')
  const plain = values.map((value, at) => {
    const name = call.last(value)
    return { ...value, name: call.flag('normalize') ? unit(call, name, axes[at]!) : name, channelsFirst: false }
  })
  const product = einsum(call, `${letters.join(',')}->${result}`, plain)
  if (product.shape.length > 1) return product
  return { ...product, name: call.unsqueeze(product.name, [1]), shape: [product.shape[0]!, 1] }
}

export const MERGING_LAYERS: Readonly<Record<string, Layer>> = {
  Add: merge(inTurn('Add')),
  Subtract: merge(inTurn('Sub')),
  Multiply: merge(inTurn('Mul')),
  Maximum: merge((call, names) => call.emit('Max', names)),
  Minimum: merge((call, names) => call.emit('Min', names)),
  Average: merge((call, names) => call.emit('Mean', names)),
  Concatenate: concatenate,
  Dot: dot,
  // From keras.applications: the residual of InceptionResNetV2.
  CustomScaleLayer: (call) => {
    const [x, residual] = [call.input(0), call.input(1)]
    const scaled = { ...residual, name: call.emit('Mul', [residual.name, call.scalar(call.number('scale'))]) }
    const [a, b] = x.channelsFirst === scaled.channelsFirst ? [x.name, scaled.name] : [call.last(x), call.last(scaled)]
    return call.like(x, call.emit('Add', [a, b]), { channelsFirst: x.channelsFirst && scaled.channelsFirst })
  },
}
