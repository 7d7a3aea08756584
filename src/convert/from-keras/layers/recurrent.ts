// LSTM, GRU, and SimpleRNN, in one or both directions.

import { ownEntry } from '../../../domain/own-entry.ts'
import { transposeTensor } from '../../onnx/constants.ts'
import { type Attribute, floats, int, text, texts } from '../../onnx/model.ts'
import { numbersOf, tensorOf } from '../../onnx/tensors.ts'
import type { Json, JsonObject } from '../keras-config.ts'
import { innerOf, snakeCase } from '../keras-weights.ts'
import { functionName, type Layer, LayerCall, type Value } from '../layer-call.ts'
import { compactSteps } from './recurrent-padding.ts'

interface Kind {
  readonly type: 'LSTM' | 'GRU' | 'RNN'
  /** The positions of ONNX's gates among those of Keras. */
  readonly gates: readonly number[]
}

const KINDS: Readonly<Record<string, Kind>> = {
  // Keras: input, forget, cell, output; ONNX: input, output, forget, cell.
  LSTM: { type: 'LSTM', gates: [0, 3, 1, 2] },
  // Both: update, reset, new.
  GRU: { type: 'GRU', gates: [0, 1, 2] },
  SimpleRNN: { type: 'RNN', gates: [0] },
}

/** ONNX's names for Keras functions, with parameters that differ from the defaults. */
const FUNCTIONS: Readonly<Record<string, readonly [string, number?, number?]>> = {
  tanh: ['Tanh'],
  sigmoid: ['Sigmoid'],
  relu: ['Relu'],
  softsign: ['Softsign'],
  softplus: ['Softplus'],
  elu: ['Elu', 1],
  leaky_relu: ['LeakyRelu', 0.2],
  linear: ['Affine', 1, 0],
  hard_sigmoid: ['HardSigmoid', 1 / 6, 0.5],
}

const functionsOf = (call: LayerCall, kind: Kind): Record<string, Attribute> => {
  const named = (setting: string, absent: string) => {
    const name = functionName(call.config[setting] ?? absent)
    const found = ownEntry(FUNCTIONS, name)
    if (found === undefined)
      throw call.refuse(
        `its ${setting} '${name}' has no conversion inside of a recurrent layer; use ${Object.keys(FUNCTIONS).join(', ')}.`,
      )
    return name === 'hard_sigmoid' && call.scope.isKeras2 ? (['HardSigmoid', 0.2, 0.5] as const) : found
  }
  const activation = named('activation', 'tanh')
  const gate = named('recurrent_activation', 'sigmoid')
  const used = { RNN: [activation], GRU: [gate, activation], LSTM: [gate, activation, activation] }[kind.type]
  const alphas = used.flatMap(([, alpha]) => (alpha === undefined ? [] : [alpha]))
  const betas = used.flatMap(([, , beta]) => (beta === undefined ? [] : [beta]))
  return {
    activations: texts(used.map(([name]) => name)),
    ...(alphas.length > 0 ? { activation_alpha: floats(alphas) } : {}),
    ...(betas.length > 0 ? { activation_beta: floats(betas) } : {}),
  }
}

/** Transposes [inputs, gates · units] to [1, gates · units, inputs], with the gates in ONNX's order. */
const gateWeights = (call: LayerCall, name: string, kind: Kind, units: number): string => {
  const turned = transposeTensor(call.weightOfRank(name, 2), [1, 0])
  const [rows = 0, columns = 0] = turned.shape
  if (rows !== units * kind.gates.length) throw call.refuse(`its weight '${name}' does not fit ${units} units.`)
  return call.constant(name, tensorOf('f32', [1, rows, columns], reordered(numbersOf(turned), kind, units * columns)))
}

const reordered = (values: ArrayLike<number>, kind: Kind, size: number): Float32Array => {
  const from = Float32Array.from(values)
  const to = new Float32Array(from.length)
  kind.gates.forEach((gate, at) => {
    to.set(from.subarray(gate * size, (gate + 1) * size), at * size)
  })
  return to
}

/** The biases of inputs and states; in Keras, only a GRU with reset_after has the second. */
const biasOf = (call: LayerCall, kind: Kind, units: number): string => {
  const bias = call.optionalWeight('bias')
  if (bias === undefined) return ''
  const length = units * kind.gates.length
  const values = numbersOf(bias)
  if (values.length !== length && values.length !== 2 * length)
    throw call.refuse(`its bias does not fit ${units} units.`)
  const both = new Float32Array(2 * length)
  for (let at = 0; at < values.length; at += length)
    both.set(reordered(values.subarray(at, at + length), kind, units), at)
  return call.constant('bias', tensorOf('f32', [1, 2 * length], both))
}

interface Run {
  /** [batch, steps, units], in time order. */
  readonly sequence: string
  /** [batch, units] each. */
  readonly states: readonly string[]
}

/** Runs the layer on `value`, with initial states if given. */
const run = (call: LayerCall, kind: Kind, value: Value, initial: readonly Value[]): Run => {
  if (value.shape.length !== 3) throw call.refuse(`its input has ${value.shape.length} axes, not 3.`)
  if (call.flag('stateful'))
    call.scope.notes.add(
      `${call.layer.className} '${call.layer.name}' is stateful; the converted model starts every call from the initial state.`,
    )
  const units = call.number('units')
  const states = initial.map((state) => call.unsqueeze(state.name, [0]))
  const steps = value.mask === null ? null : compactSteps(call, value, value.mask)
  const time = call.transpose(steps?.compact ?? call.last(value), [1, 0, 2])
  const inputs = [
    time,
    gateWeights(call, 'kernel', kind, units),
    gateWeights(call, 'recurrent_kernel', kind, units),
    biasOf(call, kind, units),
    steps?.lengths ?? '',
    ...states,
  ]
  const outputs = call.emitSeveral(kind.type, inputs, kind.type === 'LSTM' ? 3 : 2, {
    hidden_size: int(units),
    direction: text(call.flag('go_backwards') ? 'reverse' : 'forward'),
    ...functionsOf(call, kind),
    ...(kind.type === 'GRU' && { linear_before_reset: int(Number(call.flag('reset_after', !call.scope.isKeras2))) }),
  })
  // [steps, 1, batch, units]
  const flat = call.squeeze(outputs[0]!, [1])
  const sequence = call.transpose(flat, [1, 0, 2])
  return {
    sequence: steps === null ? sequence : steps.expand(sequence),
    states: outputs.slice(1).map((state) => call.squeeze(state, [0])),
  }
}

const reversed = (call: LayerCall, sequence: string): string =>
  call.emit('Slice', [sequence, ...[[-1], [-(2 ** 31)], [1], [-1]].map((bound) => call.integers(bound))])

/** The results of a layer: its sequence or last output, then its states if it returns them. */
const resultsOf = (call: LayerCall, value: Value, initial: readonly Value[], forward = true): Value[] => {
  const kind = ownEntry(KINDS, call.layer.className)
  if (kind === undefined) throw call.refuse(`its layer is ${call.layer.className}, not LSTM, GRU, or SimpleRNN.`)
  const { sequence, states } = run(call, kind, value, initial)
  const shape = [value.shape[0]!, call.number('units')]
  const finals = states.map((state) => call.result(state, shape))
  // A layer that runs backward outputs its steps in its own order, which `Bidirectional` reverses to time order.
  const turn = (name: string) => (call.flag('go_backwards') === forward ? reversed(call, name) : name)
  const results = call.flag('return_sequences')
    ? call.result(turn(sequence), [shape[0]!, value.shape[1]!, shape[1]!], { mask: value.mask && turn(value.mask) })
    : finals[0]!
  return call.flag('return_state') ? [results, ...finals] : [results]
}

const statesOf = (call: LayerCall): Value[] => call.inputs.slice(1).filter((state) => typeof state === 'object')

const recurrent: Layer = (call) => resultsOf(call, call.input(), statesOf(call))

/** `RNN` with a cell is the layer of that name. Several cells are consecutive layers. */
const rnn: Layer = (call) => {
  const cell = innerOf(call.config, 'cell')
  const cells = Array.isArray(cell?.config.cells) ? (cell.config.cells as readonly Json[]) : [call.config.cell!]
  if (cells.length > 1 && (call.flag('return_state') || call.inputs.length > 1 || call.flag('go_backwards')))
    throw call.refuse('it has several cells with states; use a layer for each.')
  let results = [call.input()]
  const seen = new Map<string, number>()
  for (const [at, item] of cells.entries()) {
    const { className = '', config = {} } = innerOf({ item }, 'item') ?? {}
    const folder = snakeCase(className)
    const number = seen.get(folder) ?? 0
    seen.set(folder, number + 1)
    const { path, names, before } = call.place
    const inStack = {
      path: `${path}/cell/cells/${folder}${number === 0 ? '' : `_${number}`}`,
      names: [...names, functionName(config.name)],
      before: before + at * (config.use_bias === false ? 2 : 3),
    }
    const place = cells.length === 1 ? call.place : inStack
    const { return_sequences, return_state, go_backwards, zero_output_for_mask } = call.config as Record<string, Json>
    const isInner = at < cells.length - 1
    const own = { return_state, go_backwards, zero_output_for_mask, return_sequences: isInner || return_sequences }
    const settings = { ...config, ...own } as JsonObject
    const layer = { className: className.replace(/Cell$/, ''), name: call.layer.name, config: settings }
    results = resultsOf(new LayerCall(call.scope, layer, place, results), results[0]!, at === 0 ? statesOf(call) : [])
  }
  return results
}

const MERGES: Readonly<Record<string, string>> = { sum: 'Add', mul: 'Mul', ave: 'Mean', concat: 'Concat' }

const bidirectional: Layer = (call) => {
  const value = call.input()
  const [inner, other] = [innerOf(call.config, 'layer'), innerOf(call.config, 'backward_layer')]
  if (inner === null) throw call.refuse('its layer is missing.')
  const backwards = { ...inner, config: { ...inner.config, go_backwards: !inner.config.go_backwards } }
  const name = other === null || call.scope.isKeras2 ? 'backward_' : functionName(other.config.name)
  const initial = statesOf(call)
  const [forward, backward] = [inner, other ?? backwards].map(({ className, config }, at) => {
    const count = inner.config.use_bias === false ? 2 : 3
    const place = {
      path: `${call.place.path}/${at === 0 ? 'forward' : 'backward'}_layer`,
      names: [...call.place.names, at === 0 ? 'forward_' : name],
      before: call.place.before + at * count,
    }
    const direction = new LayerCall(call.scope, { className, name: call.layer.name, config }, place, [value])
    const half = initial.length / 2
    return resultsOf(direction, value, initial.slice(at * half, (at + 1) * half), at === 0)
  }) as [Value[], Value[]]
  const both = [forward[0]!, backward[0]!]
  const states = [...forward.slice(1), ...backward.slice(1)]
  const mode = call.config.merge_mode
  if (mode === null) return [...both, ...states]
  const type = ownEntry(MERGES, functionName(mode ?? 'concat'))
  if (type === undefined) throw call.refuse('its merge_mode is unknown.')
  const names = both.map((each) => each.name)
  const merged = call.emit(type, names, type === 'Concat' ? { axis: int(-1) } : {})
  const width = Number(both[0]!.shape.at(-1)) + (type === 'Concat' ? Number(both[1]!.shape.at(-1)) : 0)
  const mask = both[0]!.shape.length === 3 ? value.mask : null
  return [call.result(merged, both[0]!.shape.with(-1, width), { mask }), ...states]
}

export const RECURRENT_LAYERS: Readonly<Record<string, Layer>> = {
  LSTM: recurrent,
  GRU: recurrent,
  SimpleRNN: recurrent,
  RNN: rnn,
  Bidirectional: bidirectional,
}
