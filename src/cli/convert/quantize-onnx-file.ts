import { readFile, stat, writeFile } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'
import type { OnnxModel } from '../../convert/onnx/model.ts'
import { readOnnx } from '../../convert/onnx/read-onnx.ts'
import { writeOnnx } from '../../convert/onnx/write-onnx.ts'
import type { ValueRange } from '../../convert/quantize/integer-graph.ts'
import { classifierOutputs, compareOutputs, type Quality, qualityOf } from '../../convert/quantize/quality.ts'
import {
  calibrationModel,
  ONNX_METHODS,
  type OnnxMethod,
  quantizeOnnx,
  rangesNeeded,
} from '../../convert/quantize/quantize-onnx.ts'
import {
  generateSamples,
  type NumberArray,
  type Sample,
  samplesFromArrays,
  samplesFromLines,
} from '../../convert/quantize/samples.ts'
import { ServiceError } from '../../domain/errors.ts'
import { type GraphRun, runGraph } from '../../inference/engines/onnx/run-graph.ts'
import { enginesFolder, installLine, ONNXRUNTIME } from '../../inference/engines/parts/part.ts'
import { InferenceError } from '../../inference/errors.ts'
import { readTensorFloats } from '../../tensors/elements.ts'
import { readWeights } from '../../tensors/read-weights.ts'
import { bytesSource } from '../../tensors/sources.ts'
import { Failure, wrongUsage } from '../failure.ts'
import type { Session } from '../session.ts'
import type { FileRequest, Measured, QuantizedFile } from './quantized-file.ts'

/** What `auto` accepts where no threshold is given. */
const AUTO_THRESHOLD = 0.99
const GENERATED = 32
const MAX_SAMPLES = 256
const MAX_BYTES = 2 ** 31 - 1

/** A model on disk whose outputs are compared with others. */
interface Reference {
  readonly model: OnnxModel
  readonly samples: readonly Sample[]
  readonly run: GraphRun
  readonly classifiers: ReadonlySet<string>
}

const medianOf = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

/** Two rounds, and the second is timed: the first one allocates. */
const execute = async (path: string, samples: readonly Sample[], { io }: Session): Promise<GraphRun | null> => {
  const doubled = [...samples, ...samples]
  const run = await runGraph(path, doubled, { engines: enginesFolder(io.env), ...(io.signal && { signal: io.signal }) })
  if ('notRun' in run) return null
  return { outputs: run.outputs.slice(samples.length), milliseconds: run.milliseconds.slice(samples.length) }
}

const readSamples = async (model: OnnxModel, file: string, { io }: Session): Promise<readonly Sample[]> => {
  const path = resolve(io.cwd, file)
  const bytes = await readFile(path)
  if (/^\.(jsonl|ndjson|json)$/i.test(extname(path))) {
    return samplesFromLines(model, bytes.toString('utf8'), MAX_SAMPLES)
  }
  if (!/^\.np[zy]$/i.test(extname(path))) throw wrongUsage(`--data ${file}: expected a .npz, .npy or .jsonl file.`)
  const source = bytesSource(bytes)
  const arrays = new Map<string, NumberArray>()
  for (const tensor of readWeights(source).tensors) {
    arrays.set(tensor.name, { shape: tensor.shape, values: readTensorFloats(source, tensor) })
  }
  return samplesFromArrays(model, arrays, MAX_SAMPLES)
}

const noEngine = (): Failure =>
  new Failure('onnxruntime is not installed, and the quality is measured with it: nothing was written.', {
    advice: `Install it: ${installLine(ONNXRUNTIME)}\nWithout it, name a method and leave out --quality-threshold.`,
  })

/** What to compare with; null where nothing has to be measured and nothing can be. */
const referenceOf = async (model: OnnxModel, request: FileRequest, session: Session): Promise<Reference | null> => {
  const { method, qualityThreshold, data, source } = request
  const isNeeded = method === 'auto' || qualityThreshold !== undefined || data !== undefined
  try {
    const samples = data === undefined ? generateSamples(model, GENERATED) : await readSamples(model, data, session)
    const run = await execute(source, samples, session)
    if (run !== null) return { model, samples, run, classifiers: classifierOutputs(model) }
    if (isNeeded) throw noEngine()
  } catch (error) {
    if (isNeeded || !(error instanceof InferenceError || error instanceof ServiceError)) throw error
    session.out.note(`The quality was not measured: ${error.message}`)
    return null
  }
  session.out.note(`The quality was not measured: onnxruntime is not installed (${installLine(ONNXRUNTIME)}).`)
  return null
}

/** Ranges of the values that int8 computes with; none where there is no engine, or it cannot give them. */
const calibrate = async (
  reference: Reference | null,
  folder: string,
  session: Session,
): Promise<ReadonlyMap<string, ValueRange>> => {
  const ranges = new Map<string, ValueRange>()
  const names = reference === null ? [] : rangesNeeded(reference.model)
  if (reference === null || names.length === 0) return ranges
  const path = join(folder, 'calibration.onnx')
  await writeFile(path, writeOnnx(calibrationModel(reference.model, names)))
  const run = await runGraph(path, reference.samples, {
    engines: enginesFolder(session.io.env),
    ...(session.io.signal && { signal: session.io.signal }),
  })
  if ('notRun' in run) return ranges
  for (const [index, name] of names.entries()) {
    const of = (which: string) =>
      run.outputs.map((outputs) => Number(outputs[`calibration_${index}_${which}`]?.data[0]))
    const range = { min: Math.min(...of('Min')), max: Math.max(...of('Max')) }
    if (Number.isFinite(range.min) && Number.isFinite(range.max)) ranges.set(name, range)
  }
  return ranges
}

type Candidate = Measured & { readonly path?: string; readonly notes: readonly string[] }

const measure = async (
  path: string,
  reference: Reference,
  session: Session,
): Promise<Quality & { quality: number; milliseconds: number }> => {
  const run = await execute(path, reference.samples, session)
  if (run === null) throw noEngine()
  const quality = compareOutputs(reference.run.outputs, run.outputs, reference.classifiers)
  return { ...quality, quality: qualityOf(quality), milliseconds: medianOf(run.milliseconds) }
}

/** Makes the model by one method in the temporary folder, and measures it where there is something to compare with. */
const makeCandidate = async (
  model: OnnxModel,
  method: OnnxMethod,
  reference: Reference | null,
  folder: string,
  session: Session,
): Promise<Candidate> => {
  session.out.note(`quantizing: ${method}`)
  try {
    const ranges = method === 'int8' ? await calibrate(reference, folder, session) : new Map()
    const quantized = quantizeOnnx(model, method, { ranges })
    const bytes = writeOnnx(quantized.model)
    const path = join(folder, `${method}.onnx`)
    await writeFile(path, bytes)
    const notes = [...quantized.notes]
    if (method === 'int8' && ranges.size === 0)
      notes.push('int8 has 8-bit weights alone: ranges of values are measured with onnxruntime.')
    const made = { method, bytes: bytes.length, path, notes }
    return reference === null ? made : { ...made, ...(await measure(path, reference, session)) }
  } catch (error) {
    if (!(error instanceof ServiceError || error instanceof InferenceError)) throw error
    return { method, reason: error.message, notes: [] }
  }
}

const originalOf = (bytes: number, reference: Reference | null): Measured => ({
  method: 'original',
  bytes,
  ...(reference !== null && {
    quality: 1,
    cosine: 1,
    agreement: reference.classifiers.size > 0 ? 1 : null,
    milliseconds: medianOf(reference.run.milliseconds),
  }),
})

/**
 * Quantizes an ONNX file into the temporary folder of the request: by its method or, for `auto`, by each, of which the
 * smallest that meets the threshold is taken. @throws Failure where none does, or there is no engine to measure with
 */
export const quantizeOnnxFile = async (request: FileRequest, session: Session): Promise<QuantizedFile> => {
  const { source, method, folder, data } = request
  const sourceBytes = (await stat(source)).size
  if (sourceBytes > MAX_BYTES) throw new Failure(`${source} is larger than 2 GB, which one ONNX file cannot be.`)
  const model = readOnnx(await readFile(source))
  const reference = await referenceOf(model, request, session)
  const threshold = request.qualityThreshold ?? (method === 'auto' ? AUTO_THRESHOLD : null)
  const candidates: Candidate[] = []
  for (const each of method === 'auto' ? ONNX_METHODS : [method]) {
    session.io.signal?.throwIfAborted()
    candidates.push(await makeCandidate(model, each, reference, folder, session))
  }
  const samples =
    reference === null ? null : { count: reference.samples.length, of: 'samples' as const, from: data ?? 'generated' }
  const table = [originalOf(sourceBytes, reference), ...candidates.map(({ path: _, notes: __, ...row }) => row)]
  const made = candidates.filter((candidate) => candidate.path !== undefined)
  const meets = ({ quality = 0 }: Candidate): boolean => threshold === null || quality >= threshold
  const [chosen] = made.filter(meets).sort((one, other) => one.bytes! - other.bytes!)
  const report = { table, samples, threshold }
  if (chosen !== undefined) return { ...report, path: chosen.path!, method: chosen.method, notes: chosen.notes }
  const { reason } = candidates[0]!
  return {
    ...report,
    path: null,
    reason: made.length === 0 && reason !== undefined ? reason : `no result reaches the quality ${threshold}`,
  }
}
