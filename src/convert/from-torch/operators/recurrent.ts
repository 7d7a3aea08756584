// LSTM, GRU, and simple recurrent layers.
import { int, text, texts } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'

interface Kind {
  readonly type: 'LSTM' | 'GRU' | 'RNN'
  /** The positions of ONNX's gates among those of torch. */
  readonly gates: readonly number[]
  readonly activation?: string
}

// torch: input, forget, cell, output; ONNX: input, output, forget, cell.
const LSTM: Kind = { type: 'LSTM', gates: [0, 3, 1, 2] }
// torch: reset, update, new; ONNX: update, reset, new.
const GRU: Kind = { type: 'GRU', gates: [1, 0, 2] }

const split = (node: Lowering, value: string, count: number): string[] =>
  node.emitSeveral('Split', [value], count, { axis: int(0), num_outputs: int(count) })

/** The weights of all directions, with gates in ONNX's order: [directions, gates · hidden, ...]. */
const weightsOf = (node: Lowering, kind: Kind, values: readonly string[]): string => {
  const each = values.map((value) => {
    if (kind.gates.length === 1) return node.unsqueeze(value, [0])
    const parts = split(node, value, kind.gates.length)
    const ordered = kind.gates.map((gate) => parts[gate]!)
    return node.unsqueeze(node.concat(ordered, 0), [0])
  })
  return each.length === 1 ? each[0]! : node.concat(each, 0)
}

interface Layer {
  readonly kind: Kind
  /** [steps, batch, width] */
  readonly input: string
  /** For each direction: the weights of input and state, and their biases. */
  readonly weights: readonly (readonly string[])[]
  /** [directions, batch, hidden], one or two. */
  readonly states: readonly string[]
  readonly hidden: number
}

/** Returns [steps, batch, directions · hidden] and the final states. */
const runLayer = (node: Lowering, { kind, input, weights, states, hidden }: Layer): string[] => {
  const column = (at: number) => weights.map((direction) => direction[at]!)
  const [w, r] = [weightsOf(node, kind, column(0)), weightsOf(node, kind, column(1))]
  const biases = () => [2, 3].map((at) => weightsOf(node, kind, column(at)))
  const bias = weights[0]!.length > 2 ? node.concat(biases(), 1) : ''
  const results = node.emitSeveral(kind.type, [input, w, r, bias, '', ...states], states.length + 1, {
    hidden_size: int(hidden),
    direction: text(weights.length === 2 ? 'bidirectional' : 'forward'),
    ...(kind.type === 'GRU' ? { linear_before_reset: int(1) } : {}),
    ...(kind.activation === undefined ? {} : { activations: texts(weights.map(() => kind.activation!)) }),
  })
  // [steps, directions, batch, hidden]
  const swapped = node.transpose(results[0]!, [0, 2, 1, 3])
  return [node.reshape(swapped, [0, 0, -1]), ...results.slice(1)]
}

const statesOf = (node: Lowering, kind: Kind): string[] =>
  kind.type === 'LSTM' ? node.tensors('hx').map((value) => value ?? '') : [node.input('hx')]

const recurrent =
  (kind: Kind): Operator =>
  (node) => {
    if (node.overload !== 'input') throw node.refuse('its sequences are packed; give it padded ones.')
    const isBatched = node.rank('input') === 3
    const layers = node.number('num_layers')
    const directions = node.flag('bidirectional') ? 2 : 1
    const params = node.tensors('params').map((value) => value ?? '')
    const perCell = node.flag('has_biases', true) ? 4 : 2
    if (params.length !== layers * directions * perCell) {
      throw node.refuse(
        'its weights are not those of its layers (proj_size). Save ep.run_decompositions() in place of the program.',
      )
    }
    const hidden = node.fixed(node.metas('params')[1]?.shape.slice(1) ?? [], 'its hidden size')[0] ?? 1
    const withBatch = (value: string) => (isBatched ? value : node.unsqueeze(value, [1]))
    const initial = statesOf(node, kind).map(withBatch)
    const inTime = (value: string) => (node.flag('batch_first') && isBatched ? node.transpose(value, [1, 0, 2]) : value)
    let input = inTime(withBatch(node.input('input')))
    const finals: string[][] = initial.map(() => [])
    const byLayer = initial.map((state) => (layers === 1 ? [state] : split(node, state, layers)))
    for (let layer = 0; layer < layers; layer++) {
      const weights = Array.from({ length: directions }, (_, direction) => {
        const at = (layer * directions + direction) * perCell
        return params.slice(at, at + perCell)
      })
      const states = byLayer.map((parts) => parts[layer]!)
      const [output, ...last] = runLayer(node, { kind, input, weights, states, hidden })
      input = output!
      last.forEach((state, at) => {
        finals[at]!.push(state)
      })
    }
    const output = inTime(input)
    const states = finals.map((each) => (layers === 1 ? each[0]! : node.concat(each, 0)))
    return [output, ...states].map((value) => (isBatched ? value : node.squeeze(value, [1])))
  }

/** One step: a layer whose sequence has one element. */
const cell =
  (kind: Kind): Operator =>
  (node) => {
    const added = node.rank('input') === 1 ? [0, 1] : [0]
    const states = statesOf(node, kind).map((state) => node.unsqueeze(state, added))
    const weights = [node.given('w_ih', 'w_hh', 'b_ih', 'b_hh')]
    const hidden = node.fixedShape('w_hh')[1] ?? 1
    const input = node.unsqueeze(node.input('input'), added)
    const [, ...last] = runLayer(node, { kind, input, weights, states, hidden })
    return last.map((state) => node.squeeze(state, added))
  }

const KINDS: Readonly<Record<string, Kind>> = {
  lstm: LSTM,
  gru: GRU,
  rnn_tanh: { type: 'RNN', gates: [0], activation: 'Tanh' },
  rnn_relu: { type: 'RNN', gates: [0], activation: 'Relu' },
}

export const RECURRENT: Readonly<Record<string, Operator>> = Object.fromEntries(
  Object.entries(KINDS).flatMap(([name, kind]) => [
    [name, recurrent(kind)],
    [`${name}_cell`, cell(kind)],
  ]),
)
