import { errorMessage } from '../domain/error-message.ts'
import { badRequest, ServiceError } from '../domain/errors.ts'
import type { ByteSource } from '../tensors/weight-file.ts'
import {
  notASource,
  type OnnxSource,
  resultName,
  type SourceFormat,
  sourceFormatOf,
  targetFormatOf,
} from './formats.ts'
import { countsOf, elementCount, type OnnxModel, type OnnxValue } from './onnx/model.ts'
import type { Rows } from './quantize/generate-samples.ts'

export interface ConversionRequest {
  /** Used in messages and for the names of the results. */
  readonly fileName: string
  /** Names of targets. */
  readonly formats: readonly string[]
  /** The shape of the model's first input; its own if absent. */
  readonly inputShape?: readonly number[]
  /** For files with only weights: a model of the same architecture, into whose graph the weights are put by name. */
  readonly architecture?: { readonly source: ByteSource; readonly fileName: string }
  /** Also return the ONNX model that the results are made from. */
  readonly reference?: boolean
  /** Called before each step. */
  readonly onStep?: (step: string) => void
}

export interface ConvertedFile {
  readonly format: string
  readonly fileName: string
  readonly bytes: Uint8Array
  readonly notes: readonly string[]
}

/** A model in other formats. If one target fails, the others are still made. */
export interface Conversion {
  /** The name of the source's format. */
  readonly source: string
  readonly parameters: number
  /** The number of nodes of each operator in the graph. */
  readonly operators: Readonly<Record<string, number>>
  readonly inputs: readonly OnnxValue[]
  readonly outputs: readonly OnnxValue[]
  /** The shape assumed for the first input's open sizes; null if none was. */
  readonly inputShape: readonly number[] | null
  /** Notes from reading the source. */
  readonly notes: readonly string[]
  readonly files: readonly ConvertedFile[]
  readonly refused: readonly { readonly format: string; readonly reason: string }[]
  /** The ONNX model that the results were made from, if it was requested; null if it cannot be written. Absent if the file is one. */
  readonly reference?: Uint8Array | null
  /** Rows similar to the training data, by input, for validating the results. */
  readonly typicalRows?: Readonly<Record<string, Rows>>
}

/** The default for images, used only if the model leaves its input open and this shape fits. */
const IMAGE_SHAPE = [1, 3, 224, 224]

const fits = (shape: NonNullable<OnnxValue['shape']>): boolean =>
  shape.length === IMAGE_SHAPE.length &&
  shape.slice(1).some((size) => typeof size !== 'number') &&
  shape.every((size, axis) => typeof size !== 'number' || size === IMAGE_SHAPE[axis])

const shapeFor = (model: OnnxModel, inputShape: readonly number[] | undefined): readonly number[] | undefined => {
  if (inputShape !== undefined) return inputShape
  const shape = model.graph.inputs[0]?.shape
  return shape === null || (shape !== undefined && fits(shape)) ? IMAGE_SHAPE : undefined
}

/** The only place that converts errors caused by damaged files into bad_request. */
const guarded = <Result>(what: string, work: () => Result): Result => {
  try {
    return work()
  } catch (error) {
    if (error instanceof ServiceError) throw error
    const reason = errorMessage(error)
    throw badRequest(`${what} cannot be converted: it is damaged, or has something that is not supported (${reason}).`)
  }
}

const readModel = (
  source: ByteSource,
  { fileName, architecture, inputShape }: ConversionRequest,
): OnnxSource & { readonly from: SourceFormat; readonly isOnnx: boolean } => {
  const options = inputShape === undefined ? {} : { inputShape }
  const from = guarded(fileName, () => sourceFormatOf(source, fileName))
  if (from !== null) {
    const read = guarded(fileName, () => from.toOnnx(source, options))
    const unused = `${architecture?.fileName} was not used: ${fileName} has a graph of its own, which was converted.`
    return {
      from,
      isOnnx: from.name === 'onnx',
      ...read,
      notes: architecture === undefined ? read.notes : [...read.notes, unused],
    }
  }
  if (architecture === undefined) throw guarded(fileName, () => notASource(source, fileName))
  const graph = guarded(architecture.fileName, () => sourceFormatOf(architecture.source, architecture.fileName))
  const withWeights = graph?.withWeights
  if (graph === null || withWeights === undefined) {
    throw badRequest(
      `${architecture.fileName} is not an architecture: the weights of ${fileName} cannot be put into it.`,
    )
  }
  const what = `${architecture.fileName} with the weights of ${fileName}`
  return { from: graph, isOnnx: false, ...guarded(what, () => withWeights(architecture.source, source, options)) }
}

const attempt = (
  format: string,
  model: OnnxModel,
  { fileName, shape, onStep = () => undefined }: ConversionRequest & { readonly shape: readonly number[] | undefined },
): ConvertedFile | { readonly format: string; readonly reason: string } => {
  try {
    const to = targetFormatOf(format)
    onStep(`converting to ${to.title}`)
    const { bytes, notes } = guarded(fileName, () =>
      to.fromOnnx(model, shape === undefined ? {} : { inputShape: shape }),
    )
    return { format, fileName: resultName(fileName, to), bytes, notes }
  } catch (error) {
    return { format, reason: (error as Error).message }
  }
}

/**
 * Converts the model in a file to each format, via ONNX. Executes nothing in the file. Throws bad_request if the source
 * cannot be read; formats that cannot express the model are in `refused`.
 */
export const convertModel = (source: ByteSource, request: ConversionRequest): Conversion => {
  const { fileName, formats, onStep = () => undefined } = request
  onStep(`reading ${fileName}`)
  const { from, isOnnx, model, notes, typicalRows } = readModel(source, request)
  if (model.graph.outputs.length === 0) throw badRequest(`${fileName} has no outputs: there is nothing to convert.`)
  const shape = shapeFor(model, request.inputShape)
  const results = [...new Set(formats)].map((format) => attempt(format, model, { ...request, shape }))
  const asOnnx = () =>
    results.find(({ format }) => format === 'onnx') ??
    attempt('onnx', model, { ...request, shape, onStep: () => undefined })
  const reference = request.reference && !isOnnx ? asOnnx() : undefined
  const { inputs, outputs, initializers } = model.graph
  return {
    source: from.name,
    parameters: [...initializers.values()].reduce((total, { shape }) => total + elementCount(shape), 0),
    operators: countsOf(model.graph.nodes.map(({ type }) => type)),
    inputs,
    outputs,
    inputShape: shape ?? null,
    notes,
    files: results.filter((result) => 'bytes' in result),
    refused: results.filter((result) => 'reason' in result),
    ...(reference && { reference: 'bytes' in reference ? reference.bytes : null }),
    ...(typicalRows && { typicalRows }),
  }
}
