import { readFile, stat, writeFile } from 'node:fs/promises'
import { basename, extname, join, resolve } from 'node:path'
import type { OnnxModel } from '../../convert/onnx/model.ts'
import { writeOnnx } from '../../convert/onnx/write-onnx.ts'
import { generateSamples } from '../../convert/quantize/generate-samples.ts'
import type { ValueRange } from '../../convert/quantize/integer-graph.ts'
import { classifierOutputs, compareOutputs, qualityOf } from '../../convert/quantize/quality.ts'
import { calibrationModel, rangesNeeded } from '../../convert/quantize/quantize-onnx.ts'
import { type NumberArray, type Sample, samplesFromArrays, samplesFromLines } from '../../convert/quantize/samples.ts'
import { badRequest, ServiceError } from '../../domain/errors.ts'
import { type GraphRun, runGraph } from '../../inference/engines/onnx/run-graph.ts'
import { enginesFolder } from '../../inference/engines/optional/optional-engine.ts'
import { InferenceError } from '../../inference/errors.ts'
import { addPathToError } from '../../platform/files/durable-file.ts'
import { detectFormat, formatOf, titleOf } from '../../tensors/detect.ts'
import { readTensorFloats } from '../../tensors/elements.ts'
import { readWeights } from '../../tensors/read-weights.ts'
import { bytesSource } from '../../tensors/sources.ts'
import { Failure, wrongUsage } from '../failure.ts'
import { nameFolder } from '../inference/prompt-file.ts'
import type { Session } from '../session.ts'
import { type Calibrate, MEASURED_FORMATS, type MeasuredFormat } from './measured-formats.ts'
import { belowThreshold } from './quantize-output.ts'
import type { FileRequest, Measured, QuantizedFile } from './quantized-file.ts'

/** The quality that `auto` requires by default. */
const AUTO_THRESHOLD = 0.99
const GENERATED = 32
const MAX_SAMPLES = 256
const MAX_BYTES = 2 ** 31 - 1

/** The original's results, to compare with. */
interface Reference {
  readonly samples: readonly Sample[]
  readonly run: GraphRun
  readonly classifiers: ReadonlySet<string>
}

/** One file in progress. */
interface Work {
  readonly format: MeasuredFormat
  readonly request: FileRequest
  readonly session: Session
}

const medianOf = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

const run = (model: string | Uint8Array, samples: readonly Sample[], { format, session: { io } }: Work) =>
  runGraph(model, samples, {
    format: format.engine,
    engines: enginesFolder(io.env),
    signal: io.signal,
  })

/** Runs the samples twice and times the second pass, because the first one allocates memory. */
const execute = async (path: string, bytes: Uint8Array, samples: readonly Sample[], work: Work): Promise<GraphRun> => {
  const done = await run(work.format.executable?.(bytes) ?? path, [...samples, ...samples], work)
  if ('notRun' in done) throw new InferenceError('engine_missing', `${done.notRun}.`)
  return { outputs: done.outputs.slice(samples.length), milliseconds: done.milliseconds.slice(samples.length) }
}

const samplesIn = (model: OnnxModel, bytes: Uint8Array, isLines: boolean): readonly Sample[] => {
  if (bytes.length === 0) throw badRequest('The file is empty.')
  if (isLines) return samplesFromLines(model, Buffer.from(bytes).toString('utf8'), MAX_SAMPLES)
  const source = bytesSource(bytes)
  const detected = detectFormat(source)
  if (detected !== 'npz' && detected !== 'npy')
    throw badRequest(`The file is ${titleOf(detected)}, not a NumPy .npz or .npy file.`)
  const arrays = new Map<string, NumberArray>()
  for (const tensor of readWeights(source).tensors) {
    arrays.set(tensor.name, { shape: tensor.shape, values: readTensorFloats(source, tensor) })
  }
  return samplesFromArrays(model, arrays, MAX_SAMPLES)
}

const readSamples = async (model: OnnxModel, file: string, { io }: Session): Promise<readonly Sample[]> => {
  const path = resolve(io.cwd, file)
  const given = `--data ${file}`
  const bytes = await readFile(path).catch(nameFolder(given))
  const isLines = /^\.(jsonl|ndjson|json)$/i.test(extname(path))
  if (!isLines && !/^\.np[zy]$/i.test(extname(path)))
    throw wrongUsage(`${given}: expected a .npz, .npy, or .jsonl file.`)
  try {
    return samplesIn(model, bytes, isLines)
  } catch (error) {
    throw error instanceof ServiceError ? badRequest(`${given}: ${error.message}`) : error
  }
}

/** The parsers report such files as damaged. @throws Failure for an empty file or a text with the file extension of a model */
const requireModel = (bytes: Uint8Array, fileName: string): void => {
  if (bytes.length === 0) throw new Failure(`${fileName} is empty.`)
  const detected = detectFormat(bytesSource(bytes))
  if (detected !== null && formatOf(detected).isText)
    throw new Failure(`${fileName} is ${titleOf(detected)}, not a model.`)
}

/** Returns the original's results. If they cannot be measured and are not needed, returns a note that says why. */
const referenceOf = async (bytes: Uint8Array, work: Work): Promise<Reference | string> => {
  const { format, session } = work
  const { method, qualityThreshold, data, source } = work.request
  const isNeeded =
    qualityThreshold !== undefined || data !== undefined || (method === 'auto' && format.unmeasured === undefined)
  try {
    const model = format.outline(bytes)
    const samples = data === undefined ? generateSamples(model, GENERATED) : await readSamples(model, data, session)
    const run = await execute(source, bytes, samples, work)
    if (format.note !== undefined) session.out.note(format.note)
    return { samples, run, classifiers: classifierOutputs(model) }
  } catch (error) {
    if (!(error instanceof InferenceError || error instanceof ServiceError)) throw error
    if (!isNeeded) return `The quality was not measured: ${error.message}`
    throw new Failure(`The quality cannot be measured, and nothing was written: ${error.message}`, {
      advice:
        'To quantize without measuring, choose a method with --method, and leave out --quality-threshold and --data.',
    })
  }
}

const calibrator =
  (reference: Reference | null, work: Work): Calibrate =>
  async (model) => {
    const ranges = new Map<string, ValueRange>()
    const names = reference === null ? [] : rangesNeeded(model)
    if (reference === null || names.length === 0) return ranges
    const path = join(work.request.folder, 'calibration.onnx')
    await writeFile(path, writeOnnx(calibrationModel(model, names))).catch(addPathToError(path))
    const measured = await run(path, reference.samples, work)
    if ('notRun' in measured) return ranges
    for (const [index, name] of names.entries()) {
      const of = (which: string) =>
        measured.outputs.map((outputs) => Number(outputs[`calibration_${index}_${which}`]?.data[0]))
      const range = { min: Math.min(...of('Min')), max: Math.max(...of('Max')) }
      if (Number.isFinite(range.min) && Number.isFinite(range.max)) ranges.set(name, range)
    }
    return ranges
  }

type Candidate = Measured & { readonly path?: string; readonly notes: readonly string[] }

/** Quantizes the model with one method into the temporary folder, and measures it if there is a reference. */
const makeCandidate = async (
  source: Uint8Array,
  method: string,
  reference: Reference | null,
  work: Work,
): Promise<Candidate> => {
  work.session.out.note(`quantizing: ${method}`)
  try {
    const { bytes, notes } = await work.format.quantize(source, method, calibrator(reference, work))
    const path = join(work.request.folder, method)
    await writeFile(path, bytes).catch(addPathToError(path))
    const made = { method, bytes: bytes.length, path, notes }
    if (reference === null) return made
    const { outputs, milliseconds } = await execute(path, bytes, reference.samples, work)
    const quality = compareOutputs(reference.run.outputs, outputs, reference.classifiers)
    return { ...made, ...quality, quality: qualityOf(quality), milliseconds: medianOf(milliseconds) }
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
 * Quantizes a file into the request's temporary folder. `auto` tries each method and takes the smallest result that meets the
 * threshold. @throws Failure if a measurement is needed but there is no engine
 */
export const quantizeMeasuredFile = async (
  name: keyof typeof MEASURED_FORMATS,
  request: FileRequest,
  session: Session,
): Promise<QuantizedFile> => {
  const format: MeasuredFormat = MEASURED_FORMATS[name]
  const work = { format, request, session }
  const { source, method, data } = request
  if ((await stat(source)).size > MAX_BYTES) throw new Failure(`${source} is larger than 2 GB.`)
  const bytes = await readFile(source)
  requireModel(bytes, basename(source))
  const found = await referenceOf(bytes, work)
  const reference = typeof found === 'string' ? null : found
  const isChosen = method === 'auto' && reference !== null
  const threshold = request.qualityThreshold ?? (isChosen ? AUTO_THRESHOLD : null)
  const candidates: Candidate[] = []
  for (const each of isChosen ? format.methods : [method === 'auto' ? format.unmeasured! : method]) {
    session.io.signal.throwIfAborted()
    candidates.push(await makeCandidate(bytes, each, reference, work))
  }
  const samples =
    reference === null ? null : { count: reference.samples.length, of: 'samples' as const, from: data ?? 'generated' }
  const table = [originalOf(bytes.length, reference), ...candidates.map(({ path: _, notes: __, ...row }) => row)]
  const made = candidates.filter((candidate) => candidate.path !== undefined)
  const meets = ({ quality = 0 }: Candidate): boolean => threshold === null || quality >= threshold
  const [chosen] = made.filter(meets).sort((one, other) => one.bytes! - other.bytes!)
  const report = { table, samples, threshold }
  if (chosen !== undefined) {
    const notes = typeof found === 'string' ? [found, ...chosen.notes] : chosen.notes
    return { ...report, path: chosen.path!, method: chosen.method, notes }
  }
  const { reason } = candidates[0]!
  return {
    ...report,
    path: null,
    reason: made.length === 0 && reason !== undefined ? reason : belowThreshold(made, threshold ?? 0),
  }
}
