import { int } from '../../onnx/model.ts'
import type { Layer, LayerCall, Value } from '../layer-call.ts'
import { placed, spatialResult } from './windows.ts'

export const pool =
  (type: string) =>
  (axes: number): Layer =>
  (call) => {
    const value = call.inputOfRank(axes + 2)
    const kernel = call.sizes('pool_size', axes)
    const strides = (call.config.strides ?? null) === null ? kernel : call.sizes('strides', axes)
    const { attributes, sizes } = placed(call, value, { kernel, strides, dilations: kernel.map(() => 1) })
    const { dilations: _, ...rest } = attributes
    const name = call.emit(type, [call.first(value)], rest)
    return spatialResult(call, value, name, sizes, value.shape.at(-1)!)
  }

/** Divides each axis into as many windows as the result has elements, of nearly equal size. */
export const adaptivePool =
  (type: string) =>
  (axes: number): Layer =>
  (call) => {
    const value = call.inputOfRank(axes + 2)
    const sizes = call.fixed(value.shape.slice(1, -1), 'the size of its input')
    const results = call.sizes('output_size', axes)
    const name = results.reduce((x, count, axis) => {
      const over = call.integers([axis + 2])
      const windows = Array.from({ length: count }, (_, at) => {
        const bounds = [Math.floor((at * sizes[axis]!) / count), Math.ceil(((at + 1) * sizes[axis]!) / count)]
        return call.emit(type, [call.emit('Slice', [x, ...bounds.map((bound) => call.integers([bound])), over]), over])
      })
      return call.emit('Concat', windows, { axis: int(axis + 2) })
    }, call.first(value))
    return spatialResult(call, value, name, results, value.shape.at(-1)!)
  }

/** The mean of the steps that are not padding. */
const maskedMean = (call: LayerCall, value: Value, mask: string): Value => {
  const weights = call.unsqueeze(call.castTo(mask, 'f32'), [-1])
  const keep = call.flag('keepdims')
  const sum = (name: string) => call.emit('ReduceSum', [name, call.integers([1])], { keepdims: int(Number(keep)) })
  const name = call.emit('Div', [sum(call.emit('Mul', [call.last(value), weights])), sum(weights)])
  return call.result(name, [value.shape[0]!, ...(keep ? [1] : []), value.shape[2]!])
}

export const globalPool =
  (type: string) =>
  (axes: number): Layer =>
  (call) => {
    const value = call.inputOfRank(axes + 2)
    if (value.mask !== null && type === 'ReduceMean' && axes === 1) return maskedMean(call, value, value.mask)
    const keep = call.flag('keepdims')
    const over = Array.from({ length: axes }, (_, at) => at + (value.channelsFirst ? 2 : 1))
    const name = call.emit(type, [value.name, call.integers(over)], { keepdims: int(Number(keep)) })
    const middle = keep ? over.map(() => 1) : []
    return call.result(name, [value.shape[0]!, ...middle, value.shape.at(-1)!], {
      channelsFirst: keep && value.channelsFirst,
    })
  }

const operator =
  (make: (axes: number) => Layer): Layer =>
  (call) =>
    make(call.input().shape.length - 2)(call)

/** Pooling operators of keras.ops. */
export const POOL_OPERATORS: Readonly<Record<string, Layer>> = {
  MaxPool: operator(pool('MaxPool')),
  AveragePool: operator(pool('AveragePool')),
}
