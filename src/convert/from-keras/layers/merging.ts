// Layers and operators of several tensors.
import { int, ints } from '../../onnx/model.ts'
import type { Layer, LayerCall, Size, Value } from '../layer-call.ts'

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

export const MERGING_LAYERS: Readonly<Record<string, Layer>> = {
  Add: merge(inTurn('Add')),
  Subtract: merge(inTurn('Sub')),
  Multiply: merge(inTurn('Mul')),
  Maximum: merge((call, names) => call.emit('Max', names)),
  Minimum: merge((call, names) => call.emit('Min', names)),
  Average: merge((call, names) => call.emit('Mean', names)),
  Concatenate: concatenate,
  Dot: dot,
}
