// The validated arguments and the results of one node of an exported program.
import { badRequest } from '../../domain/errors.ts'
import type { DType } from '../../tensors/weight-file.ts'
import { OnnxEmitter } from '../onnx/emitter.ts'
import type { GraphBuilder } from '../onnx/graph-builder.ts'
import type { Argument, Size, SizeArgument, TensorMeta, TorchNode } from './exported-program.ts'
/** State shared by all nodes of a program. */
export interface Scope {
  readonly builder: GraphBuilder
  /** ONNX values by the names of the program's tensors. */
  readonly values: Map<string, string>
  readonly metas: Map<string, TensorMeta>
  /** The node that creates each tensor. */
  readonly makers: Map<string, TorchNode>
  /** Why a tensor no longer has a value. */
  readonly lost: Map<string, string>
  /** Sizes computed at run time, as int64 tensors with one element: by name and by expression. */
  readonly sizes: Map<string, string>
  readonly bySize: Map<Size, string>
  /** The input axis that defines each symbol of dynamic sizes. */
  readonly symbols: Map<string, { readonly value: string; readonly axis: number }>
  readonly notes: Set<string>
  /** Tensors that a node reads or that are outputs. */
  readonly read: ReadonlySet<string>
}

export type Shape = readonly Size[]

/** `aten.conv2d (layer 'features.0')` */
export const labelOf = (node: TorchNode): string =>
  node.target.replace(/^torch\.ops\./, '') + (node.layer === '' ? '' : ` (layer '${node.layer}')`)

/** The name of an ATen operator without its overload and without the suffix for in-place operators. */
export const operatorOf = (target: string): string => {
  const name = target.replace(/^torch\.ops\.aten\.|^torch\.ops\./, '').split('.')
  const operator = target.startsWith('torch.ops.aten.') ? name[0]! : name.join('.')
  return /[^_]_$/.test(operator) ? operator.slice(0, -1) : operator
}

export class NodeArguments extends OnnxEmitter {
  readonly scope: Scope
  readonly node: TorchNode
  /** `add` of `torch.ops.aten.add.Tensor` */
  readonly operator: string
  readonly overload: string
  private readonly arguments: ReadonlyMap<string, Argument>

  constructor(scope: Scope, node: TorchNode) {
    super(scope.builder)
    this.scope = scope
    this.node = node
    this.operator = operatorOf(node.target)
    this.overload = node.target.split('.').at(-1)!
    this.arguments = new Map(node.inputs.map(({ name, value }) => [name, value]))
  }

  protected override outputName(): string {
    return this.resultNames()[0] ?? this.operator
  }

  protected override constantName(kind: string): string {
    return `${this.operator}_${kind}`
  }

  refuse(reason: string): Error {
    return badRequest(`${labelOf(this.node)} cannot be converted: ${reason}`)
  }

  // Arguments.

  argument(name: string): Argument | undefined {
    const argument = this.arguments.get(name)
    return argument?.kind === 'none' ? undefined : argument
  }

  private tensorName(name: string): string {
    const argument = this.argument(name)
    if (argument?.kind !== 'tensor') throw this.refuse(`its argument '${name}' is not a tensor.`)
    return argument.name
  }

  protected valueNamed(tensor: string): string {
    const value = this.scope.values.get(tensor)
    if (value !== undefined) return value
    const lost = this.scope.lost.get(tensor)
    throw this.refuse(
      lost === undefined
        ? `it needs '${tensor}', which no converted operator makes.`
        : `${lost}. Save ep.run_decompositions({}) in place of the program, which changes nothing in place.`,
    )
  }

  protected metaOf(tensor: string): TensorMeta {
    const meta = this.scope.metas.get(tensor)
    if (meta === undefined) throw this.refuse(`the program does not describe '${tensor}'.`)
    return meta
  }

  /** The node that creates an argument; undefined for inputs and weights. */
  madeBy(name: string): NodeArguments | undefined {
    const maker = this.scope.makers.get(this.tensorName(name))
    return maker && new NodeArguments(this.scope, maker)
  }

  isRead(tensor: string): boolean {
    return this.scope.read.has(tensor)
  }

  has(name: string): boolean {
    return this.argument(name) !== undefined
  }

  isTensor(name: string): boolean {
    return this.argument(name)?.kind === 'tensor'
  }

  /** The tensor argument's value. */
  input(name = 'self'): string {
    return this.valueNamed(this.tensorName(name))
  }

  /** Like `input`; empty if the argument is omitted. */
  optional(name: string): string {
    return this.has(name) ? this.input(name) : ''
  }

  /** The values of those arguments that are not omitted. */
  given(...names: readonly string[]): string[] {
    return names.filter((name) => this.has(name)).map((name) => this.input(name))
  }

  shape(name = 'self'): Shape {
    return this.metaOf(this.tensorName(name)).shape
  }

  rank(name = 'self'): number {
    return this.shape(name).length
  }

  /** True if the elements are in the order of the shape, which is assumed for dynamic sizes. */
  isContiguous(name = 'self', isResult = false): boolean {
    const { shape, strides } = this.metaOf(isResult ? name : this.tensorName(name))
    let expected: Size = 1
    return [...shape.keys()].reverse().every((axis) => {
      const [size, stride] = [shape[axis]!, strides[axis]!]
      const fits = size === 1 || typeof stride === 'string' || typeof expected === 'string' || stride === expected
      if (size !== 1) expected = typeof size === 'number' && typeof stride === 'number' ? size * stride : 'dynamic'
      return fits
    })
  }

  /** A shape, which must not have dynamic sizes. */
  fixedShape(name = 'self'): number[] {
    return this.fixed(this.shape(name), `the shape of its argument '${name}'`)
  }

  fixed(shape: Shape, what: string): number[] {
    return shape.map((size) => {
      if (typeof size !== 'number') throw this.refuse(`${what} is dynamic (${size}); export it with a fixed size.`)
      return size
    })
  }

  type(name = 'self'): DType {
    return this.metaOf(this.tensorName(name)).type
  }

  private tensorNames(name: string): readonly (string | null)[] {
    const argument = this.argument(name)
    if (argument?.kind !== 'tensors') throw this.refuse(`its argument '${name}' is not a list of tensors.`)
    return argument.names
  }

  tensors(name: string): (string | null)[] {
    return this.tensorNames(name).map((tensor) => (tensor === null ? null : this.valueNamed(tensor)))
  }

  metas(name: string): (TensorMeta | null)[] {
    return this.tensorNames(name).map((tensor) => (tensor === null ? null : this.metaOf(tensor)))
  }

  /** A list of numbers; a single number is a list of one. */
  numbers(name: string, absent?: readonly number[]): readonly number[] {
    const argument = this.argument(name)
    if (argument?.kind === 'numbers') return argument.values
    if (argument?.kind === 'flag') return [Number(argument.value)]
    if (argument?.kind === 'sizes')
      return this.fixed(
        argument.values.map((v) => (typeof v === 'number' ? v : v.name)),
        name,
      )
    if (argument === undefined && absent !== undefined) return absent
    throw this.refuse(`its argument '${name}' is ${argument?.kind ?? 'missing'}, not a number.`)
  }

  number(name: string, absent?: number): number {
    const [value] = this.numbers(name, absent === undefined ? undefined : [absent])
    if (value === undefined) throw this.refuse(`its argument '${name}' is empty.`)
    return value
  }

  flag(name: string, absent = false): boolean {
    return this.has(name) ? this.number(name) !== 0 : absent
  }

  text(name: string, absent: string): string {
    const argument = this.argument(name)
    return argument?.kind === 'text' ? argument.value : absent
  }

  /** The sizes as given, some of which may be computed. */
  sizeArguments(name: string): readonly SizeArgument[] {
    const argument = this.argument(name)
    return argument?.kind === 'sizes' ? argument.values : this.numbers(name)
  }

  /** An axis, counted from the front. */
  axis(name: string, absent?: number, rank = this.rank()): number {
    return this.fromFront(this.number(name, absent), rank)
  }

  axes(name: string, absent?: readonly number[]): number[] {
    const rank = this.rank()
    return this.numbers(name, absent).map((axis) => this.fromFront(axis, rank))
  }

  fromFront(axis: number, rank: number): number {
    const front = axis < 0 ? axis + rank : axis
    if (!Number.isInteger(front) || front < 0 || front >= Math.max(rank, 1)) {
      throw this.refuse(`axis ${axis} does not exist in a tensor of ${rank} axes.`)
    }
    return front
  }

  // Results.

  /** The description of one of the node's results, by default the first. */
  result(at = 0): TensorMeta {
    const name = this.resultNames()[at]
    if (name === undefined) throw this.refuse('the program does not describe its result.')
    return this.metaOf(name)
  }

  resultNames(): string[] {
    return this.node.outputs.flatMap((output) => {
      if (output.kind === 'tensor') return [output.name]
      return output.kind === 'tensors' ? output.names.filter((name) => name !== null) : []
    })
  }
}
