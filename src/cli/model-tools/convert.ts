import { readFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import {
  type ConversionReport,
  reportOf,
  reportText,
  type Validation,
  validationText,
} from '../../convert/conversion-report.ts'
import type { Conversion } from '../../convert/convert.ts'
import { resultName, targetFormatOf } from '../../convert/formats.ts'
import { runConversion } from '../../convert/run-conversion.ts'
import { sizeWords } from '../../domain/sizes.ts'
import { enginesFolder } from '../../inference/engines/optional/optional-engine.ts'
import { makeFolder } from '../../platform/files/make-folder.ts'
import { Failure, wrongUsage } from '../failure.ts'
import { REPORTS, requireNoSource, requireWritableFolder, writeResults } from '../result-files.ts'
import type { Session } from '../session.ts'
import { convertGguf } from './convert-gguf.ts'
import type { ConvertOptions } from './convert-options.ts'
import { modelAt } from './model-at.ts'
import { pushConverted } from './push-converted.ts'
import { validate } from './validate.ts'

interface ModelFile {
  readonly path: string
  readonly fileName: string
}

const fileAt = async (text: string, cwd: string): Promise<ModelFile> => {
  const { path, isFolder } = await modelAt(text, cwd)
  if (isFolder) {
    throw new Failure(`${text} is a folder.`, {
      advice: 'Give the path of a model file. Folders can only be converted to gguf.',
    })
  }
  return { path, fileName: basename(path) }
}

/** Converts the model, and compares the results with the source or, unless that is an ONNX model, with its ONNX version. */
const convertAndValidate = async (
  source: ModelFile,
  architecture: ModelFile | undefined,
  { formats, inputShape, validate: validates }: ConvertOptions,
  { io, out }: Session,
) => {
  const conversion = await runConversion(
    {
      ...source,
      formats,
      reference: validates,
      ...(inputShape && { inputShape }),
      ...(architecture && { architecture }),
    },
    { signal: io.signal, onStep: out.note },
  )
  const validations: Record<string, Validation> = {}
  if (!validates) return { conversion, validations }
  const isSource = conversion.reference === undefined
  const bytes = conversion.reference === undefined ? await readFile(source.path) : conversion.reference
  const reference = bytes === null ? null : { bytes, isSource }
  const engine = { engines: enginesFolder(io.env), signal: io.signal }
  for (const file of conversion.files) {
    out.note(`validating ${file.format}`)
    validations[file.format] = await validate(file, reference, conversion, engine)
  }
  return { conversion, validations }
}

const write = async (folder: string, { files }: Conversion, report: ConversionReport): Promise<void> => {
  await makeFolder(folder)
  await writeResults([
    ...files.map(({ fileName, bytes }) => ({ path: join(folder, fileName), content: bytes })),
    { path: join(folder, REPORTS[0]), content: `${JSON.stringify(report, null, 2)}\n` },
    { path: join(folder, REPORTS[1]), content: reportText(report) },
  ])
}

const print = (report: ConversionReport, { output, json }: ConvertOptions, { out }: Session): void => {
  if (json) {
    out.json(report)
    return
  }
  const rows = report.files.map(({ format, file, size_bytes, validation }) => [
    format,
    join(output, file),
    sizeWords(size_bytes),
    validationText(validation),
  ])
  if (rows.length > 0) out.table(['FORMAT', 'FILE', 'SIZE', 'VALIDATION'], rows)
  for (const note of new Set([...report.notes, ...report.files.flatMap(({ notes }) => notes)])) out.note(note)
}

/** @throws Failure if a format failed or its outputs differ */
const requireAllRight = ({ failed, files }: ConversionReport, { output }: ConvertOptions): void => {
  const problems = [
    ...failed.map(({ format, reason }) => `Not converted to ${format}: ${reason}`),
    ...files.flatMap(({ format, validation }) => {
      if (validation?.state === 'fails') return [`${format} cannot be run: ${validation.reason}`]
      if (validation?.state !== 'different') return []
      return [`${format}: the outputs differ from the source by more than ${validation.tolerance}.`]
    }),
  ]
  if (problems.length === 0) return
  const found = new Set(files.map(({ validation }) => validation?.state))
  const advice = found.has('different')
    ? `${join(output, 'report.txt')} has the figures. To skip the comparison: --no-validate.`
    : found.has('fails')
      ? 'If your own runtime can run it, convert it without running it here: --no-validate.'
      : null
  throw new Failure(problems.join('\n'), advice === null ? {} : { advice })
}

const convertThroughOnnx = async (modelPath: string, options: ConvertOptions, session: Session): Promise<void> => {
  const { cwd } = session.io
  const source = await fileAt(modelPath, cwd)
  const architecture = options.architecture === undefined ? undefined : await fileAt(options.architecture, cwd)
  const folder = resolve(cwd, options.output)
  await requireWritableFolder(folder)
  const results = options.formats.map((format) => resultName(source.fileName, targetFormatOf(format)))
  await requireNoSource(
    folder,
    [...results, ...REPORTS],
    [
      { path: source.path, given: modelPath },
      ...(architecture === undefined ? [] : [{ path: architecture.path, given: options.architecture! }]),
    ],
  )
  const { conversion, validations } = await convertAndValidate(source, architecture, options, session)
  const report = reportOf(source.fileName, conversion, validations)
  await write(folder, conversion, report)
  print(report, options, session)
  requireAllRight(report, options)
}

/** Converts, validates, and writes files and reports. @throws Failure if a format failed or differs, after writing the rest */
export const convert = async (modelPath: string, options: ConvertOptions, session: Session): Promise<void> => {
  const { formats } = options
  const isGguf = formats.includes('gguf')
  if (isGguf && formats.length > 1) {
    throw wrongUsage(
      'gguf cannot be combined with other formats: it is converted from Hugging Face folders and LoRA adapters only.',
    )
  }
  if (isGguf && options.architecture !== undefined) {
    throw wrongUsage('gguf cannot be combined with --architecture.', 'LoRA adapters take their base model with --base.')
  }
  if (!isGguf && options.base !== undefined) {
    throw wrongUsage('--base is only for LoRA adapters, which are converted to gguf.')
  }
  if (options.push && options.architecture !== undefined) {
    throw wrongUsage(
      '--push and --architecture cannot be combined.',
      'Push the architecture once, then the weights: the service combines them (svc push).',
    )
  }
  // Checks the sign-in before doing any work.
  const connection = options.push ? await session.signedIn({ apiBase: options.apiBase }) : null
  const made = isGguf ? await convertGguf(modelPath, options, session) : modelPath
  if (!isGguf) await convertThroughOnnx(modelPath, options, session)
  if (connection !== null) await pushConverted(made, formats, connection, session)
}
