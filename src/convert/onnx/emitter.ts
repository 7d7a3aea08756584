import type { GraphBuilder } from './graph-builder.ts'
import { type Attribute, type ElementType, int, ints, numberOfElementType } from './model.ts'
import { tensorOf } from './tensors.ts'

/** Emits the nodes and constants that an operator, a layer, or an estimator becomes. */
export abstract class OnnxEmitter {
  readonly builder: GraphBuilder

  constructor(builder: GraphBuilder) {
    this.builder = builder
  }

  /** The name of the output of a node, which the builder makes unique. */
  protected abstract outputName(type: string): string

  /** The name of a constant: one number, or sizes (also axes and indices). */
  protected abstract constantName(kind: 'value' | 'sizes'): string

  emit(type: string, inputs: readonly string[], attributes: Readonly<Record<string, Attribute>> = {}): string {
    return this.builder.node(type, inputs, attributes, { output: this.outputName(type) })
  }

  emitSeveral(
    type: string,
    inputs: readonly string[],
    count: number,
    attributes: Readonly<Record<string, Attribute>>,
  ): string[] {
    const outputs = Array.from({ length: count }, (_, at) => `${this.outputName(type)}_${at}`)
    return this.builder.nodes(type, inputs, outputs, attributes)
  }

  integers(values: readonly number[]): string {
    return this.builder.constant(this.constantName('sizes'), tensorOf('i64', [values.length], values))
  }

  castTo(value: string, type: ElementType): string {
    return this.emit('Cast', [value], { to: int(numberOfElementType(type)) })
  }

  reshape(value: string, shape: readonly number[]): string {
    return this.emit('Reshape', [value, this.integers(shape)])
  }

  /** Inserts axes of length 1 at these positions. */
  unsqueeze(value: string, axes: readonly number[]): string {
    return axes.length === 0 ? value : this.emit('Unsqueeze', [value, this.integers(axes)])
  }

  squeeze(value: string, axes: readonly number[]): string {
    return axes.length === 0 ? value : this.emit('Squeeze', [value, this.integers(axes)])
  }

  transpose(value: string, order: readonly number[]): string {
    return order.every((axis, at) => axis === at) ? value : this.emit('Transpose', [value], { perm: ints(order) })
  }
}
