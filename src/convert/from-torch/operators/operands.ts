// Shared parts of elementwise operators, whose inputs get the type of the result.
import type { DType } from '../../../tensors/weight-file.ts'
import type { Lowering, Operator } from '../lowering.ts'

const FLOATS: readonly DType[] = ['f64', 'f32', 'bf16', 'f16']
export const isFloat = (type: DType): boolean => FLOATS.includes(type)

/** The input cast to the type of the result. */
export const input = (node: Lowering): string => node.operand('self', node.result().type)

export const constant = (node: Lowering, value: number): string => node.scalar(node.result().type, value)

export const tensors = (node: Lowering, ...names: readonly string[]): string[] =>
  names.map((name) => node.operand(name, node.result().type))

export const unary =
  (type: string): Operator =>
  (node) =>
    node.emit(type, [input(node)])

/** One operator under several names. */
export const named = (names: string, operator: Operator): Record<string, Operator> =>
  Object.fromEntries(names.split(' ').map((name) => [name, operator]))

/** Operators of one node, whose type is the name with a capital letter. */
export const unaries = (names: string): Record<string, Operator> =>
  Object.fromEntries(names.split(' ').map((name) => [name, unary(`${name[0]!.toUpperCase()}${name.slice(1)}`)]))

/** Operators for a number of spatial axes, which stands in the name in place of '#'. */
export const forAxes = (name: string, make: (axes: number) => Operator, axes = [1, 2, 3]): Record<string, Operator> =>
  Object.fromEntries(axes.map((count) => [name.replace('#', `${count}`), make(count)]))

export const binary =
  (type: string): Operator =>
  (node) =>
    node.emit(type, tensors(node, 'self', 'other'))

/** x · factor */
export const scaledBy = (node: Lowering, x: string, factor: number): string =>
  factor === 1 ? x : node.emit('Mul', [x, constant(node, factor)])

/** x · f(x) */
export const gated =
  (gate: (node: Lowering, x: string) => string): Operator =>
  (node) => {
    const x = input(node)
    return node.emit('Mul', [x, gate(node, x)])
  }
