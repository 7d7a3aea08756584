// One node of an exported program on its way to ONNX: its arguments, checked, and the nodes that it becomes.
import { badRequest } from '../../domain/errors.ts'
import type { DType } from '../../tensors/weight-file.ts'
import type { GraphBuilder } from '../onnx/graph-builder.ts'
import { type Attribute, int, numberOfElementType } from '../onnx/model.ts'
import { scalarOf, tensorOf } from '../onnx/tensors.ts'
import type { Argument, Size, SizeArgument, TensorMeta, TorchNode } from './exported-program.ts'

/** What all nodes of a program share. */
export interface Scope {
  readonly builder: GraphBuilder
  /** ONNX values by the names of the program's tensors. */
  readonly values: Map<string, string>
  readonly metas: Map<string, TensorMeta>
  /** Sizes that are computed at run time, as int64 tensors of one element: by name and by expression. */
  readonly sizes: Map<string, string>
  readonly bySize: Map<Size, string>
  readonly notes: Set<string>
}

export type Shape = readonly Size[]

/** `aten.conv2d (layer 'features.0')` */
export const labelOf = (node: TorchNode): string =>
  node.target.replace(/^torch\.ops\./, '') + (node.layer === '' ? '' : ` (layer '${node.layer}')`)

/** The name of an ATen operator without overload and without the mark of operators that change their input. */
export const operatorOf = (target: string): string => {
  const name = target.replace(/^torch\.ops\.aten\.|^torch\.ops\./, '').split('.')
  const operator = target.startsWith('torch.ops.aten.') ? name[0]! : name.join('.')
  return /[^_]_$/.test(operator) ? operator.slice(0, -1) : operator
}

const MAX_CONSTANT = 2 ** 24

export class Lowering {
  readonly scope: Scope
  readonly node: TorchNode
  /** `add` of `torch.ops.aten.add.Tensor` */
  readonly operator: string
  readonly overload: string
  private readonly arguments: ReadonlyMap<string, Argument>

  constructor(scope: Scope, node: TorchNode) {
    this.scope = scope
    this.node = node
    this.operator = operatorOf(node.target)
    this.overload = node.target.split('.').at(-1)!
    this.arguments = new Map(node.inputs.map(({ name, value }) => [name, value]))
  }

  refuse(reason: string): Error {
    return badRequest(`${labelOf(this.node)} cannot be converted: ${reason}`)
  }

  // What the node is given.

  argument(name: string): Argument | undefined {
    const argument = this.arguments.get(name)
    return argument?.kind === 'none' ? undefined : argument
  }

  private tensorName(name: string): string {
    const argument = this.argument(name)
    if (argument?.kind !== 'tensor') throw this.refuse(`its argument '${name}' is not a tensor.`)
    return argument.name
  }

  private valueOf(tensor: string): string {
    const value = this.scope.values.get(tensor)
    if (value === undefined) throw this.refuse(`it needs '${tensor}', which no converted operator makes.`)
    return value
  }

  private metaOf(tensor: string): TensorMeta {
    const meta = this.scope.metas.get(tensor)
    if (meta === undefined) throw this.refuse(`the program does not describe '${tensor}'.`)
    return meta
  }

  has(name: string): boolean {
    return this.argument(name) !== undefined
  }

  isTensor(name: string): boolean {
    return this.argument(name)?.kind === 'tensor'
  }

  /** The tensor argument's value. */
  input(name = 'self'): string {
    return this.valueOf(this.tensorName(name))
  }

  /** As `input`; '' where the argument is left out. */
  optional(name: string): string {
    return this.has(name) ? this.input(name) : ''
  }

  shape(name = 'self'): Shape {
    return this.metaOf(this.tensorName(name)).shape
  }

  /** A shape without dynamic sizes. */
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

  tensors(name: string): (string | null)[] {
    const argument = this.argument(name)
    if (argument?.kind !== 'tensors') throw this.refuse(`its argument '${name}' is not a list of tensors.`)
    return argument.names.map((tensor) => (tensor === null ? null : this.valueOf(tensor)))
  }

  metas(name: string): (TensorMeta | null)[] {
    const argument = this.argument(name)
    if (argument?.kind !== 'tensors') throw this.refuse(`its argument '${name}' is not a list of tensors.`)
    return argument.names.map((tensor) => (tensor === null ? null : this.metaOf(tensor)))
  }

  /** A list of numbers; one number alone is a list of one. */
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

  /** Sizes as given, of which some may be computed. */
  sizeArguments(name: string): readonly SizeArgument[] {
    const argument = this.argument(name)
    return argument?.kind === 'sizes' ? argument.values : this.numbers(name)
  }

  /** An axis, counted from the front. */
  axis(name: string, rank: number, absent?: number): number {
    return this.fromFront(this.number(name, absent), rank)
  }

  fromFront(axis: number, rank: number): number {
    const front = axis < 0 ? axis + rank : axis
    if (!Number.isInteger(front) || front < 0 || front >= Math.max(rank, 1)) {
      throw this.refuse(`axis ${axis} does not exist in a tensor of ${rank} axes.`)
    }
    return front
  }

  // What it results in.

  /** The description of the node's result, or of one of them. */
  result(at = 0): TensorMeta {
    const name = this.resultNames()[at]
    if (name === undefined) throw this.refuse('the program does not say what it results in.')
    return this.metaOf(name)
  }

  resultNames(): string[] {
    return this.node.outputs.flatMap((output) => {
      if (output.kind === 'tensor') return [output.name]
      return output.kind === 'tensors' ? output.names.filter((name) => name !== null) : []
    })
  }

  // ONNX.

  emit(type: string, inputs: readonly string[], attributes: Readonly<Record<string, Attribute>> = {}): string {
    return this.scope.builder.node(type, inputs, attributes, { output: this.resultNames()[0] ?? this.operator })
  }

  emitSeveral(
    type: string,
    inputs: readonly string[],
    count: number,
    attributes: Record<string, Attribute> = {},
  ): string[] {
    const outputs = Array.from({ length: count }, (_, at) => `${this.resultNames()[0] ?? this.operator}_${at}`)
    return this.scope.builder.nodes(type, inputs, outputs, attributes)
  }

  integers(values: readonly number[]): string {
    return this.scope.builder.constant(`${this.operator}_sizes`, tensorOf('i64', [values.length], values))
  }

  scalar(type: DType, value: number): string {
    return this.scope.builder.constant(`${this.operator}_value`, scalarOf(type, value))
  }

  constant(type: DType, shape: readonly number[], values: ArrayLike<number>): string {
    return this.scope.builder.constant(`${this.operator}_values`, tensorOf(type, shape, values))
  }

  /** A float32 constant with the same value everywhere. */
  filled(shape: readonly number[], value: number): string {
    const count = shape.reduce((product, size) => product * size, 1)
    if (count > MAX_CONSTANT) throw this.refuse(`it needs a constant of ${count} elements.`)
    return this.constant('f32', shape, new Float32Array(count).fill(value))
  }

  cast(value: string, from: DType, to: DType): string {
    return from === to ? value : this.emit('Cast', [value], { to: int(numberOfElementType(to)) })
  }

  /** A tensor argument in this type, or a number as a constant of it. */
  operand(name: string, type: DType): string {
    return this.isTensor(name)
      ? this.cast(this.input(name), this.type(name), type)
      : this.scalar(type, this.number(name))
  }

  reshape(value: string, shape: readonly number[]): string {
    return this.emit('Reshape', [value, this.integers(shape)])
  }

  unsqueeze(value: string, axes: readonly number[]): string {
    return axes.length === 0 ? value : this.emit('Unsqueeze', [value, this.integers(axes)])
  }

  squeeze(value: string, axes: readonly number[]): string {
    return axes.length === 0 ? value : this.emit('Squeeze', [value, this.integers(axes)])
  }

  // Dynamic sizes.

  /** A size argument as an int64 tensor of one element. */
  sizeValue(size: SizeArgument): string {
    if (typeof size === 'number') return this.integers([size])
    const value = this.scope.sizes.get(size.name)
    if (value === undefined) throw this.refuse(`the size '${size.name}' is computed in a way that cannot be converted.`)
    return value
  }

  /** Sizes as one int64 tensor. */
  sizeList(sizes: readonly SizeArgument[]): string {
    const fixed = sizes.filter((size) => typeof size === 'number')
    if (fixed.length === sizes.length) return this.integers(fixed)
    return this.emit(
      'Concat',
      sizes.map((size) => this.sizeValue(size)),
      { axis: int(0) },
    )
  }

  /** A dynamic size by its expression: one that the program computed, or that of an axis of an argument. */
  private dynamicSize(size: Size): string {
    if (typeof size === 'number') return this.integers([size])
    const known = this.scope.bySize.get(size)
    if (known !== undefined) return known
    for (const { value } of this.node.inputs) {
      const names = value.kind === 'tensor' ? [value.name] : value.kind === 'tensors' ? value.names : []
      for (const name of names) {
        const axis = name === null ? -1 : this.metaOf(name).shape.indexOf(size)
        if (axis >= 0) return this.emit('Shape', [this.valueOf(name!)], { start: int(axis), end: int(axis + 1) })
      }
    }
    throw this.refuse(`the dynamic size ${size} is computed in a way that cannot be converted.`)
  }

  /** A shape as an int64 tensor. */
  shapeValue(shape: Shape): string {
    const fixed = shape.filter((size) => typeof size === 'number')
    if (fixed.length === shape.length) return this.integers(fixed)
    return this.emit(
      'Concat',
      shape.map((size) => this.dynamicSize(size)),
      { axis: int(0) },
    )
  }

  /** Reshapes a value of shape `from`: one dynamic size is inferred, and those that stay in their place are copied. */
  reshapeTo(value: string, from: Shape, to: Shape): string {
    const dynamic = to.filter((size) => typeof size === 'string').length
    if (dynamic <= 1)
      return this.reshape(
        value,
        to.map((size) => (typeof size === 'number' ? size : -1)),
      )
    const kept = to.map((size, axis) => (typeof size === 'string' && size === from[axis] ? 0 : size))
    if (kept.filter((size) => typeof size === 'string').length <= 1) {
      return this.reshape(
        value,
        kept.map((size) => (typeof size === 'number' ? size : -1)),
      )
    }
    return this.emit('Reshape', [value, this.shapeValue(to)])
  }
}

/** What a node becomes: its results in order. Results that are left out cannot be used. */
export type Operator = (node: Lowering) => string | readonly string[]
