// Operators of keras.ops between the layers of functional models: `x * 2`, `x[:, 0]`, `ops.mean(x, axis=1)`.

import { ownEntry } from '../../../domain/own-entry.ts'
import { int } from '../../onnx/model.ts'
import { snakeCase } from '../keras-weights.ts'
import type { Layer, LayerCall, Value } from '../layer-call.ts'
import { TYPES } from '../model-inputs.ts'
import { activationNamed, normalized } from './activations.ts'
import { broadcast, ELEMENTWISE, floating, plain, REDUCTIONS } from './arithmetic-operators.ts'
import { ARRANGEMENT, axisOf } from './arrangement-operators.ts'
import { einsum, oneHot } from './dense.ts'
import { MERGING_LAYERS } from './merging.ts'
import { POOL_OPERATORS } from './pooling.ts'
import { resize } from './resizing.ts'

const topK = (call: LayerCall, value: Value, count: number, largest: boolean): Value[] => {
  const names = call.emitSeveral('TopK', [value.name, call.integers([count])], 2, {
    axis: int(-1),
    largest: int(Number(largest)),
  })
  const shape = value.shape.with(-1, count)
  return [call.like(value, names[0]!, { shape }), call.cast(call.result(names[1]!, shape, { type: 'i64' }), 'i32')]
}

const matMul: Layer = (call) => {
  const [a, b] = [plain(call, floating(call)), plain(call, floating(call, 1))]
  if (a.shape.length < 2 || b.shape.length < 2)
    throw call.refuse('an input has one axis only; use ops.sum(a * b, axis=-1).')
  const shape = [...broadcast([a.shape.slice(0, -2), b.shape.slice(0, -2)]), a.shape.at(-2)!, b.shape.at(-1)!]
  return call.result(call.emit('MatMul', [a.name, b.name]), shape)
}

const OPERATORS: ReadonlyMap<string, Layer> = new Map<string, Layer>(
  Object.entries({
    ...ELEMENTWISE,
    ...REDUCTIONS,
    ...ARRANGEMENT,
    Concatenate: MERGING_LAYERS.Concatenate!,
    OneHot: (call) => oneHot(call, call.input(), call.number('num_classes')),
    TopK: (call) => topK(call, plain(call), call.number('k'), true),
    Sort: (call) => {
      const value = plain(call)
      const [axis, size] = axisOf(call, value, -1)
      if (axis !== value.shape.length - 1) throw call.refuse('it sorts along an axis other than the last one.')
      return topK(call, value, size, false)[0]!
    },
    Cumsum: (call) => {
      const value = plain(call)
      const axis = call.axis('axis', value.shape.length)
      return call.like(value, call.emit('CumSum', [value.name, call.scalar(axis, 'i64')]))
    },
    Matmul: matMul,
    Dot: matMul,
    Einsum: (call) => {
      const values = call.inputs.map((_, at) => floating(call, at))
      return einsum(call, call.text('subscripts', ''), values)
    },
    Cast: (call) => {
      const type = ownEntry(TYPES, call.text('dtype', ''))
      if (type === undefined) throw call.refuse(`it casts to '${call.text('dtype', '')}'.`)
      return call.cast(call.input(), type)
    },
    Normalize: normalized,
    ...POOL_OPERATORS,
    Resize: resize,
    ...Object.fromEntries(
      ['Identity', 'StopGradient', 'Copy'].map((name) => [name, (call: LayerCall) => call.input()]),
    ),
  }),
)

/** Finds an operator of keras.ops by its class name; activations among them have their settings in the config. */
export const operatorNamed = (className: string): Layer | undefined => {
  const activation = activationNamed(snakeCase(className))
  return (
    OPERATORS.get(className) ??
    (activation && ((call) => call.like(floating(call), activation(call, floating(call).name, call.input()))))
  )
}
