import { existsSync } from 'node:fs'
import { cp, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, extname, join, relative, resolve } from 'node:path'
import { ServiceError } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { percent } from '../../domain/percent.ts'
import { shellWord } from '../../domain/shell-word.ts'
import { sizeWords } from '../../domain/sizes.ts'
import { makeFolder } from '../../platform/files/make-folder.ts'
import { Failure, wrongUsage } from '../failure.ts'
import type { Session } from '../session.ts'
import { modelAt } from './model-at.ts'
import { folderNear, requireFree } from './quantize-output.ts'
import {
  type FileRequest,
  GGUF_METHODS,
  type Measured,
  type QuantizedFile,
  type QuantizeOptions,
  type Report,
} from './quantized-file.ts'

type Quantizer = (request: FileRequest, session: Session) => Promise<QuantizedFile>

const measured =
  (format: 'onnx' | 'tflite' | 'coreml'): Quantizer =>
  async (request, session) =>
    (await import('./quantize-measured-file.ts')).quantizeMeasuredFile(format, request, session)

const quantizeMlmodelFile = measured('coreml')

/** The model's path in a package. Packages of ML programs have one without layers, which is refused. */
const PACKAGED_MODEL = 'Data/com.apple.CoreML/model.mlmodel'

/** Copies the package, which is a folder, and quantizes the model in the copy. */
const quantizePackage: Quantizer = async (request, session) => {
  const source = join(request.source, PACKAGED_MODEL)
  if (!existsSync(source)) throw new Failure(`${basename(request.source)} has no ${PACKAGED_MODEL}.`)
  const done = await quantizeMlmodelFile({ ...request, source }, session)
  if (done.path === null) return done
  const path = join(request.folder, 'package')
  await cp(request.source, path, { recursive: true })
  await rename(done.path, join(path, PACKAGED_MODEL))
  return { ...done, path }
}

const QUANTIZERS: Readonly<Record<string, Quantizer>> = {
  '.onnx': measured('onnx'),
  '.tflite': measured('tflite'),
  '.litert': measured('tflite'),
  '.mlmodel': quantizeMlmodelFile,
  '.mlpackage': quantizePackage,
  '.gguf': async (request, session) => (await import('./quantize-gguf-file.ts')).quantizeGgufFile(request, session),
}

const KNOWN = Object.keys(QUANTIZERS).join(', ')

const quantizerOf = (fileName: string): Quantizer | undefined => ownEntry(QUANTIZERS, extname(fileName).toLowerCase())

const MAX_DEPTH = 4

/** Lists the model files under a folder, except the results of earlier runs. */
const filesIn = async (folder: string, depth = 0): Promise<string[]> => {
  const entries = await readdir(folder, { withFileTypes: true })
  const found = await Promise.all(
    entries
      .sort((one, other) => (one.name < other.name ? -1 : 1))
      .map(async (entry) => {
        const path = join(folder, entry.name)
        if (quantizerOf(path) !== undefined) return [path]
        const enters =
          entry.isDirectory() && depth < MAX_DEPTH && entry.name !== 'quantized' && !entry.name.startsWith('.')
        return enters ? filesIn(path, depth + 1) : []
      }),
  )
  return found.flat()
}

export interface Quantized extends Report {
  readonly source: string
  readonly output: string
  readonly method: string
  readonly bytes: number
}

const cells = (row: Measured): Readonly<Record<string, string | null>> => {
  const agreement = typeof row.agreement === 'number' ? percent(row.agreement) : null
  return {
    METHOD: row.method,
    SIZE: row.bytes === undefined ? null : sizeWords(row.bytes),
    QUALITY: row.quality === undefined ? null : qualityText(row.quality),
    COSINE: row.cosine?.toFixed(4) ?? null,
    PERPLEXITY: row.perplexity?.toFixed(3) ?? null,
    DIVERGENCE: row.divergence?.toFixed(5) ?? null,
    'SAME CLASS': agreement,
    'SAME TOKEN': agreement,
    TIME: row.milliseconds === undefined ? null : `${row.milliseconds.toFixed(2)} ms`,
    '': row.reason ?? '',
  }
}

const UNMEASURED_COLUMNS = ['METHOD', 'SIZE', '']
const SAMPLES_COLUMNS = ['METHOD', 'SIZE', 'QUALITY', 'COSINE', 'SAME CLASS', 'TIME', '']
const TEXT_COLUMNS = ['METHOD', 'SIZE', 'QUALITY', 'PERPLEXITY', 'DIVERGENCE', 'SAME TOKEN', 'TIME', '']

const showTable = ({ table, samples }: Report, { out }: Session): void => {
  const columns = samples === null ? UNMEASURED_COLUMNS : samples.of === 'tokens' ? TEXT_COLUMNS : SAMPLES_COLUMNS
  const rows = table.map(cells).map((row) => columns.map((name) => row[name] ?? null))
  out.table(columns, rows, { right: new Set([...columns.keys()].slice(1, -1)) })
  if (samples === null) return
  const { count, of, from } = samples
  if (from !== 'generated') out.note(`Measured on ${count} ${count === 1 ? of.slice(0, -1) : of} from ${from}.`)
  else if (of === 'tokens')
    out.note(`Measured on ${count} tokens of a built-in text. Your own is more meaningful: --data text.txt`)
  else
    out.note(
      `Measured on ${count} samples that were generated from the shapes of the model's inputs. Results on real samples may differ: --data samples.npz`,
    )
}

/** Never shows a quality below 1 as 1.0000. */
const qualityText = (quality: number): string => {
  const text = quality.toFixed(4)
  return quality < 1 && text === '1.0000' ? '>0.9999' : text
}

const noteIfLarger = ({ table }: Report, method: string, { out }: Session): void => {
  const original = table[0]?.bytes
  const made = table.find((row) => row.method === method)?.bytes
  if (original === undefined || made === undefined || made <= original) return
  const isShown = sizeWords(made) !== sizeWords(original)
  const [now, before] = [made, original].map((bytes) => (isShown ? sizeWords(bytes) : `${bytes} bytes`))
  out.note(`The result is larger than the original: ${now} instead of ${before}.`)
}

/** Quantizes one file; `place` returns the output path for the chosen method. @throws Failure below the threshold */
export const quantizeFile = async (
  { source, fileName = basename(source) }: { readonly source: string; readonly fileName?: string },
  options: QuantizeOptions,
  place: (method: string) => string,
  session: Session,
  isQuiet = false,
): Promise<Quantized> => {
  const quantizer = quantizerOf(fileName)
  if (quantizer === undefined) {
    throw wrongUsage(
      `${fileName} cannot be quantized.`,
      `Supported: ${KNOWN}.${extname(fileName) === '' ? '' : ` Convert it first: svc convert ${shellWord(source)}`}`,
    )
  }
  const isForGguf = (GGUF_METHODS as readonly string[]).includes(options.method)
  if (isForGguf && extname(fileName).toLowerCase() !== '.gguf') {
    throw wrongUsage(
      `${fileName} cannot be quantized to ${options.method}, which is a type of GGUF file.`,
      'Use auto, int8, int4, dynamic, or float16.',
    )
  }
  await requireFree(place(options.method), source)
  const folder = await folderNear(place(options.method))
  try {
    const done = await quantizer({ ...options, source, folder }, session)
    // If a single method is refused, its reason says the same as the table.
    const isRefused = done.path === null && done.table.length === 2 && done.table[1]?.reason !== undefined
    if (!isQuiet && !isRefused) showTable(done, session)
    if (done.path === null) throw new Failure(`${fileName} was not quantized, and nothing was written: ${done.reason}`)
    for (const note of done.notes) session.out.note(note)
    noteIfLarger(done, done.method, session)
    const output = place(done.method)
    await requireFree(output, source)
    await makeFolder(dirname(output))
    // Renaming a folder onto another one works only if that is empty; a file replaces a file atomically.
    if (extname(output).toLowerCase() === '.mlpackage') await rm(output, { recursive: true, force: true })
    await rename(done.path, output)
    const { table, samples, threshold } = done
    return {
      source,
      output,
      method: done.method,
      bytes: table.find((row) => row.method === done.method)?.bytes ?? 0,
      table,
      samples,
      threshold,
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** `model.onnx`, int8 -> `model-int8.onnx`. */
export const nameOf = (path: string, method: string): string => {
  const ending = extname(path)
  return `${basename(path, ending)}-${method}${ending}`
}

const asJson = ({ source, output, method, bytes, table, samples, threshold }: Quantized) => ({
  model_path: source,
  output_path: output,
  method,
  size_bytes: bytes,
  quality_threshold: threshold,
  samples,
  candidates: table.map((row) => ({
    method: row.method,
    size_bytes: row.bytes ?? null,
    quality: row.quality ?? null,
    cosine: row.cosine ?? null,
    same_class: samples?.of === 'tokens' ? null : (row.agreement ?? null),
    same_token: samples?.of === 'tokens' ? (row.agreement ?? null) : null,
    perplexity: row.perplexity ?? null,
    kl_divergence: row.divergence ?? null,
    milliseconds: row.milliseconds ?? null,
    reason: row.reason ?? null,
  })),
})

/** `svc quantize`: quantizes a file, or each file of a folder, into the output folder. */
export const quantizeAndReport = async (
  modelPath: string,
  options: QuantizeOptions & { readonly json?: boolean },
  session: Session,
): Promise<void> => {
  const { io, out } = session
  const found = await modelAt(modelPath, io.cwd, 'file or folder')
  const { path } = found
  const isFolder = found.isFolder && quantizerOf(path) === undefined
  const sources = isFolder ? await filesIn(path) : [path]
  if (sources.length === 0)
    throw new Failure(`There is no model in ${modelPath} that can be quantized.`, { advice: `Supported: ${KNOWN}.` })
  const target = resolve(io.cwd, options.output ?? join(isFolder ? path : dirname(path), 'quantized'))
  const isFile = !isFolder && extname(target).toLowerCase() === extname(path).toLowerCase()
  const done: Quantized[] = []
  const failed: string[] = []
  for (const source of sources) {
    if (isFolder) out.note(relative(path, source))
    const place = (method: string): string =>
      isFile ? target : join(target, isFolder ? relative(path, dirname(source)) : '', nameOf(source, method))
    try {
      done.push(await quantizeFile({ source }, options, place, session, options.json))
    } catch (error) {
      const isOfFile =
        error instanceof Failure || error instanceof ServiceError || (error as Error).name === 'InferenceError'
      if (!isFolder || !isOfFile) throw error
      failed.push(relative(path, source))
      out.note((error as Error).message)
    }
  }
  if (options.json) out.json(isFolder ? { files: done.map(asJson), failed } : asJson(done[0]!))
  else for (const { output, bytes } of done) out.line(`Written: ${output} (${sizeWords(bytes)})`)
  if (failed.length > 0) throw new Failure(`Not quantized: ${failed.join(', ')}`)
}
