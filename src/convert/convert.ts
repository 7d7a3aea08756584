import { badRequest, ServiceError } from '../domain/errors.ts'
import type { ByteSource } from '../tensors/weight-file.ts'
import { notASource, resultName, sourceFormatOf, targetFormatOf } from './formats.ts'
import { elementCount, type OnnxModel, type OnnxValue } from './onnx/model.ts'

export interface ConversionRequest {
  /** Tells files with the same content apart in messages, and names the results. */
  readonly fileName: string
  /** Names of targets. */
  readonly formats: readonly string[]
  /** Of the model's first input; its own where absent. */
  readonly inputShape?: readonly number[]
  /** Where the file has weights alone: a model of the same architecture, into whose graph they are put by name. */
  readonly architecture?: { readonly source: ByteSource; readonly fileName: string }
  /** Called before each step. */
  readonly onStep?: (step: string) => void
}

export interface ConvertedFile {
  readonly format: string
  readonly fileName: string
  readonly bytes: Uint8Array
  readonly notes: readonly string[]
}

/** A model in other formats. What one target cannot express does not keep it from others. */
export interface Conversion {
  /** The name of the source's format. */
  readonly source: string
  readonly parameters: number
  /** How many nodes of each operator the graph has. */
  readonly operators: Readonly<Record<string, number>>
  readonly inputs: readonly OnnxValue[]
  readonly outputs: readonly OnnxValue[]
  /** What the first input's open sizes were taken for; null where nothing was to be taken for anything. */
  readonly inputShape: readonly number[] | null
  /** What was learnt when the source was read. */
  readonly notes: readonly string[]
  readonly files: readonly ConvertedFile[]
  readonly refused: readonly { readonly format: string; readonly reason: string }[]
}

/** The interface's default, for images: taken only where the model leaves its input open and it fits. */
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

const countOperators = (model: OnnxModel): Record<string, number> => {
  const counts = new Map<string, number>()
  for (const { type } of model.graph.nodes) counts.set(type, (counts.get(type) ?? 0) + 1)
  return Object.fromEntries([...counts].sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1)))
}

/** The one boundary: what a damaged file makes of a converter is the file's fault, and said as one. */
const guarded = <Result>(what: string, work: () => Result): Result => {
  try {
    return work()
  } catch (error) {
    if (error instanceof ServiceError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw badRequest(`${what} cannot be converted: it is damaged, or has something that is not supported (${reason}).`)
  }
}

const readModel = (source: ByteSource, { fileName, architecture, inputShape }: ConversionRequest) => {
  const options = inputShape === undefined ? {} : { inputShape }
  const from = guarded(fileName, () => sourceFormatOf(source, fileName))
  if (from !== null) {
    const { model, notes } = guarded(fileName, () => from.toOnnx(source, options))
    const unused = `${architecture?.fileName} was not used: ${fileName} has a graph of its own, which was converted.`
    return { from, model, notes: architecture === undefined ? notes : [...notes, unused] }
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
  return { from: graph, ...guarded(what, () => withWeights(architecture.source, source, options)) }
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
 * Converts the model in a file to each of the formats, through ONNX. Nothing in the file is executed. Throws bad_request
 * where the source cannot be read; what a target cannot express is in `refused`.
 */
export const convertModel = (source: ByteSource, request: ConversionRequest): Conversion => {
  const { fileName, formats, onStep = () => undefined } = request
  onStep(`reading ${fileName}`)
  const { from, model, notes } = readModel(source, request)
  if (model.graph.outputs.length === 0) throw badRequest(`${fileName} has no outputs: there is nothing to convert.`)
  const shape = shapeFor(model, request.inputShape)
  const results = [...new Set(formats)].map((format) => attempt(format, model, { ...request, shape }))
  const { inputs, outputs, initializers } = model.graph
  return {
    source: from.name,
    parameters: [...initializers.values()].reduce((total, { shape }) => total + elementCount(shape), 0),
    operators: countOperators(model),
    inputs,
    outputs,
    inputShape: shape ?? null,
    notes,
    files: results.filter((result) => 'bytes' in result),
    refused: results.filter((result) => 'reason' in result),
  }
}
