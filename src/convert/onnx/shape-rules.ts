// Infers the shapes of operators' outputs from those of their inputs. Source: onnx/docs/Operators.md, opsets 1 to 23.
import { badRequest } from '../../domain/errors.ts'
import { axisOf, broadcastShapes } from './constants.ts'
import { ELEMENT_TYPES, type ElementType, elementCount } from './model.ts'
import type { NodeContext } from './node-context.ts'
import {
  concat,
  gather,
  pad,
  reshape,
  sliceRanges,
  splitSizes,
  squeeze,
  transpose,
  unsqueeze,
} from './shape-rules-arrangement.ts'
import { CLASSICAL_SHAPES } from './shape-rules-classical.ts'
import { SEQUENCE_SHAPES } from './shape-rules-sequences.ts'
import { axesOf, everyInput, like, type ShapeRule, shaped, statedScales, value } from './shape-values.ts'
import { convTransposeWindow, convWindow, poolWindow } from './window-shapes.ts'

const castType = (context: NodeContext): ElementType => {
  const type = ELEMENT_TYPES[context.int('to')]
  if (type === undefined) throw badRequest(`Its element type ${context.int('to')} is not supported.`)
  return type
}

const same: ShapeRule = (context) => [context.input(0)]
const broadcast: ShapeRule = (context) => like(context, broadcastShapes(everyInput(context).map(({ shape }) => shape)))
const compare: ShapeRule = (context) => value('bool', broadcastShapes(everyInput(context).map(({ shape }) => shape)))

const reduce: ShapeRule = (context) => {
  const { type, shape } = context.input(0)
  const given = axesOf(context, shape.length)
  if ((given === undefined || given.length === 0) && context.int('noop_with_empty_axes') !== 0) return [{ type, shape }]
  const axes = new Set(given === undefined || given.length === 0 ? shape.map((_, at) => at) : given)
  const keep = context.int('keepdims', 1) !== 0
  return value(type, keep ? shape.map((size, at) => (axes.has(at) ? 1 : size)) : shape.filter((_, at) => !axes.has(at)))
}

const argument: ShapeRule = (context) => {
  const { shape } = context.input(0)
  const axis = context.axis('axis', 0)
  const kept = context.int('keepdims', 1) !== 0 ? [1] : []
  return value('i64', [...shape.slice(0, axis), ...kept, ...shape.slice(axis + 1)])
}

const matMulShape = (context: NodeContext): number[] => {
  const [a, b] = [context.input(0).shape, context.input(1).shape]
  if (a.length === 0 || b.length === 0) throw badRequest('MatMul needs inputs of at least one dimension.')
  const [left, right] = [a.length === 1 ? [1, ...a] : a, b.length === 1 ? [...b, 1] : b]
  if (left.at(-1) !== right.at(-2)) throw badRequest(`[${a.join(', ')}] and [${b.join(', ')}] cannot be multiplied.`)
  const batch = broadcastShapes([left.slice(0, -2), right.slice(0, -2)])
  return [...batch, ...(a.length === 1 ? [] : [left.at(-2)!]), ...(b.length === 1 ? [] : [right.at(-1)!])]
}

const gemm: ShapeRule = (context) => {
  const [a, b] = [context.input(0).shape, context.input(1).shape]
  if (a.length !== 2 || b.length !== 2) throw badRequest('It takes matrices.')
  const [rows, inner] = context.int('transA') !== 0 ? [a[1]!, a[0]!] : [a[0]!, a[1]!]
  const [depth, columns] = context.int('transB') !== 0 ? [b[1]!, b[0]!] : [b[0]!, b[1]!]
  if (inner !== depth) throw badRequest(`[${a.join(', ')}] and [${b.join(', ')}] cannot be multiplied.`)
  return like(context, [rows, columns])
}

const resize = shaped((shape, context) => {
  const axes = context.ints('axes')?.map((axis) => axisOf(axis, shape.length)) ?? shape.map((_, axis) => axis)
  const sizes = context.opset >= 11 && context.has(3) ? context.numbers(3) : undefined
  if (sizes !== undefined && context.text('keep_aspect_ratio_policy', 'stretch') !== 'stretch') {
    throw badRequest('keep_aspect_ratio_policy is not supported; export with stretch.')
  }
  const scales = sizes === undefined ? statedScales(context) : undefined
  return shape.map((size, axis) => {
    const place = axes.indexOf(axis)
    if (place < 0) return size
    return sizes?.[place] ?? Math.floor(size * (scales?.[place] ?? 1) + 1e-6)
  })
})

const pool: ShapeRule = (context) => {
  const shape = [...context.input(0).shape.slice(0, 2), ...poolWindow(context).output]
  return [...like(context, shape), ...value('i64', shape)]
}
const globalPool = shaped((shape) => shape.map((size, at) => (at < 2 ? size : 1)))

/** DepthToSpace, and with `isBack` SpaceToDepth. */
const rearrange = (isBack: boolean): ShapeRule =>
  shaped((shape, context) => {
    const block = context.int('blocksize', 1)
    const [factor, edge] = isBack ? [block ** 2, 1 / block] : [1 / block ** 2, block]
    return [shape[0]!, shape[1]! * factor, shape[2]! * edge, shape[3]! * edge]
  })

const UNARY = `Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization BitwiseNot Ceil Celu Clip Cos Cosh CumSum CumProd
  Dropout Elu Erf Exp Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax Identity
  InstanceNormalization LRN LayerNormalization LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg
  Not PRelu RMSNormalization Reciprocal Relu Round ScatterElements ScatterND Scatter Selu Shrink Sigmoid Sign Sin Sinh
  SimplifiedLayerNormalization Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu`.split(/\s+/)
const BROADCAST = 'Add BitShift BitwiseAnd BitwiseOr BitwiseXor Div Max Mean Min Mod Mul Pow Sub Sum'.split(' ')
const COMPARE = 'And Equal Greater GreaterOrEqual Less LessOrEqual Or Xor'.split(' ')
const REDUCE = 'L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare'.split(' ').map((name) => `Reduce${name}`)
const rows = (names: readonly string[], rule: ShapeRule) => names.map((name) => [name, rule] as const)

export const SHAPE_RULES: Readonly<Record<string, ShapeRule>> = {
  ...Object.fromEntries([...rows(UNARY, same), ...rows(BROADCAST, broadcast), ...rows(COMPARE, compare)]),
  ...Object.fromEntries([...rows(REDUCE, reduce), ...rows(['ArgMax', 'ArgMin'], argument)]),
  ...SEQUENCE_SHAPES,
  ...CLASSICAL_SHAPES,
  AveragePool: pool,
  Cast: (context) => value(castType(context), context.input(0).shape),
  CastLike: (context) => value(context.input(1).type, context.input(0).shape),
  Concat: concat,
  Constant: () => [],
  ConstantOfShape: (context) => {
    const fill = context.node.attributes.value
    return value(fill?.kind === 'tensor' ? fill.value.type : 'f32', context.numbers(0))
  },
  Conv: (context) =>
    like(context, [context.input(0).shape[0]!, context.input(1).shape[0]!, ...convWindow(context).output]),
  ConvInteger: (context) =>
    value('i32', [context.input(0).shape[0]!, context.input(1).shape[0]!, ...convWindow(context).output]),
  ConvTranspose: (context) => {
    const channels = context.input(1).shape[1]! * context.int('group', 1)
    return like(context, [context.input(0).shape[0]!, channels, ...convTransposeWindow(context).output])
  },
  DepthToSpace: rearrange(false),
  DequantizeLinear: (context) => value(context.input(1).type, context.input(0).shape),
  DynamicQuantizeLinear: (context) => [...value('u8', context.input(0).shape), ...value('f32', []), ...value('u8', [])],
  Expand: (context) => like(context, broadcastShapes([context.input(0).shape, context.numbers(1)])),
  EyeLike: (context) => {
    const [{ type, shape }, dtype] = [context.input(0), context.int('dtype')]
    return value(dtype === 0 ? type : (ELEMENT_TYPES[dtype] ?? 'f32'), shape)
  },
  Flatten: shaped((shape, context) => {
    const given = context.int('axis', 1)
    const axis = given < 0 ? given + shape.length : given
    return [elementCount(shape.slice(0, axis)), elementCount(shape.slice(axis))]
  }),
  Gather: gather,
  GatherElements: (context) => like(context, context.input(1).shape),
  GatherND: shaped((data, context) => {
    const indices = context.input(1).shape
    return [...indices.slice(0, -1), ...data.slice(context.int('batch_dims') + indices.at(-1)!)]
  }),
  Gemm: gemm,
  GlobalAveragePool: globalPool,
  GlobalLpPool: globalPool,
  GlobalMaxPool: globalPool,
  IsInf: (context) => value('bool', context.input(0).shape),
  IsNaN: (context) => value('bool', context.input(0).shape),
  LpPool: pool,
  MatMul: (context) => like(context, matMulShape(context)),
  MatMulInteger: (context) => value('i32', matMulShape(context)),
  MaxPool: pool,
  OneHot: (context) => {
    const { shape } = context.input(0)
    const axis = axisOf(context.int('axis', -1), shape.length + 1)
    return value(context.input(2).type, [...shape.slice(0, axis), context.numbers(1)[0] ?? 0, ...shape.slice(axis)])
  },
  Pad: pad,
  QuantizeLinear: (context) => value(context.has(2) ? context.input(2).type : 'u8', context.input(0).shape),
  Range: (context) => {
    const [start, limit, delta] = [0, 1, 2].map((at) => context.numbers(at)[0] ?? 0)
    return like(context, [Math.max(0, Math.ceil((limit! - start!) / delta!))])
  },
  Reshape: reshape,
  Resize: resize,
  Shape: (context) => {
    const rank = context.input(0).shape.length
    const edge = (at: number) => Math.min(Math.max(at < 0 ? at + rank : at, 0), rank)
    return value('i64', [Math.max(0, edge(context.int('end', rank)) - edge(context.int('start')))])
  },
  Size: () => value('i64', []),
  Slice: shaped((_shape, context) => sliceRanges(context).map(({ count }) => count)),
  SpaceToDepth: rearrange(true),
  Split: (context) => {
    const { type, shape } = context.input(0)
    const axis = context.axis('axis', 0)
    return splitSizes(context).map((size) => ({ type, shape: shape.map((old, at) => (at === axis ? size : old)) }))
  },
  Squeeze: squeeze,
  Tile: shaped((shape, context) => {
    const repeats = context.numbers(1)
    return shape.map((size, at) => size * (repeats[at] ?? 1))
  }),
  TopK: (context) => {
    const { type, shape } = context.input(0)
    const axis = context.axis('axis', -1)
    const count = context.has(1) ? context.numbers(1)[0]! : context.int('k')
    const result = shape.map((size, at) => (at === axis ? count : size))
    return [...value(type, result), ...value('i64', result)]
  },
  Transpose: transpose,
  Unsqueeze: unsqueeze,
  Upsample: resize,
  Where: (context) => value(context.input(1).type, broadcastShapes(everyInput(context).map(({ shape }) => shape))),
}
