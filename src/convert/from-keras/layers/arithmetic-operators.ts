// Elementwise operators and reductions of keras.ops.
import type { DType } from '../../../tensors/weight-file.ts'
import { int } from '../../onnx/model.ts'
import type { Layer, LayerCall, Size, Value } from '../layer-call.ts'

type Emit = (call: LayerCall, names: readonly string[], type: DType) => string

const isFloat = (type: DType): boolean => type === 'f32' || type === 'f64'

/** The type in which operands of several types are computed. */
const promoted = (inputs: readonly (Value | number)[]): DType => {
  const types = inputs.map((input) =>
    typeof input !== 'number' ? input.type : Number.isInteger(input) ? 'bool' : 'f32',
  )
  return (['f64', 'f32', 'i64', 'i32'] as const).find((type) => types.includes(type)) ?? 'i32'
}

/** Broadcasts like NumPy, from the last axis. */
export const broadcast = (shapes: readonly (readonly Size[])[]): Size[] =>
  Array.from({ length: Math.max(...shapes.map(({ length }) => length)) }, (_, at) => at + 1)
    .map((fromEnd) => shapes.flatMap((shape) => shape.at(-fromEnd) ?? []))
    .map(
      (sizes) => sizes.find((size) => typeof size === 'number' && size !== 1) ?? sizes.find((size) => size !== 1) ?? 1,
    )
    .reverse()

const elementwise =
  (
    emit: Emit,
    { result, asFloat = false, ignored = 0 }: { result?: DType; asFloat?: boolean; ignored?: number } = {},
  ): Layer =>
  (call) => {
    const values = call.inputs.filter((input) => typeof input === 'object')
    if (values.length === 0) throw call.refuse('none of its inputs is a tensor.')
    const found = promoted(call.inputs.slice(ignored))
    const type = asFloat && !isFloat(found) ? 'f32' : found
    const rank = values[0]!.shape.length
    const channelsFirst = values.every((value) => value.channelsFirst && value.shape.length === rank)
    const names = call.inputs.map((input, at) => {
      if (typeof input === 'number') return call.scalar(input, type)
      const name = channelsFirst ? input.name : call.last(input)
      return at < ignored ? name : call.cast({ ...input, name }, type).name
    })
    const shape = broadcast(values.map((value) => value.shape))
    return call.result(emit(call, names, type), shape, { channelsFirst, type: result ?? type })
  }

const node =
  (type: string): Emit =>
  (call, names) =>
    call.emit(type, names)

/** A chain of nodes, each applied to the previous result. */
const chain =
  (...emits: readonly Emit[]): Emit =>
  (call, names, type) =>
    emits.reduce((given, emit) => [emit(call, given, type)], names)[0]!

const withNumber =
  (type: string, value: number): Emit =>
  (call, [x], of) =>
    call.emit(type, [x!, call.scalar(value, of)])

const floorDivide: Emit = (call, names) => call.emit('Floor', [call.emit('Div', names)])

const modulo: Emit = (call, [x, y], type) =>
  isFloat(type)
    ? call.emit('Sub', [x!, call.emit('Mul', [floorDivide(call, [x!, y!], type), y!])])
    : call.emit('Mod', [x!, y!])

/** A node whose inputs are cast to booleans. */
const logical =
  (type: string): Emit =>
  (call, names) => {
    const truths = names.map((name) => call.castTo(name, 'bool'))
    return call.emit(type, truths)
  }

const real = { asFloat: true }
const yes = { result: 'bool' as const }

/** Operators of one node. Where ONNX has another name, it follows a colon. */
const each = (names: string, settings = {}): Record<string, Layer> =>
  Object.fromEntries(
    names.split(' ').map((entry) => {
      const [name, type = name] = entry.split(':') as [string, string?]
      return [name, elementwise(node(type), settings)]
    }),
  )

export const ELEMENTWISE: Readonly<Record<string, Layer>> = {
  ...each('Absolute:Abs Abs Negative:Neg Sign Add Subtract:Sub Multiply:Mul Power:Pow Maximum:Max Minimum:Min'),
  ...each(
    'Exp Log Sqrt Floor Ceil Reciprocal Erf Sin Cos Tan Arcsin:Asin Arccos:Acos Arctan:Atan Sinh Cosh Tanh',
    real,
  ),
  ...each('Divide:Div TrueDivide:Div', real),
  ...each('Equal Greater GreaterEqual:GreaterOrEqual Less LessEqual:LessOrEqual', yes),
  NotEqual: elementwise(chain(node('Equal'), node('Not')), yes),
  LogicalAnd: elementwise(logical('And'), yes),
  LogicalOr: elementwise(logical('Or'), yes),
  LogicalNot: elementwise((call, [x]) => call.emit('Not', [call.castTo(x!, 'bool')]), yes),
  Isnan: elementwise(node('IsNaN'), { ...yes, ...real }),
  FloorDivide: elementwise((call, names, type) =>
    isFloat(type) ? floorDivide(call, names, type) : call.emit('Div', names),
  ),
  Mod: elementwise(modulo),
  Square: elementwise((call, [x]) => call.emit('Mul', [x!, x!])),
  Rsqrt: elementwise(chain(node('Sqrt'), node('Reciprocal')), real),
  Log1p: elementwise(chain(withNumber('Add', 1), node('Log')), real),
  Expm1: elementwise(chain(node('Exp'), withNumber('Sub', 1)), real),
  Log2: elementwise(chain(node('Log'), withNumber('Mul', Math.LOG2E)), real),
  Log10: elementwise(chain(node('Log'), withNumber('Mul', Math.LOG10E)), real),
  OnesLike: elementwise(chain(withNumber('Mul', 0), withNumber('Add', 1))),
  ZerosLike: elementwise(withNumber('Mul', 0)),
  Where: elementwise((call, [condition, x, y]) => call.emit('Where', [call.castTo(condition!, 'bool'), x!, y!]), {
    ignored: 1,
  }),
  Clip: elementwise((call, [x], type) => {
    const raised = call.emit('Max', [x!, call.scalar(call.number('x_min'), type)])
    return call.emit('Min', [raised, call.scalar(call.number('x_max'), type)])
  }),
  Round: elementwise((call, [x]) => {
    if (call.number('decimals', 0) !== 0) throw call.refuse('it rounds to decimals.')
    return call.emit('Round', [x!])
  }, real),
}

export const floating = (call: LayerCall, at = 0): Value => {
  const value = call.input(at)
  return isFloat(value.type) ? value : call.cast(value, 'f32')
}

export const plain = (call: LayerCall, value = call.input()): Value => ({
  ...value,
  name: call.last(value),
  channelsFirst: false,
  mask: null,
})

const reduction =
  (
    emit: (
      call: LayerCall,
      reduce: (type: string, name: string) => string,
      x: string,
      keep: (type: string, name: string) => string,
    ) => string,
    result?: 'bool' | 'f32',
  ): Layer =>
  (call) => {
    const value = plain(call, result === 'f32' ? floating(call) : call.input())
    const axes = call.axes('axis', value.shape.length)
    const isKept = call.flag('keepdims')
    const over = call.integers(axes)
    const reduceTo = (keep: boolean) => (type: string, name: string) =>
      call.emit(type, [name, over], { keepdims: int(Number(keep)) })
    const x = value.type === 'bool' ? call.cast(value, 'i32') : value
    const reduced = emit(call, reduceTo(isKept), x.name, reduceTo(true))
    const shape = value.shape.flatMap((size, axis) => (!axes.includes(axis) ? [size] : isKept ? [1] : []))
    const type = result === 'bool' ? 'i32' : x.type
    const all = call.result(reduced, shape, { type })
    return result === 'bool' ? call.cast(all, 'bool') : all
  }

const reduced = (type: string, result?: 'f32') => reduction((_, reduce, x) => reduce(type, x), result)

const bits = (type: string) =>
  reduction((call, reduce, x) => reduce(type, call.castTo(call.castTo(x, 'bool'), 'i32')), 'bool')

const variance = reduction((call, reduce, x, keep) => {
  const off = call.emit('Sub', [x, keep('ReduceMean', x)])
  return reduce('ReduceMean', call.emit('Mul', [off, off]))
}, 'f32')

const extremum =
  (type: string): Layer =>
  (call) => {
    const value = plain(call)
    const axis = call.axis('axis', value.shape.length, -1)
    const isKept = call.flag('keepdims')
    const name = call.emit(type, [value.name], { axis: int(axis), keepdims: int(Number(isKept)) })
    const shape = value.shape.flatMap((size, at) => (at !== axis ? [size] : isKept ? [1] : []))
    return call.cast(call.result(name, shape, { type: 'i64' }), 'i32')
  }

export const REDUCTIONS: Readonly<Record<string, Layer>> = {
  ...{ Sum: reduced('ReduceSum'), Prod: reduced('ReduceProd'), Max: reduced('ReduceMax'), Min: reduced('ReduceMin') },
  ...{ Amax: reduced('ReduceMax'), Amin: reduced('ReduceMin'), Mean: reduced('ReduceMean', 'f32') },
  Logsumexp: reduced('ReduceLogSumExp', 'f32'),
  Norm: reduced('ReduceL2', 'f32'),
  Any: bits('ReduceMax'),
  All: bits('ReduceMin'),
  Var: variance,
  Std: (call) => {
    const result = [variance(call)].flat()[0]!
    return call.like(result, call.emit('Sqrt', [result.name]))
  },
  Argmax: extremum('ArgMax'),
  Argmin: extremum('ArgMin'),
}
