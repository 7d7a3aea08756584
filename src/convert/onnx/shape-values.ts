// Helpers for shape rules.
import { axisOf } from './constants.ts'
import type { ElementType } from './model.ts'
import type { NodeContext, StaticValue } from './node-context.ts'

/** Returns one value per possible output of the node. */
export type ShapeRule = (context: NodeContext) => readonly StaticValue[]

export const value = (type: ElementType, shape: readonly number[]): StaticValue[] => [{ type, shape }]
export const like = (context: NodeContext, shape: readonly number[]): StaticValue[] =>
  value(context.input(0).type, shape)

export const everyInput = (context: NodeContext): StaticValue[] => context.node.inputs.map((_, at) => context.input(at))

/** The axes of a node, its second input or an attribute. */
export const axesOf = (context: NodeContext, rank: number): number[] | undefined =>
  context.list(1, 'axes')?.map((axis) => axisOf(axis, rank))
