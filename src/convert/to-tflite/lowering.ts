import { badRequest } from '../../domain/errors.ts'
import { type Constant, constantOf, transposeConstant } from '../onnx/constants.ts'
import { type ElementType, elementCount, type OnnxTensor } from '../onnx/model.ts'
import type { NodeContext, StaticValue } from '../onnx/node-context.ts'
import type { Tensor, TfliteGraph, TfliteType } from './tflite-graph.ts'

/**
 * The memory order of a value's dimensions: dimension i of the tensor is dimension order[i] of the value. Transposing a
 * value only changes its order; tensors are rearranged where an operator requires it. [0, 2, 3, 1] is NHWC.
 */
export type Order = readonly number[]

export const plainOrder = (rank: number): Order => Array.from({ length: rank }, (_, at) => at)
/** Channels last, for NCHW, NCW, and NCDHW. */
export const channelsLast = (rank: number): Order => [0, ...plainOrder(rank).slice(2), 1]
export const sameOrder = (a: Order, b: Order): boolean => a.length === b.length && a.every((axis, at) => axis === b[at])
export const arrange = <Item>(list: readonly Item[], order: Order): Item[] => order.map((axis) => list[axis]!)

const TYPES: Readonly<Partial<Record<ElementType, TfliteType>>> = {
  ...{ f32: 'f32', f16: 'f32', bf16: 'f32', f64: 'f32' },
  ...{ i32: 'i32', u8: 'u8', i64: 'i64', bool: 'bool', i16: 'i16', i8: 'i8', u16: 'i32', u32: 'i64' },
} as const

/** Floats of all precisions become float32, the only type that TFLite's kernels compute with. */
export const tfliteType = (type: ElementType, where: string): TfliteType => {
  const found = TYPES[type]
  if (found === undefined) throw badRequest(`${where} is of type ${type}, which TFLite's operators do not accept.`)
  return found
}

export const reshape = (graph: TfliteGraph, tensor: Tensor, shape: readonly number[]): Tensor => {
  if (sameOrder(tensor.shape, shape)) return tensor
  return graph.operator('RESHAPE', [tensor, graph.vector('i32', shape)], { shape }, { newShape: shape })
}

/** True if elements keep their positions, because only dimensions of 1 move. */
const keepsElements = (shape: readonly number[], permutation: Order): boolean => {
  const moved = permutation.filter((axis) => shape[axis] !== 1)
  return moved.every((axis, at) => at === 0 || axis > moved[at - 1]!)
}

export const transpose = (graph: TfliteGraph, tensor: Tensor, permutation: Order): Tensor => {
  const shape = arrange(tensor.shape, permutation)
  if (keepsElements(tensor.shape, permutation)) return reshape(graph, tensor, shape)
  return graph.operator('TRANSPOSE', [tensor, graph.vector('i32', permutation)], { shape })
}

/** The values of a graph as TFLite tensors. */
export interface Values {
  readonly get: (name: string, order?: Order) => Tensor
  readonly orderOf: (name: string) => Order
  /** The tensor has the value's shape in this order. */
  readonly set: (name: string, tensor: Tensor, order?: Order) => void
  /** A tensor of any shape with the elements in plain order. */
  readonly flat: (name: string) => Tensor
}

interface Held {
  readonly tensor: Tensor
  readonly order: Order
}

export const graphValues = (
  graph: TfliteGraph,
  shapes: ReadonlyMap<string, StaticValue>,
  constants: ReadonlyMap<string, OnnxTensor>,
): Values => {
  const tensors = new Map<string, readonly Held[]>()
  const held = (name: string): readonly Held[] => {
    const found = tensors.get(name)
    if (found === undefined) throw badRequest(`The value '${name}' does not exist.`)
    return found
  }
  const orderOf = (name: string): Order =>
    constants.has(name) ? plainOrder(shapes.get(name)!.shape.length) : held(name)[0]!.order
  const fromConstant = (name: string, tensor: OnnxTensor, order: Order): Tensor => {
    const constant = constantOf(tensor)
    const { shape, values } = sameOrder(order, plainOrder(order.length)) ? constant : transposeConstant(constant, order)
    return graph.constant(tfliteType(tensor.type, `The constant '${name}'`), shape, values)
  }
  const fromHeld = ([first]: readonly Held[], order: Order): Tensor => {
    const permutation = order.map((axis) => first!.order.indexOf(axis))
    return transpose(graph, first!.tensor, permutation)
  }
  const get = (name: string, wanted?: Order): Tensor => {
    const constant = constants.get(name)
    const order = wanted ?? plainOrder(shapes.get(name)?.shape.length ?? 0)
    const known = constant === undefined ? held(name) : (tensors.get(name) ?? [])
    const found = known.find((other) => sameOrder(other.order, order))
    if (found !== undefined) return found.tensor
    const tensor = constant === undefined ? fromHeld(known, order) : fromConstant(name, constant, order)
    tensors.set(name, [...known, { tensor, order }])
    return tensor
  }
  return {
    get,
    orderOf,
    set: (name, tensor, order = plainOrder(tensor.shape.length)) => tensors.set(name, [{ tensor, order }]),
    flat: (name) => {
      if (constants.has(name)) return get(name)
      const { tensor, order } = held(name)[0]!
      const back = plainOrder(order.length).map((axis) => order.indexOf(axis))
      return keepsElements(tensor.shape, back) ? tensor : get(name)
    },
  }
}

/** A node being converted to TFLite operators. */
export interface Lowering extends NodeContext {
  readonly graph: TfliteGraph
  /** An input in this order (plain by default), with leading dimensions of 1 up to `rank`. */
  readonly value: (at: number, order?: Order) => Tensor
  readonly padded: (at: number, rank: number, order: Order) => Tensor
  readonly flat: (at: number) => Tensor
  readonly order: (at: number) => Order
  readonly isConstant: (at: number) => boolean
  /** A constant input as float32 elements. Throws bad_request if it is computed. */
  readonly weights: (at: number, what: string) => Constant
  /** The type and shape of an output. */
  readonly result: (at?: number) => { readonly type: TfliteType; readonly shape: readonly number[] }
  readonly wants: (at: number) => boolean
  readonly define: (tensor: Tensor, order?: Order, at?: number) => void
}

export const lowerNode = (
  context: NodeContext,
  graph: TfliteGraph,
  values: Values,
  shapes: ReadonlyMap<string, StaticValue>,
): Lowering => {
  const { node } = context
  const nameOf = (at: number): string => {
    if (!context.has(at)) throw badRequest(`${node.type} needs at least ${at + 1} inputs.`)
    return node.inputs[at]!
  }
  const result = (at = 0) => {
    const found = shapes.get(node.outputs[at] ?? '')
    if (found === undefined) throw badRequest('Its output has a shape that depends on data; TFLite needs a fixed one.')
    // Strings are represented by their positions in a list.
    const type = found.type === 'string' ? 'i64' : tfliteType(found.type, `Its output '${node.outputs[at]}'`)
    return { type, shape: found.shape }
  }
  return {
    ...context,
    graph,
    value: (at, order) => values.get(nameOf(at), order),
    padded: (at, rank, order) => {
      const { shape } = context.input(at)
      if (shape.length === rank) return values.get(nameOf(at), order)
      const full = [...Array.from({ length: rank - shape.length }, () => 1), ...shape]
      const constant = context.constant(at)
      if (constant === undefined) return transpose(graph, reshape(graph, values.get(nameOf(at)), full), order)
      const arranged = transposeConstant({ ...constant, shape: full }, order)
      return graph.constant(tfliteType(constant.type, 'A constant'), arranged.shape, arranged.values)
    },
    flat: (at) => values.flat(nameOf(at)),
    order: (at) => values.orderOf(nameOf(at)),
    isConstant: (at) => context.constant(at) !== undefined,
    weights: (at, what) => {
      const found = context.constant(at)
      if (found === undefined) throw badRequest(`Its ${what} must be constant for TFLite, not computed.`)
      return found
    },
    result,
    wants: (at) => (node.outputs[at] ?? '') !== '',
    define: (tensor, order, at = 0) => {
      const name = node.outputs[at] ?? ''
      if (name === '') return
      const { shape } = result(at)
      if (elementCount(tensor.shape) !== elementCount(shape)) {
        throw badRequest(`Its output would have the shape [${tensor.shape.join(', ')}], not [${shape.join(', ')}].`)
      }
      values.set(name, tensor, order)
    },
  }
}

/** Converts a node. Throws bad_request if TFLite cannot express it. */
export type Lower = (node: Lowering) => void
