// LSTM as Core ML's layer; GRU step by step, because its layer has the reset gate elsewhere than PyTorch and Keras.
import { badRequest } from '../../domain/errors.ts'
import type { Constant } from '../onnx/constants.ts'
import type { Message } from './layer-schema.ts'
import { requireConstant, weightsOf } from './network.ts'
import { type Rule, reshaped, type Step } from './step.ts'

interface Direction {
  readonly index: number
  readonly isReverse: boolean
}

interface Recurrence {
  readonly steps: number
  readonly batch: number
  readonly inputs: number
  readonly units: number
  readonly directions: readonly Direction[]
}

const MAX_STEPS = 256

/** What both have in common, and refuse. */
const recurrenceOf = (step: Step, activations: readonly string[]): Recurrence => {
  const { context } = step
  const asked = context.node.attributes.activations
  const given = asked?.kind === 'strings' ? asked.value.map((name) => name.toLowerCase()) : []
  if (given.some((name, at) => name !== activations[at % activations.length])) {
    throw badRequest(`Its activations are [${given.join(', ')}]; only ${activations.join(', ')} are supported.`)
  }
  if (context.int('layout') !== 0) throw badRequest('layout=1 is not supported; export with layout=0.')
  if (
    context.has(4) &&
    Array.from(context.constant(4)?.values ?? [Number.NaN]).some((length) => length !== step.shape(0)[0])
  ) {
    throw badRequest('Sequences of different lengths are not supported.')
  }
  if (context.node.attributes.clip !== undefined) throw badRequest('The attribute clip is not supported.')
  const [steps, batch, inputs] = step.shape(0) as [number, number, number]
  const direction = context.text('direction', 'forward')
  const directions =
    direction === 'bidirectional'
      ? [
          { index: 0, isReverse: false },
          { index: 1, isReverse: true },
        ]
      : [{ index: 0, isReverse: direction === 'reverse' }]
  return { steps, batch, inputs, units: context.int('hidden_size'), directions }
}

/** The rows of one gate of one direction, in ONNX's [directions, gates · units, …]. */
const gateOf = ({ values, shape }: Constant, direction: number, gate: number, units: number): Float32Array => {
  const width = shape.length === 3 ? shape[2]! : 1
  const from = (direction * shape[1]! + gate * units) * width
  return Float32Array.from({ length: units * width }, (_, at) => Number(values[from + at]))
}

const sum = (one: Float32Array, other: Float32Array): Float32Array => one.map((value, at) => value + other[at]!)

const biasesOf = (
  step: Step,
  gates: number,
  { units }: Recurrence,
  direction: number,
): { w: Float32Array; r: Float32Array }[] =>
  Array.from({ length: gates }, (_, gate) => {
    if (!step.context.has(3)) return { w: new Float32Array(units), r: new Float32Array(units) }
    const bias = requireConstant(step.context.constant(3), 'The bias')
    return { w: gateOf(bias, direction, gate, units), r: gateOf(bias, direction, gates + gate, units) }
  })

/** The state that a direction starts with, as [batch, units]: zeros where none is given. */
const initialState = (
  step: Step,
  at: number,
  { batch, units, directions }: Recurrence,
  { index }: Direction,
): string => {
  if (!step.context.has(at)) return step.net.constant(new Float32Array(batch * units), [batch, units])
  const shape = [1, batch, units]
  const own =
    directions.length === 1
      ? step.value(at)
      : step.net.add('gather', { axis: 0 }, [step.value(at), step.net.constant([index], [1])], shape)
  return reshaped(step, own, [batch, units])
}

/** Joins what the directions gave: [steps, directions, batch, units], and [directions, batch, units]. */
const join = (step: Step, at: number, parts: readonly string[], axis: number): void => {
  const [name, shape] = step.outputs[at] ?? ['', []]
  if (name === '') return
  if (parts.length === 1) return void reshaped(step, parts[0]!, shape, name)
  step.net.add('concatND', { axis }, parts, shape, name)
}

/** ONNX has the gates in the order input, output, forget, block; Core ML input, forget, block, output. */
const LSTM_GATES = { inputGate: 0, forgetGate: 2, blockInput: 3, outputGate: 1 }

const lstm: Rule = (step) => {
  const { context, net } = step
  const recurrence = recurrenceOf(step, ['sigmoid', 'tanh', 'tanh'])
  const { steps, batch, inputs, units, directions } = recurrence
  if (context.has(7)) throw badRequest('Peepholes are not supported.')
  if (context.int('input_forget') !== 0) throw badRequest('Coupled gates are not supported.')
  const [w, r] = [1, 2].map((at) => requireConstant(context.constant(at), 'The weights of an LSTM'))
  const x = reshaped(step, step.value(0), [steps, batch, inputs, 1, 1])
  const results = directions.map((direction) => {
    const biases = biasesOf(step, 4, recurrence, direction.index)
    const weightParams: Message = {}
    for (const [name, gate] of Object.entries(LSTM_GATES)) {
      weightParams[`${name}WeightMatrix`] = weightsOf(gateOf(w!, direction.index, gate, units))
      weightParams[`${name}RecursionMatrix`] = weightsOf(gateOf(r!, direction.index, gate, units))
      weightParams[`${name}BiasVector`] = weightsOf(sum(biases[gate]!.w, biases[gate]!.r))
    }
    const params = {
      inputVectorSize: inputs,
      outputVectorSize: units,
      activations: [{ sigmoid: {} }, { tanh: {} }, { tanh: {} }],
      params: { sequenceOutput: true, hasBiasVectors: true },
      weightParams,
      reverseInput: direction.isReverse,
    }
    const state = [5, 6].map((at) =>
      reshaped(step, initialState(step, at, recurrence, direction), [1, batch, units, 1, 1]),
    )
    const names = ['sequence', 'hidden', 'cell'].map((what) => net.name(`${step.output}_${what}`))
    const last = [1, batch, units, 1, 1]
    net.addMany(
      'uniDirectionalLSTM',
      params,
      [x, ...state],
      [
        [names[0]!, [steps, batch, units, 1, 1]],
        [names[1]!, last],
        [names[2]!, last],
      ],
    )
    return {
      sequence: reshaped(step, names[0]!, [steps, 1, batch, units]),
      hidden: reshaped(step, names[1]!, [1, batch, units]),
      cell: reshaped(step, names[2]!, [1, batch, units]),
    }
  })
  join(
    step,
    0,
    results.map(({ sequence }) => sequence),
    1,
  )
  join(
    step,
    1,
    results.map(({ hidden }) => hidden),
    0,
  )
  join(
    step,
    2,
    results.map(({ cell }) => cell),
    0,
  )
}

const product = (step: Step, x: string, matrix: Float32Array, bias: Float32Array, shape: readonly number[]): string =>
  step.net.add(
    'innerProduct',
    {
      inputChannels: matrix.length / bias.length,
      outputChannels: bias.length,
      hasBias: true,
      weights: weightsOf(matrix),
      bias: weightsOf(bias),
    },
    [x],
    shape,
  )

/** z, r: gates; n: the candidate; h' = (1 − z) · n + z · h. Source: the ONNX operator GRU. */
const gru: Rule = (step) => {
  const { context, net } = step
  const recurrence = recurrenceOf(step, ['sigmoid', 'tanh'])
  const { steps, batch, units, directions } = recurrence
  if (steps > MAX_STEPS)
    throw badRequest(`A GRU over ${steps} steps is too long: it is written step by step, up to ${MAX_STEPS}.`)
  const isAfter = context.int('linear_before_reset') !== 0
  const [w, r] = [1, 2].map((at) => requireConstant(context.constant(at), 'The weights of a GRU'))
  const state = [batch, units]
  const add = (kind: string, inputs: readonly string[], params: Message = {}): string =>
    net.add(kind, params, inputs, state)
  const results = directions.map((direction) => {
    const biases = biasesOf(step, 3, recurrence, direction.index)
    const gates = biases.map((bias, gate) => {
      const own = gate < 2 || !isAfter ? sum(bias.w, bias.r) : bias.w
      return {
        input: product(step, step.value(0), gateOf(w!, direction.index, gate, units), own, [steps, batch, units]),
        // A constant of its own, because every step reads it.
        matrix: net.constant(gateOf(r!, direction.index, gate, units), [units, units]),
        bias: gate === 2 && isAfter ? net.constant(bias.r, [units]) : null,
      }
    })
    let hidden = initialState(step, 5, recurrence, direction)
    const sequence: string[] = []
    const order = Array.from({ length: steps }, (_, at) => (direction.isReverse ? steps - 1 - at : at))
    const at = (value: string, index: number): string => {
      const masks = [false, false, false]
      const range = {
        beginIds: [index, 0, 0],
        beginMasks: masks,
        endIds: [index + 1, batch, units],
        endMasks: masks,
        strides: [1, 1, 1],
        squeezeMasks: masks,
      }
      return reshaped(step, net.add('sliceStatic', range, [value], [1, batch, units]), state)
    }
    for (const index of order) {
      const recursion = (gate: number, value: string) => {
        const { matrix, bias } = gates[gate]!
        const recalled = add('batchedMatmul', [value, matrix], { transposeA: false, transposeB: true })
        return bias === null ? recalled : add('addBroadcastable', [recalled, bias])
      }
      const [z, reset] = [0, 1].map((gate) =>
        add('activation', [add('addBroadcastable', [at(gates[gate]!.input, index), recursion(gate, hidden)])], {
          sigmoid: {},
        }),
      )
      const recalled = isAfter
        ? add('multiplyBroadcastable', [reset!, recursion(2, hidden)])
        : recursion(2, add('multiplyBroadcastable', [reset!, hidden]))
      const candidate = add('activation', [add('addBroadcastable', [at(gates[2]!.input, index), recalled])], {
        tanh: {},
      })
      // n + z · (h − n)
      const change = add('multiplyBroadcastable', [z!, add('subtractBroadcastable', [hidden, candidate])])
      hidden = add('addBroadcastable', [candidate, change])
      sequence[index] = reshaped(step, hidden, [1, 1, batch, units])
    }
    const all = steps === 1 ? sequence[0]! : net.add('concatND', { axis: 0 }, sequence, [steps, 1, batch, units])
    return { sequence: all, hidden: reshaped(step, hidden, [1, batch, units]) }
  })
  join(
    step,
    0,
    results.map(({ sequence }) => sequence),
    1,
  )
  join(
    step,
    1,
    results.map(({ hidden }) => hidden),
    0,
  )
}

export const RECURRENT: Readonly<Record<string, Rule>> = { LSTM: lstm, GRU: gru }
