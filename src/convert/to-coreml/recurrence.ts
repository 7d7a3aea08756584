// Shared parts of recurrent layers: gates, biases, states, and directions.
import { badRequest } from '../../domain/errors.ts'
import type { Constant } from '../onnx/constants.ts'
import { requireConstant } from './network.ts'
import { reshaped, type Step } from './step.ts'

export interface Direction {
  readonly index: number
  readonly isReverse: boolean
}

export interface Recurrence {
  readonly steps: number
  readonly batch: number
  readonly inputs: number
  readonly units: number
  readonly directions: readonly Direction[]
}

/** The properties that both layers share; refuses those that neither supports. */
export const recurrenceOf = (step: Step, activations: readonly string[]): Recurrence => {
  const { context } = step
  const requested = context.node.attributes.activations
  const given = requested?.kind === 'strings' ? requested.value.map((name) => name.toLowerCase()) : []
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

/** The rows of one gate for one direction, from ONNX's [directions, gates · units, …]. */
export const gateOf = ({ values, shape }: Constant, direction: number, gate: number, units: number): Float32Array => {
  const width = shape.length === 3 ? shape[2]! : 1
  const from = (direction * shape[1]! + gate * units) * width
  return Float32Array.from({ length: units * width }, (_, at) => Number(values[from + at]))
}

export const sum = (one: Float32Array, other: Float32Array): Float32Array => one.map((value, at) => value + other[at]!)

export const biasesOf = (
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

/** The initial state of a direction as [batch, units]: zeros if none is given. */
export const initialState = (
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

/** Joins the results of the directions: [steps, directions, batch, units] and [directions, batch, units]. */
export const join = (step: Step, at: number, parts: readonly string[], axis: number): void => {
  const [name, shape] = step.outputs[at] ?? ['', []]
  if (name === '') return
  if (parts.length === 1) return void reshaped(step, parts[0]!, shape, name)
  step.net.add('concatND', { axis }, parts, shape, name)
}

/** The first two outputs of every recurrent operator. */
export const joinOutputs = (
  step: Step,
  results: readonly { readonly sequence: string; readonly hidden: string }[],
): void => {
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
