// Helpers for shape rules.
import { axisOf } from './constants.ts'
import type { ElementType } from './model.ts'
import type { NodeContext, StaticValue } from './node-context.ts'

/** Returns one value per possible output of the node. */
export type ShapeRule = (context: NodeContext) => readonly StaticValue[]

export const value = (type: ElementType, shape: readonly number[]): StaticValue[] => [{ type, shape }]
export const like = (context: NodeContext, shape: readonly number[]): StaticValue[] =>
  value(context.input(0).type, shape)

/** A value of the first input's type and of the shape that this computes from the input's. */
export const shaped =
  (compute: (shape: readonly number[], context: NodeContext) => readonly number[]): ShapeRule =>
  (context) =>
    like(context, compute(context.input(0).shape, context))

export const everyInput = (context: NodeContext): StaticValue[] => context.node.inputs.map((_, at) => context.input(at))

/** The scales of a Resize or Upsample: an input, or an attribute of old ones. */
export const statedScales = (context: NodeContext): readonly number[] | undefined => {
  const at = context.opset < 11 ? 1 : 2
  if (context.has(at)) return context.numbers(at)
  const { scales } = context.node.attributes
  return scales?.kind === 'floats' ? scales.value : undefined
}

/** The axes of a node, its second input or an attribute. */
export const axesOf = (context: NodeContext, rank: number): number[] | undefined =>
  context.list(1, 'axes')?.map((axis) => axisOf(axis, rank))
