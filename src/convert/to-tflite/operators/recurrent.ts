// LSTM, GRU, and RNN, unrolled: TFLite's own LSTM keeps its state between runs, and it has no GRU. Source: ONNX.
import { badRequest } from '../../../domain/errors.ts'
import { ownEntry } from '../../../domain/own-entry.ts'
import { attributeOf } from '../../onnx/model.ts'
import { type Lower, type Lowering, reshape } from '../lowering.ts'
import type { Tensor, TfliteGraph } from '../tflite-graph.ts'
import { arithmetic, broadcasting, castTo, softplus } from './arithmetic.ts'
import { fullyConnected } from './matrix.ts'
import { concat, slice } from './slices.ts'

/** Every step adds several operators to the file. */
const MAX_STEPS = 2000

interface Cell {
  readonly gates: number
  readonly activations: readonly string[]
  /** Computes the next state from the input's products with its weights [batch, gates * hidden] and the previous state. */
  readonly step: (parts: Step) => Tensor[]
}

interface Step {
  readonly node: Lowering
  /** `x · W^T + Wb` by gate. */
  readonly input: readonly Tensor[]
  /** The product of the state and the recurrent weights of a range of gates. */
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

type Activation = (x: Tensor, alpha: number, beta: number) => Tensor

const activationsIn = (graph: TfliteGraph): Readonly<Record<string, Activation>> => {
  const { sigmoid, tanh, relu, add, sub, mul, div, abs, min, max, exp } = arithmetic(graph)
  return {
    ...{ Sigmoid: sigmoid, Tanh: tanh, Relu: relu, Softplus: (x) => softplus(graph, x) },
    Softsign: (x) => div(x, add(1, abs(x))),
    Affine: (x, alpha, beta) => add(mul(alpha, x), beta),
    HardSigmoid: (x, alpha, beta) => max(0, min(1, add(mul(alpha, x), beta))),
    LeakyRelu: (x, alpha) => sub(relu(x), mul(alpha, relu(sub(0, x)))),
    Elu: (x, alpha) => add(relu(x), mul(alpha, sub(exp(min(x, 0)), 1))),
  }
}

/** The default alpha and beta of activations that have them. Source: ONNX. */
const PARAMETERS: Readonly<Record<string, readonly number[]>> = {
  ...{ Affine: [1, 0], HardSigmoid: [0.2, 0.5], LeakyRelu: [0.01], Elu: [1] },
}

const activationsOf = (node: Lowering, cell: Cell, direction: number): ((x: Tensor) => Tensor)[] => {
  const known = activationsIn(node.graph)
  const count = cell.activations.length
  const given = attributeOf(node.node, 'activations', 'strings', undefined) ?? []
  const lists = ['activation_alpha', 'activation_beta'].map((name) => [
    ...(attributeOf(node.node, name, 'floats', undefined) ?? []),
  ])
  // The lists have numbers only for activations with parameters, in order.
  const all = Array.from({ length: (direction + 1) * count }, (_, at) => {
    const name = given[at] ?? cell.activations[at % count]!
    const values = lists.map((list, place) => {
      const absent = PARAMETERS[name]?.[place]
      return absent === undefined ? 0 : (list.shift() ?? absent)
    })
    return { name, values }
  })
  return all.slice(-count).map(({ name, values: [alpha, beta] }) => {
    const found = known[name]
    if (found === undefined)
      throw badRequest(`The activation ${name} is not supported; ${Object.keys(known).join(', ')} are.`)
    return (x) => found(x, alpha!, beta!)
  })
}

/** Elements of a constant for one direction: rows [from, from + count). */
const rowsOf = (node: Lowering, at: number, direction: number, from: number, count: number): Tensor => {
  const { values, shape } = node.weights(at, 'weights')
  const [, rows, width = 1] = shape as [number, number, number?]
  const first = (direction * rows + from) * width
  const list = Float64Array.from({ length: count * width }, (_, i) => values[first + i]!)
  return node.graph.constant('f32', shape.length === 2 ? [count] : [count, width], list)
}

const optional = (node: Lowering, at: number, shape: readonly number[]): Tensor =>
  node.has(at) ? node.value(at) : node.graph.constant('f32', shape, new Float64Array(shape.reduce((a, b) => a * b, 1)))

/** For each step, 1 for sequences [batch, 1] that are longer, otherwise 0; undefined if all have full length. */
const insideOf = (node: Lowering, steps: number, batch: number): ((at: number) => Tensor) | undefined => {
  if (!node.has(4) || (node.isConstant(4) && Array.from(node.numbers(4)).every((length) => length === steps))) return
  const { graph } = node
  const numbers = graph.constant('i32', [steps, 1], [...Array(steps).keys()])
  const lengths = reshape(graph, castTo(graph, node.value(4), 'i32'), [1, batch])
  const all = castTo(graph, broadcasting(graph, 'LESS', [numbers, lengths], 'bool'), 'f32')
  return (at) => reshape(graph, slice(graph, all, [at, 0], [1, batch]), [batch, 1])
}

/** One direction: the states [steps] and the last cell. */
const unroll = (
  node: Lowering,
  cell: Cell,
  direction: number,
  backwards: boolean,
): { all: Tensor[]; last: Tensor[] } => {
  const { graph } = node
  const { add, sub, mul } = arithmetic(graph)
  const hidden = node.input(2).shape[2]!
  const x = node.value(0, node.int('layout') !== 0 ? [1, 0, 2] : [0, 1, 2])
  const [steps, batch, width] = x.shape as [number, number, number]
  if (steps > MAX_STEPS)
    throw badRequest(`A sequence of ${steps} steps; at most ${MAX_STEPS} are supported. Give a shorter input shape.`)
  const inside = insideOf(node, steps, batch)
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
  const made = new Map<string, readonly [rows: Tensor, bias: Tensor | null]>()
  /** The same for every step. */
  const weightsOf = (from: number, to: number) => {
    const known = made.get(`${from} ${to}`)
    if (known !== undefined) return known
    const rows = rowsOf(node, 2, direction, from * hidden, (to - from) * hidden)
    const bias = node.has(3) ? rowsOf(node, 3, direction, (gates + from) * hidden, (to - from) * hidden) : null
    made.set(`${from} ${to}`, [rows, bias])
    return [rows, bias] as const
  }
  const recurrent: Step['recurrent'] = (state, from, to) =>
    gatesOf(fullyConnected(graph, state, ...weightsOf(from, to)), to - from)
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
    const next = cell.step({
      node,
      input: gatesOf(row, gates),
      recurrent,
      state,
      activate,
      peephole,
      linearBeforeReset,
    })
    const within = inside?.(at)
    state = within === undefined ? next : next.map((each, i) => add(state[i]!, mul(within, sub(each, state[i]!))))
    all[at] = within === undefined ? state[0]! : mul(within, state[0]!)
  }
  return { all, last: state }
}

const recurrent: Lower = (node) => {
  const cell = ownEntry(CELLS, node.node.type)!
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
