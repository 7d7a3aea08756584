// LSTM, GRU and RNN, step by step: TFLite's own LSTM keeps its state between runs, and it has no GRU. Source: ONNX.
import { badRequest } from '../../../domain/errors.ts'
import { attributeOf } from '../../onnx/model.ts'
import { type Lower, type Lowering, reshape } from '../lowering.ts'
import type { Tensor } from '../tflite-graph.ts'
import { arithmetic } from './elementwise.ts'
import { fullyConnected } from './matrix.ts'
import { concat, slice } from './slices.ts'

/** Every step is a handful of operators in the file. */
const MAX_STEPS = 2000

interface Cell {
  readonly gates: number
  readonly activations: readonly string[]
  /** One step: the products of the input with its weights [batch, gates * hidden], and the state before and behind it. */
  readonly step: (parts: Step) => Tensor[]
}

interface Step {
  readonly node: Lowering
  /** `x · W^T + Wb` by gate. */
  readonly input: readonly Tensor[]
  /** The state's product with the recurrent weights of gates from one on, up to another. */
  readonly recurrent: (state: Tensor, from: number, to: number) => Tensor[]
  readonly state: readonly Tensor[]
  readonly activate: readonly ((x: Tensor) => Tensor)[]
  readonly peephole: readonly Tensor[] | null
  readonly linearBeforeReset: boolean
}

const lstm = ({ node, input, recurrent, state, activate, peephole }: Step): Tensor[] => {
  const { add, mul } = arithmetic(node.graph)
  const [h, c] = state as [Tensor, Tensor]
  const [f, g, k] = activate as [(x: Tensor) => Tensor, (x: Tensor) => Tensor, (x: Tensor) => Tensor]
  const sums = recurrent(h, 0, 4).map((product, gate) => add(input[gate]!, product))
  const peep = (gate: number, at: number, cell: Tensor) =>
    peephole === null ? sums[gate]! : add(sums[gate]!, mul(peephole[at]!, cell))
  const [open, forget] = [f(peep(0, 0, c)), f(peep(2, 2, c))]
  const cell = add(mul(forget, c), mul(open, g(sums[3]!)))
  return [mul(f(peep(1, 1, cell)), k(cell)), cell]
}

const gru = ({ node, input, recurrent, state, activate, linearBeforeReset }: Step): Tensor[] => {
  const { add, sub, mul } = arithmetic(node.graph)
  const [h] = state as [Tensor]
  const [f, g] = activate as [(x: Tensor) => Tensor, (x: Tensor) => Tensor]
  const products = recurrent(h, 0, linearBeforeReset ? 3 : 2)
  const [update, reset] = [f(add(input[0]!, products[0]!)), f(add(input[1]!, products[1]!))]
  const inner = linearBeforeReset ? mul(reset, products[2]!) : recurrent(mul(reset, h), 2, 3)[0]!
  const fresh = g(add(input[2]!, inner))
  return [add(fresh, mul(update, sub(h, fresh)))]
}

const rnn = ({ node, input, recurrent, state, activate }: Step): Tensor[] => {
  const { add } = arithmetic(node.graph)
  return [activate[0]!(add(input[0]!, recurrent(state[0]!, 0, 1)[0]!))]
}

const CELLS: Readonly<Record<string, Cell>> = {
  LSTM: { gates: 4, activations: ['Sigmoid', 'Tanh', 'Tanh'], step: lstm },
  GRU: { gates: 3, activations: ['Sigmoid', 'Tanh'], step: gru },
  RNN: { gates: 1, activations: ['Tanh'], step: rnn },
}

const activationsOf = (node: Lowering, cell: Cell, direction: number): ((x: Tensor) => Tensor)[] => {
  const given = attributeOf(node.node, 'activations', 'strings', undefined)
  const { sigmoid, tanh, relu } = arithmetic(node.graph)
  const known = { sigmoid, tanh, relu } as const
  return cell.activations.map((absent, at) => {
    const name = given?.[direction * cell.activations.length + at] ?? absent
    const found = known[name.toLowerCase() as keyof typeof known]
    if (found === undefined) throw badRequest(`The activation ${name} is not supported; Sigmoid, Tanh and Relu are.`)
    return found
  })
}

/** Elements of a constant for one direction: [from, from + count) of its rows. */
const rowsOf = (node: Lowering, at: number, direction: number, from: number, count: number): Tensor => {
  const { values, shape } = node.weights(at, 'weights')
  const [, rows, width = 1] = shape as [number, number, number?]
  const first = (direction * rows + from) * width
  const list = Float64Array.from({ length: count * width }, (_, i) => values[first + i]!)
  return node.graph.constant('f32', shape.length === 2 ? [count] : [count, width], list)
}

const optional = (node: Lowering, at: number, shape: readonly number[]): Tensor =>
  node.has(at) ? node.value(at) : node.graph.constant('f32', shape, new Float64Array(shape.reduce((a, b) => a * b, 1)))

/** One direction: the states [steps] and the last cell. */
const unroll = (
  node: Lowering,
  cell: Cell,
  direction: number,
  backwards: boolean,
): { all: Tensor[]; last: Tensor[] } => {
  const { graph } = node
  const hidden = node.input(2).shape[2]!
  const x = node.value(0, node.int('layout') !== 0 ? [1, 0, 2] : [0, 1, 2])
  const [steps, batch, width] = x.shape as [number, number, number]
  if (steps > MAX_STEPS)
    throw badRequest(`A sequence of ${steps} steps; at most ${MAX_STEPS} are supported. Give a shorter input shape.`)
  if (node.has(4) && !node.isConstant(4))
    throw badRequest('Lengths of sequences that are inputs are not supported by TFLite.')
  if (node.has(4) && Array.from(node.numbers(4)).some((length) => length !== steps)) {
    throw badRequest('Sequences of different lengths are not supported by TFLite.')
  }
  if (node.node.attributes.clip !== undefined) throw badRequest('clip is not supported; export without it.')
  if (node.int('input_forget') !== 0) throw badRequest('input_forget is not supported.')
  const { gates } = cell
  const linearBeforeReset = node.int('linear_before_reset') !== 0
  const biases = [0, gates * hidden].map((from) =>
    node.has(3) ? rowsOf(node, 3, direction, from, gates * hidden) : null,
  )
  const weights = rowsOf(node, 1, direction, 0, gates * hidden)
  const flat = reshape(graph, x, [steps * batch, width])
  const products = reshape(graph, fullyConnected(graph, flat, weights, biases[0]!), [steps, batch, gates * hidden])
  const gatesOf = (tensor: Tensor, count: number) =>
    Array.from({ length: count }, (_, gate) => slice(graph, tensor, [0, gate * hidden], [batch, hidden]))
  const recurrent: Step['recurrent'] = (state, from, to) => {
    const rows = rowsOf(node, 2, direction, from * hidden, (to - from) * hidden)
    const bias = node.has(3) ? rowsOf(node, 3, direction, (gates + from) * hidden, (to - from) * hidden) : null
    return gatesOf(fullyConnected(graph, state, rows, bias), to - from)
  }
  const initial = (at: number): Tensor => {
    const batchFirst = node.int('layout') !== 0
    const state = optional(
      node,
      at,
      batchFirst ? [batch, node.input(1).shape[0]!, hidden] : [node.input(1).shape[0]!, batch, hidden],
    )
    const begin = batchFirst ? [0, direction, 0] : [direction, 0, 0]
    return reshape(graph, slice(graph, state, begin, batchFirst ? [batch, 1, hidden] : [1, batch, hidden]), [
      batch,
      hidden,
    ])
  }
  const peephole = node.has(7) ? [0, 1, 2].map((gate) => rowsOf(node, 7, direction, gate * hidden, hidden)) : null
  const activate = activationsOf(node, cell, direction)
  let state = node.node.type === 'LSTM' ? [initial(5), initial(6)] : [initial(5)]
  const all = new Array<Tensor>(steps)
  for (let count = 0; count < steps; count++) {
    const at = backwards ? steps - 1 - count : count
    const row = reshape(graph, slice(graph, products, [at, 0, 0], [1, batch, gates * hidden]), [batch, gates * hidden])
    state = cell.step({ node, input: gatesOf(row, gates), recurrent, state, activate, peephole, linearBeforeReset })
    all[at] = state[0]!
  }
  return { all, last: state }
}

const recurrent: Lower = (node) => {
  const cell = CELLS[node.node.type]!
  const { graph } = node
  const direction = node.text('direction', 'forward')
  const ways = direction === 'bidirectional' ? [false, true] : [direction === 'reverse']
  const runs = ways.map((backwards, at) => unroll(node, cell, at, backwards))
  const [batch, hidden] = runs[0]!.last[0]!.shape as [number, number]
  const batchFirst = node.int('layout') !== 0
  const steps = runs[0]!.all.length
  if (node.wants(0)) {
    const states = runs.map(({ all }) => {
      const rows = all.map((state) => reshape(graph, state, [1, 1, batch, hidden]))
      return rows.length === 1 ? rows[0]! : concat(graph, rows, 0)
    })
    const joined = states.length === 1 ? states[0]! : concat(graph, states, 1)
    node.define(reshape(graph, joined, [steps, ways.length, batch, hidden]), batchFirst ? [1, 2, 0, 3] : [0, 1, 2, 3])
  }
  for (const [at, output] of [1, 2].entries()) {
    if (!node.wants(output)) continue
    const rows = runs.map(({ last }) => reshape(graph, last[at]!, [1, batch, hidden]))
    node.define(rows.length === 1 ? rows[0]! : concat(graph, rows, 0), batchFirst ? [1, 0, 2] : [0, 1, 2], output)
  }
}

export const RECURRENT: Readonly<Record<string, Lower>> = { GRU: recurrent, LSTM: recurrent, RNN: recurrent }
