import type { Validation } from '../../convert/conversion-report.ts'
import type { Conversion, ConvertedFile } from '../../convert/convert.ts'
import type { OnnxModel } from '../../convert/onnx/model.ts'
import { readOnnx } from '../../convert/onnx/read-onnx.ts'
import { writeOnnx } from '../../convert/onnx/write-onnx.ts'
import { generateSamples, retyped } from '../../convert/quantize/samples.ts'
import { coremlToOnnx } from '../../convert/to-coreml/coreml-to-onnx.ts'
import { tfliteOutline } from '../../convert/to-tflite/tflite-outline.ts'
import { ServiceError } from '../../domain/errors.ts'
import {
  type GraphFormat,
  type GraphTensor,
  type GraphTensors,
  type RunGraphOptions,
  runGraph,
} from '../../inference/engines/onnx/run-graph.ts'
import { InferenceError } from '../../inference/errors.ts'

/** Of float32 computed in another order: the sums of a layer of some thousand weights differ by so much. */
export const TOLERANCE = 1e-4

const SAMPLES = 3

const differencesOf = (one: GraphTensor, other: GraphTensor | undefined): readonly number[] => {
  if (other === undefined || one.data.length !== other.data.length) return [Number.POSITIVE_INFINITY]
  // The number of a class in place of its name, as a note of the conversion says.
  if (one.type === 'string' && other.type !== 'string') return []
  return Array.from<unknown, number>(one.data as ArrayLike<unknown>, (value, at) => {
    const counterpart = other.data[at]
    if (value === counterpart || (Number.isNaN(Number(value)) && Number.isNaN(Number(counterpart)))) return 0
    const difference = Math.abs(Number(value) - Number(counterpart)) / Math.max(1, Math.abs(Number(value)))
    return Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference
  })
}

/**
 * Outputs of the source with those of the result: by name, the others by place, as a converted model may call its outputs
 * otherwise. Labels as text that the result leaves out are not compared.
 */
const paired = (expected: GraphTensors, found: GraphTensors): [GraphTensor, GraphTensor | undefined][] => {
  const named = Object.entries(expected).filter(([name]) => Object.hasOwn(found, name))
  const others = Object.entries(found).filter(([name]) => !Object.hasOwn(expected, name))
  const unnamed = Object.entries(expected).filter(([name]) => !Object.hasOwn(found, name))
  const isLeftOut = unnamed.length > others.length
  const rest = unnamed.filter(([, { type }]) => !(isLeftOut && type === 'string'))
  return [
    ...named.map(([name, tensor]): [GraphTensor, GraphTensor] => [tensor, found[name]!]),
    ...rest.map(([, tensor], place): [GraphTensor, GraphTensor | undefined] => [tensor, others[place]?.[1]]),
  ]
}

const compare = (expected: readonly GraphTensors[], found: readonly GraphTensors[]) => {
  const differences = expected.flatMap((outputs, sample) =>
    paired(outputs, found[sample] ?? {}).flatMap(([tensor, other]) => differencesOf(tensor, other)),
  )
  const largest = differences.reduce((most, difference) => Math.max(most, difference), 0)
  const mean = differences.reduce((sum, difference) => sum + difference, 0) / Math.max(1, differences.length)
  const state = largest <= TOLERANCE ? ('equal' as const) : ('different' as const)
  return { state, largest, mean, tolerance: TOLERANCE, samples: expected.length }
}

interface Target {
  readonly engine: GraphFormat
  /** Its inputs, and for Core ML what computes it. */
  outline(bytes: Uint8Array): OnnxModel
}

const TARGETS: Readonly<Record<string, Target>> = {
  onnx: { engine: 'onnx', outline: readOnnx },
  tflite: { engine: 'tflite', outline: tfliteOutline },
  coreml: { engine: 'onnx', outline: coremlToOnnx },
}

/** The converted model must run: what its engine refuses of it is a fault of the conversion. */
const runTarget = async (bytes: Uint8Array, samples: readonly GraphTensors[], options: RunGraphOptions) => {
  try {
    return await runGraph(bytes, samples, options)
  } catch (error) {
    if (error instanceof InferenceError && error.code === 'invalid_model') return { fault: error.message }
    throw error
  }
}

/** Samples for the reference, whose open sizes are those that the target has. */
const samplesFor = (reference: OnnxModel, target: OnnxModel, inputShape: readonly number[] | null) => {
  const inputs = reference.graph.inputs.map((input, place) => {
    const shape = target.graph.inputs.find(({ name }) => name === input.name)?.shape ?? input.shape
    const isOpen = shape === null || shape.some((size) => typeof size !== 'number')
    return { ...input, shape: isOpen && place === 0 && inputShape !== null ? inputShape : shape }
  })
  return generateSamples({ ...reference, graph: { ...reference.graph, inputs } }, SAMPLES)
}

/** A model that the result should equal, as onnxruntime runs it. */
export interface ValidationReference {
  readonly bytes: Uint8Array
  /** Whether it is the source, and not what the conversion made of it. */
  readonly isSource: boolean
}

const compareFile = async (
  file: ConvertedFile,
  reference: ValidationReference,
  { inputShape }: Conversion,
  options: RunGraphOptions,
): Promise<Validation> => {
  const { engine, outline } = TARGETS[file.format]!
  const target = outline(file.bytes)
  const samples = samplesFor(readOnnx(reference.bytes), target, inputShape)
  const isItself = file.format === 'onnx' && !reference.isSource
  const expected = isItself ? null : await runGraph(reference.bytes, samples, options)
  const bytes = file.format === 'coreml' ? writeOnnx(target) : file.bytes
  const given = samples.map((sample) => retyped(sample, target))
  const found = await runTarget(bytes, given, { ...options, format: engine })
  if ('notRun' in found) return { state: 'not validated', reason: found.notRun }
  if ('fault' in found) return { state: 'fails', reason: found.fault }
  if (expected === null || 'notRun' in expected) {
    return { state: 'runs', samples: SAMPLES, reason: expected?.notRun ?? 'no engine for the source is installed' }
  }
  const comparison = compare(expected.outputs, found.outputs)
  return {
    ...comparison,
    ...(!reference.isSource && { reference: 'onnx' as const }),
    ...(file.format === 'coreml' && { computed: 'from its layers' as const }),
  }
}

/** Runs the reference and the target on the same generated inputs, where engines for them are at hand. */
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
