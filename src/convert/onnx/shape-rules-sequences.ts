// Recurrent layers, attention operators, and Einsum.
import { badRequest } from '../../domain/errors.ts'
import type { NodeContext, StaticValue } from './node-context.ts'

/** All states, the last state, and the last cell of LSTM, GRU, and RNN. Source: ONNX, `layout` 0 and 1. */
const recurrent = (context: NodeContext): StaticValue[] => {
  const { type, shape } = context.input(0)
  const directions = context.input(1).shape[0]!
  const hidden = context.input(2).shape[2]!
  const batchFirst = context.int('layout') !== 0
  const [steps, batch] = batchFirst ? [shape[1]!, shape[0]!] : [shape[0]!, shape[1]!]
  const all = batchFirst ? [batch, steps, directions, hidden] : [steps, directions, batch, hidden]
  const last = batchFirst ? [batch, directions, hidden] : [directions, batch, hidden]
  return [all, last, last].map((result) => ({ type, shape: result }))
}

/** The terms of an Einsum: `['bij', 'bjk']` and `'bik'`. Ellipses and repeated letters are not supported. */
export const einsumTerms = (equation: string): { inputs: string[]; output: string } => {
  const [left = '', right] = equation.replaceAll(' ', '').split('->')
  const inputs = left.split(',')
  if ([...inputs, right ?? ''].some((term) => /[^A-Za-z]/.test(term) || new Set(term).size !== term.length)) {
    throw badRequest(`The equation '${equation}' is not supported; use MatMul.`)
  }
  const letters = [...inputs.join('')].sort()
  const output = right ?? letters.filter((letter) => letters.filter((other) => other === letter).length === 1).join('')
  return { inputs, output }
}

const einsum = (context: NodeContext): StaticValue[] => {
  const { inputs, output } = einsumTerms(context.text('equation'))
  const sizes = new Map<string, number>()
  for (const [at, term] of inputs.entries()) {
    const { shape } = context.input(at)
    if (shape.length !== term.length) throw badRequest(`'${term}' does not fit [${shape.join(', ')}].`)
    for (const [axis, letter] of [...term].entries()) sizes.set(letter, shape[axis]!)
  }
  return [{ type: context.input(0).type, shape: [...output].map((letter) => sizes.get(letter) ?? 0) }]
}

export const SEQUENCE_SHAPES = { Einsum: einsum, GRU: recurrent, LSTM: recurrent, RNN: recurrent } as const
