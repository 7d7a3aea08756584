import type { Validation } from '../../convert/conversion-report.ts'
import type { Conversion, ConvertedFile } from '../../convert/convert.ts'
import type { OnnxModel } from '../../convert/onnx/model.ts'
import { readOnnx } from '../../convert/onnx/read-onnx.ts'
import { writeOnnx } from '../../convert/onnx/write-onnx.ts'
import { generateSamples } from '../../convert/quantize/generate-samples.ts'
import { numbersOf, retyped, type Sample } from '../../convert/quantize/samples.ts'
import { ServiceError } from '../../domain/errors.ts'
import {
  type GraphTensor,
  type GraphTensors,
  type RunGraphOptions,
  runGraph,
} from '../../inference/engines/onnx/run-graph.ts'
import { InferenceError } from '../../inference/errors.ts'
import { MEASURED_FORMATS } from './measured-formats.ts'

/** The effect of summing float32 in a different order: layers with thousands of weights differ by this much. */
const TOLERANCE = 1e-4

/** Of half precision, which has 11 bits, computed in float32. */
const HALF_TOLERANCE = 1e-2

const toleranceOf = ({ graph }: OnnxModel): number =>
  [...graph.inputs, ...graph.outputs, ...graph.initializers.values()].some(({ type }) => type === 'f16')
    ? HALF_TOLERANCE
    : TOLERANCE

const SAMPLES = 3

/** The number of one-row samples if the source describes its training data. */
const TYPICAL_SAMPLES = 32

/** Sums of float32 numbers differ by up to this share of the largest column, in all columns computed from the same inputs. */
const SHARED = 0.01

const medianOf = (values: readonly number[]): number =>
  Float64Array.from(values).sort()[Math.floor(values.length / 2)] ?? 0

/**
 * The magnitude of each column of an output, by its last axis: the median over all samples, but at least a share of the largest
 * column's. Unlike a maximum, it does not rise with one extreme value. Integers, such as labels, have none.
 */
const magnitudesOf = (tensors: readonly GraphTensor[]): Float64Array => {
  const width = tensors[0]?.dims.at(-1) || 1
  const columns = Array.from({ length: width }, (): number[] => [])
  for (const tensor of tensors) {
    if (!tensor.type.includes('float')) continue
    for (const [at, value] of numbersOf(tensor).entries())
      if (Number.isFinite(value)) columns[at % width]!.push(Math.abs(value))
  }
  const medians = columns.map(medianOf)
  const least = medians.reduce((most, median) => Math.max(most, median), 0) * SHARED
  return Float64Array.from(medians, (median) => Math.max(median, least))
}

/** Absolute differences for values up to 1; otherwise relative to the value or to the magnitude of its column, whichever is larger. */
const differencesOf = (
  one: GraphTensor,
  other: GraphTensor | undefined,
  magnitudes: Float64Array,
): readonly number[] => {
  if (other === undefined || one.data.length !== other.data.length) return [Number.POSITIVE_INFINITY]
  // The converted model returns class indices instead of names; a note of the conversion says so.
  if (one.type === 'string' && other.type !== 'string') return []
  const [values, counterparts] = [one, other].map((tensor) =>
    tensor.type === 'string' ? tensor.data : numbersOf(tensor),
  )
  return Array.from<unknown, number>(values as ArrayLike<unknown>, (value, at) => {
    const counterpart = counterparts![at]
    if (value === counterpart || (Number.isNaN(Number(value)) && Number.isNaN(Number(counterpart)))) return 0
    const scale = Math.max(1, Math.abs(Number(value)), magnitudes[at % magnitudes.length]!)
    const difference = Math.abs(Number(value) - Number(counterpart)) / scale
    return Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference
  })
}

/**
 * Pairs the source's outputs with the result's: by name, the rest by position, because a converted model may rename outputs.
 * Skips text labels that the result leaves out.
 */
const paired = (expected: GraphTensors, found: GraphTensors): [string, GraphTensor, GraphTensor | undefined][] => {
  const named = Object.entries(expected).filter(([name]) => Object.hasOwn(found, name))
  const others = Object.entries(found).filter(([name]) => !Object.hasOwn(expected, name))
  const unnamed = Object.entries(expected).filter(([name]) => !Object.hasOwn(found, name))
  const isLeftOut = unnamed.length > others.length
  const rest = unnamed.filter(([, { type }]) => !(isLeftOut && type === 'string'))
  return [
    ...named.map(([name, tensor]): [string, GraphTensor, GraphTensor] => [name, tensor, found[name]!]),
    ...rest.map(([name, tensor], place): [string, GraphTensor, GraphTensor | undefined] => [
      name,
      tensor,
      others[place]?.[1],
    ]),
  ]
}

/** The largest and the mean difference over all samples, and whether they are within the tolerance. */
export const compare = (
  expected: readonly GraphTensors[],
  found: readonly GraphTensors[],
  tolerance: number,
): Extract<Validation, { state: 'equal' | 'different' }> => {
  const magnitudes = new Map(
    Object.keys(expected[0] ?? {}).map((name) => [
      name,
      magnitudesOf(expected.flatMap((outputs) => outputs[name] ?? [])),
    ]),
  )
  const differences = expected.flatMap((outputs, sample) =>
    paired(outputs, found[sample] ?? {}).flatMap(([name, tensor, other]) =>
      differencesOf(tensor, other, magnitudes.get(name)!),
    ),
  )
  const largest = differences.reduce((most, difference) => Math.max(most, difference), 0)
  const mean = differences.reduce((sum, difference) => sum + difference, 0) / Math.max(1, differences.length)
  return { state: largest <= tolerance ? 'equal' : 'different', largest, mean, tolerance, samples: expected.length }
}

/** Runs the model; `fault` is why its engine rejects it. */
const runModel = async (bytes: Uint8Array, samples: readonly GraphTensors[], options: RunGraphOptions) => {
  try {
    return await runGraph(bytes, samples, options)
  } catch (error) {
    if (error instanceof InferenceError && error.code === 'invalid_model') return { fault: error.message }
    throw error
  }
}

/** Generates samples for the reference, with its dynamic sizes set to the target's. */
const samplesFor = (
  reference: OnnxModel,
  target: OnnxModel,
  { inputShape, typicalRows }: Conversion,
): readonly Sample[] => {
  const inputs = reference.graph.inputs.map((input, place) => {
    const shape = target.graph.inputs.find(({ name }) => name === input.name)?.shape ?? input.shape
    const isOpen = shape === null || shape.some((size) => typeof size !== 'number')
    return { ...input, shape: isOpen && place === 0 && inputShape !== null ? inputShape : shape }
  })
  const hasTrees = reference.graph.nodes.some(({ type }) => type.startsWith('TreeEnsemble'))
  const count = typicalRows === undefined && !hasTrees ? SAMPLES : TYPICAL_SAMPLES
  return generateSamples({ ...reference, graph: { ...reference.graph, inputs } }, count, typicalRows)
}

/** The ONNX model that the result should match. */
export interface ValidationReference {
  readonly bytes: Uint8Array
  /** True if it is the source itself, not a product of the conversion. */
  readonly isSource: boolean
}

const compareFile = async (
  file: ConvertedFile,
  reference: ValidationReference,
  conversion: Conversion,
  options: RunGraphOptions,
): Promise<Validation> => {
  const { engine, outline } = MEASURED_FORMATS[file.format as keyof typeof MEASURED_FORMATS]
  const target = outline(file.bytes)
  const model = readOnnx(reference.bytes)
  const samples = samplesFor(model, target, conversion)
  const isItself = file.format === 'onnx' && !reference.isSource
  const expected = isItself ? null : await runModel(reference.bytes, samples, options)
  const bytes = file.format === 'coreml' ? writeOnnx(target) : file.bytes
  const isFaulty = expected !== null && 'fault' in expected
  // If the reference cannot be run, perhaps because the samples do not suit it, the result must at least load.
  const given = isFaulty ? [] : samples.map((sample) => retyped(sample, target))
  const found = await runModel(bytes, given, { ...options, format: engine })
  if ('notRun' in found) return { state: 'not validated', reason: found.notRun }
  if ('fault' in found) return { state: 'fails', reason: found.fault }
  if (isFaulty) return { state: 'not validated', reason: expected.fault }
  if (expected === null || 'notRun' in expected) {
    return {
      state: 'runs',
      samples: samples.length,
      reason: expected?.notRun ?? 'only ONNX source models can be run',
    }
  }
  const comparison = compare(expected.outputs, found.outputs, toleranceOf(model))
  return {
    ...comparison,
    ...(!reference.isSource && { reference: 'onnx' as const }),
    ...(file.format === 'coreml' && { computed: 'from its layers' as const }),
  }
}

/** Runs the reference and the target on the same generated inputs, if their engines are installed. */
export const validate = async (
  file: ConvertedFile,
  reference: ValidationReference | null,
  conversion: Conversion,
  options: RunGraphOptions,
): Promise<Validation> => {
  if (reference === null) return { state: 'not validated', reason: 'there is no ONNX model to compare it with' }
  try {
    return await compareFile(file, reference, conversion, options)
  } catch (error) {
    if (!(error instanceof InferenceError || error instanceof ServiceError)) throw error
    return { state: 'not validated', reason: error.message }
  }
}
