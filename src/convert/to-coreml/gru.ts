import { badRequest } from '../../domain/errors.ts'
import { requireConstant, weightsOf } from './network.ts'
import { biasesOf, gateOf, initialState, joinOutputs, recurrenceOf, sum } from './recurrence.ts'
import type { Message } from './schema-fields.ts'
import { type Rule, reshaped, type Step } from './step.ts'

const MAX_STEPS = 256

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

/**
 * Unrolled step by step, because Core ML's layer applies the reset gate differently than PyTorch and Keras.
 * z, r: gates; n: the candidate; h' = (1 − z) · n + z · h. Source: the ONNX operator GRU.
 */
export const gru: Rule = (step) => {
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
        // A separate constant, because every step reads it.
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
  joinOutputs(step, results)
}
