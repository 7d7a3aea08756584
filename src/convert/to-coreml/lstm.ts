import { badRequest } from '../../domain/errors.ts'
import { requireConstant, weightsOf } from './network.ts'
import { biasesOf, gateOf, initialState, join, joinOutputs, recurrenceOf, sum } from './recurrence.ts'
import type { Message } from './schema-fields.ts'
import { type Rule, reshaped } from './step.ts'

/** ONNX orders gates as input, output, forget, block; Core ML as input, forget, block, output. */
const LSTM_GATES = { inputGate: 0, forgetGate: 2, blockInput: 3, outputGate: 1 }

/** Uses Core ML's LSTM layer. */
export const lstm: Rule = (step) => {
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
  joinOutputs(step, results)
  join(
    step,
    2,
    results.map(({ cell }) => cell),
    0,
  )
}
