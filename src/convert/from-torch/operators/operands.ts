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

export const binary =
  (type: string): Operator =>
  (node) =>
    node.emit(type, tensors(node, 'self', 'other'))

/** x · f(x) */
export const gated =
  (gate: (node: Lowering, x: string) => string): Operator =>
  (node) => {
    const x = input(node)
    return node.emit('Mul', [x, gate(node, x)])
  }
