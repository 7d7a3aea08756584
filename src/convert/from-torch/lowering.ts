// Converts one node of an exported program to ONNX nodes.

import { ownEntry } from '../../domain/own-entry.ts'
import type { DType } from '../../tensors/weight-file.ts'
import { elementCount, int } from '../onnx/model.ts'
import { scalarOf, tensorOf } from '../onnx/tensors.ts'
import type { Size, SizeArgument } from './exported-program.ts'
import { NodeArguments, type Shape } from './node-arguments.ts'

const MAX_CONSTANT = 2 ** 24

export class Lowering extends NodeArguments {
  /** An int64 constant whose elements are computed from their positions. */
  indices(shape: readonly number[], at: (place: number) => number): string {
    const length = this.constantSize(shape)
    return this.constant(
      'i64',
      shape,
      Array.from({ length }, (_, place) => at(place)),
    )
  }

  constantSize(shape: readonly number[]): number {
    const count = elementCount(shape)
    if (count > MAX_CONSTANT) throw this.refuse(`it needs a constant of ${count} elements.`)
    return count
  }

  scalar(type: DType, value: number): string {
    return this.builder.constant(this.constantName('value'), scalarOf(type, value))
  }

  constant(type: DType, shape: readonly number[], values: ArrayLike<number>): string {
    return this.builder.constant(this.constantName('values'), tensorOf(type, shape, values))
  }

  /** A float32 constant with the same value everywhere. */
  filled(shape: readonly number[], value: number): string {
    return this.constant('f32', shape, new Float32Array(this.constantSize(shape)).fill(value))
  }

  /** A value that is the same everywhere, of a shape that may be dynamic. */
  everywhere(shape: Shape, type: DType, value: number): string {
    return this.emit('ConstantOfShape', [this.sizeList(shape)], {
      value: { kind: 'tensor', value: tensorOf(type, [1], [value]) },
    })
  }

  cast(value: string, from: DType, to: DType): string {
    return from === to ? value : this.castTo(value, to)
  }

  /** A tensor argument cast to this type, or a number as a constant of this type. */
  operand(name: string, type: DType): string {
    return this.isTensor(name)
      ? this.cast(this.input(name), this.type(name), type)
      : this.scalar(type, this.number(name))
  }

  concat(parts: readonly string[], axis: number): string {
    return this.emit('Concat', parts, { axis: int(axis) })
  }

  gather(value: string, indices: string, axis: number): string {
    return this.emit('Gather', [value, indices], { axis: int(axis) })
  }

  swap(value: string, rank: number, first: number, second: number): string {
    const order = Array.from({ length: rank }, (_, at) => (at === first ? second : at === second ? first : at))
    return this.transpose(value, order)
  }

  /** Repeats every element on a new axis after this one. */
  repeated(value: string, rank: number, axis: number, times: number): string {
    const tiles = Array.from({ length: rank + 1 }, (_, at) => (at === axis + 1 ? times : 1))
    return this.emit('Tile', [this.unsqueeze(value, [axis + 1]), this.integers(tiles)])
  }

  /** Broadcasts a value of shape `from`. */
  expand(value: string, from: Shape, to: Shape): string {
    const lead = to.length - from.length
    // A size of 1 keeps the existing size.
    const sizes = to.map((size, axis) => (axis >= lead && from[axis - lead] === size ? 1 : size))
    if (lead === 0 && sizes.every((size) => size === 1)) return value
    return this.emit('Expand', [value, this.sizeList(sizes)])
  }

  // Dynamic sizes.

  /** A size as an int64 tensor with one element. */
  sizeValue(size: Size | SizeArgument): string {
    if (typeof size === 'number') return this.integers([size])
    if (typeof size === 'string') return this.dynamicSize(size)
    const value = this.scope.sizes.get(size.name)
    if (value === undefined) throw this.refuse(`the size '${size.name}' is computed in a way that cannot be converted.`)
    return value
  }

  /** Sizes as one int64 tensor. */
  sizeList(sizes: readonly (Size | SizeArgument)[]): string {
    const fixed = sizes.filter((size) => typeof size === 'number')
    if (fixed.length === sizes.length) return this.integers(fixed)
    const each = sizes.map((size) => this.sizeValue(size))
    return this.concat(each, 0)
  }

  /** A dynamic size by its expression: one that the program computed, or the axis of an argument. */
  private dynamicSize(size: string): string {
    const known = this.scope.bySize.get(size)
    if (known !== undefined) return known
    for (const { value } of this.node.inputs) {
      const names = value.kind === 'tensor' ? [value.name] : value.kind === 'tensors' ? value.names : []
      for (const name of names) {
        const axis = name === null ? -1 : this.metaOf(name).shape.indexOf(size)
        if (axis >= 0) return this.sizeOf(this.valueNamed(name!), axis)
      }
    }
    const value = this.sizeFrom(size)
    this.scope.bySize.set(size, value)
    return value
  }

  /** The size of an axis as an int64 tensor with one element. */
  sizeOf(value: string, axis: number): string {
    return this.emit('Shape', [value], { start: int(axis), end: int(axis + 1) })
  }

  /** The value of a SymPy expression of input sizes, such as `Mul(Integer(2), Symbol('s77', positive=True))`. */
  private sizeFrom(expression: string): string {
    const [, head = 'Symbol', inner = expression] = /^(\w+)\((.*)\)$/s.exec(expression) ?? []
    const found = this.scope.symbols.get(inner.split(',')[0]!.replaceAll("'", ''))
    if (head === 'Symbol' && found !== undefined) return this.sizeOf(found.value, found.axis)
    if (head === 'Integer') return this.integers([Number(inner)])
    const operator = ownEntry(SIZE_ARITHMETIC, head)
    if (operator === undefined) throw this.refuse(`the dynamic size ${expression} cannot be computed.`)
    return splitArguments(inner)
      .map((part) => this.sizeFrom(part))
      .reduce((one, other) => this.emit(operator, [one, other]))
  }

  /** Reshapes a value of shape `from`: infers one dynamic size and copies those that keep their position. */
  reshapeTo(value: string, from: Shape, to: Shape): string {
    const kept = to.map((size, axis) => (typeof size === 'string' && size === from[axis] ? 0 : size))
    for (const shape of [to, kept]) {
      const sizes = shape.map((size) => (typeof size === 'number' ? size : -1))
      if (shape.filter((size) => typeof size === 'string').length <= 1) return this.reshape(value, sizes)
    }
    return this.emit('Reshape', [value, this.sizeList(to)])
  }
}

/** Sizes are positive, so division rounds down. */
const SIZE_ARITHMETIC: Readonly<Record<string, string>> = {
  Add: 'Add',
  Mul: 'Mul',
  FloorDiv: 'Div',
  CleanDiv: 'Div',
  Mod: 'Mod',
  PythonMod: 'Mod',
  Max: 'Max',
  Min: 'Min',
}

/** The arguments of a call, split at commas outside of brackets. */
const splitArguments = (text: string): string[] => {
  const parts = ['']
  let depth = 0
  for (const letter of text) {
    depth += letter === '(' ? 1 : letter === ')' ? -1 : 0
    if (letter === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += letter
  }
  return parts.map((part) => part.trim())
}

/** Lowers a node and returns its results in order. Omitted results cannot be used. */
export type Operator = (node: Lowering) => string | readonly string[]
