import { badRequest } from '../../domain/errors.ts'
import { countsOf } from '../onnx/model.ts'
import { OPERATOR_NAMES } from '../to-tflite/operator-names.ts'
import { readTflite } from '../to-tflite/tflite-file.ts'
import { type ModelProfile, peakBytes } from './model-profile.ts'

/** Bytes per element by TensorType (schema.fbs): f32, f16, i32, u8, i64, string, bool, i16, c64, i8, f64, c128, u64, … */
const BYTES: readonly number[] = [4, 2, 4, 1, 8, 0, 1, 2, 8, 1, 8, 16, 8, 0, 0, 4, 2, 0.5, 2, 0.25]

const CUSTOM = 32

/** Throws bad_request for a damaged file. */
export const tfliteProfile = (bytes: Uint8Array): ModelProfile => {
  const model = readTflite(bytes)
  const codes = (model.operatorCodes ?? []).map(({ deprecatedBuiltinCode = 0, builtinCode = 0, customCode }) => {
    const number = Math.max(deprecatedBuiltinCode, builtinCode)
    return number === CUSTOM ? `custom ${customCode}` : (OPERATOR_NAMES[number] ?? `operator ${number}`)
  })
  const buffers = (model.buffers ?? []).map(({ data }) => data?.length ?? 0)
  const graph = model.subgraphs?.[0]
  if (graph === undefined) throw badRequest('The TensorFlow Lite model is damaged: it has no graph.')
  const tensors = (graph.tensors ?? []).map(({ shape = [], type = 0, buffer = 0 }) => {
    const elements = shape.reduce((product, size) => product * Math.max(1, size), 1)
    return { shape, elements, bytes: elements * (BYTES[type] ?? 0), isWeight: (buffers[buffer] ?? 0) > 0 }
  })
  const steps = (graph.operators ?? []).map(({ opcodeIndex = 0, inputs = [], outputs = [] }) => ({
    name: codes[opcodeIndex] ?? 'an operator that is not listed',
    inputs,
    outputs,
  }))
  const weights = tensors.filter(({ isWeight }) => isWeight)
  const operators = countsOf(steps.map(({ name }) => name))
  const unsupportedOperators = Object.keys(operators).filter((name) => /^(custom|operator) /.test(name))
  return {
    title: 'a TensorFlow Lite model',
    parameters: weights.reduce((sum, { elements }) => sum + elements, 0),
    weightBytes: buffers.reduce((sum, size) => sum + size, 0),
    operators,
    activationBytes: peakBytes(
      { inputs: graph.inputs ?? [], outputs: graph.outputs ?? [] },
      steps,
      (index) => tensors[index]?.bytes ?? 0,
    ),
    multiplications: steps.reduce((sum, { name, inputs, outputs }) => {
      const [weight, result] = [tensors[inputs[1] ?? -1], tensors[outputs[0] ?? -1]]
      if (weight === undefined || result === undefined) return sum
      if (name === 'DEPTHWISE_CONV_2D')
        return sum + result.elements * (weight.elements / Math.max(1, weight.shape.at(-1) ?? 1))
      const taken = weight.elements / Math.max(1, weight.shape[0] ?? 1)
      return name === 'CONV_2D' || name === 'FULLY_CONNECTED' ? sum + result.elements * taken : sum
    }, 0),
    languageModel: null,
    runtimes: [
      {
        runtime: 'tflite',
        isSupported: unsupportedOperators.length === 0,
        unsupportedOperators,
        note: unsupportedOperators.length === 0 ? null : 'Custom operators need a runtime that was built with them.',
      },
    ],
    notes: [],
  }
}
