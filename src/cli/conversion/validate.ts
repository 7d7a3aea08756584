import type { Validation } from '../../convert/conversion-report.ts'
import type { Conversion, ConvertedFile } from '../../convert/convert.ts'
import type { OnnxModel } from '../../convert/onnx/model.ts'
import { readOnnx } from '../../convert/onnx/read-onnx.ts'
import { generateSamples } from '../../convert/quantize/samples.ts'
import { ServiceError } from '../../domain/errors.ts'
import { type GraphTensor, type GraphTensors, runGraph } from '../../inference/engines/onnx/run-graph.ts'
import { InferenceError } from '../../inference/errors.ts'

/** Of float32 computed in another order: the sums of a layer of some thousand weights differ by so much. */
export const TOLERANCE = 1e-4

const SAMPLES = 3

export interface ValidationOptions {
  /** The source's file, as onnxruntime can run it; null: no engine at hand runs it. */
  readonly sourcePath: string | null
  readonly engines: string
  readonly signal: AbortSignal
}

const differencesOf = (one: GraphTensor, other: GraphTensor | undefined): number[] => {
  if (other === undefined || one.data.length !== other.data.length) return [Number.POSITIVE_INFINITY]
  return Array.from<unknown, number>(one.data as ArrayLike<unknown>, (value, at) => {
    const counterpart = other.data[at]
    if (value === counterpart || (Number.isNaN(Number(value)) && Number.isNaN(Number(counterpart)))) return 0
    const difference = Math.abs(Number(value) - Number(counterpart)) / Math.max(1, Math.abs(Number(value)))
    return Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference
  })
}

/** By place where the names differ: a converted model may call its outputs otherwise. */
const compare = (expected: readonly GraphTensors[], found: readonly GraphTensors[]): Validation => {
  const differences = expected.flatMap((outputs, sample) =>
    Object.entries(outputs).flatMap(([name, tensor], place) => {
      const others = found[sample] ?? {}
      return differencesOf(tensor, others[name] ?? Object.values(others)[place])
    }),
  )
  const largest = differences.reduce((most, difference) => Math.max(most, difference), 0)
  const mean = differences.reduce((sum, difference) => sum + difference, 0) / Math.max(1, differences.length)
  const state = largest <= TOLERANCE ? 'equal' : 'different'
  return { state, largest, mean, tolerance: TOLERANCE, samples: expected.length }
}

const NO_ENGINE: Readonly<Record<string, string>> = {
  tflite: 'no engine for TensorFlow Lite is at hand',
  coreml: 'no engine for Core ML is at hand',
}

/** The converted model must run: what onnxruntime refuses of it is a fault of the conversion. */
const run = async (file: ConvertedFile, samples: readonly GraphTensors[], options: ValidationOptions) => {
  try {
    return await runGraph(file.bytes, samples, options)
  } catch (error) {
    if (error instanceof InferenceError && error.code === 'invalid_model') return { fault: error.message }
    throw error
  }
}

/** The first input of open size has the shape that was converted for. */
const withShape = (model: OnnxModel, inputShape: readonly number[] | null): OnnxModel => {
  if (inputShape === null) return model
  const [first, ...others] = model.graph.inputs
  const inputs = first === undefined ? [] : [{ ...first, shape: inputShape }, ...others]
  return { ...model, graph: { ...model.graph, inputs } }
}

const validateOnnx = async (
  file: ConvertedFile,
  { inputShape }: Conversion,
  options: ValidationOptions,
): Promise<Validation> => {
  const samples = generateSamples(withShape(readOnnx(file.bytes), inputShape), SAMPLES)
  const expected = options.sourcePath === null ? null : await runGraph(options.sourcePath, samples, options)
  const found = await run(file, samples, options)
  if ('notRun' in found) return { state: 'not validated', reason: found.notRun }
  if ('fault' in found) return { state: 'fails', reason: found.fault }
  return expected === null || 'notRun' in expected
    ? { state: 'runs', samples: SAMPLES, reason: 'no engine for the source is at hand' }
    : compare(expected.outputs, found.outputs)
}

/** Runs source and target on the same generated inputs where engines for them are at hand. */
export const validate = async (
  file: ConvertedFile,
  conversion: Conversion,
  options: ValidationOptions,
): Promise<Validation> => {
  if (file.format !== 'onnx')
    return { state: 'not validated', reason: NO_ENGINE[file.format] ?? 'no engine is at hand' }
  try {
    return await validateOnnx(file, conversion, options)
  } catch (error) {
    if (!(error instanceof InferenceError || error instanceof ServiceError)) throw error
    return { state: 'not validated', reason: error.message }
  }
}
