import { mkdir, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { reportOf, reportText, type Validation, validationText } from '../../convert/conversion-report.ts'
import type { Conversion } from '../../convert/convert.ts'
import { runConversion } from '../../convert/run-conversion.ts'
import { enginesFolder } from '../../inference/engines/parts/part.ts'
import { Failure, wrongUsage } from '../failure.ts'
import type { DataOptions } from '../options.ts'
import type { Session } from '../session.ts'
import { sizeWords } from '../sizes.ts'
import { TOLERANCE, validate } from './validate.ts'

export interface ConvertOptions extends DataOptions {
  readonly formats: readonly string[]
  readonly output: string
  readonly inputShape?: readonly number[]
  readonly architecture?: string
  readonly validate: boolean
  readonly push?: true
}

const fileAt = async (text: string, cwd: string): Promise<{ path: string; fileName: string }> => {
  const path = resolve(cwd, text)
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
  if (found === null) throw new Failure(`There is no file ${text}.`)
  if (!found.isFile()) {
    throw new Failure(`${text} is a folder.`, { advice: 'Name a model file. Folders are converted to gguf alone.' })
  }
  return { path, fileName: basename(path) }
}

const validateAll = async (
  path: string,
  conversion: Conversion,
  { architecture }: ConvertOptions,
  { io, out }: Session,
): Promise<Record<string, Validation>> => {
  const options = {
    // An architecture by itself has other weights.
    sourcePath: conversion.source === 'onnx' && architecture === undefined ? path : null,
    engines: enginesFolder(io.env),
    signal: io.signal ?? new AbortController().signal,
  }
  const validations: Record<string, Validation> = {}
  for (const file of conversion.files) {
    out.note(`validating ${file.format}`)
    validations[file.format] = await validate(file, conversion, options)
  }
  return validations
}

const isWrong = (validation: Validation | null): boolean =>
  validation?.state === 'different' || validation?.state === 'fails'

/** Converts, validates, and writes files and reports. @throws Failure where a format failed or differs, after writing */
export const convert = async (modelPath: string, options: ConvertOptions, session: Session): Promise<void> => {
  const { io, out } = session
  const { formats, inputShape } = options
  if (formats.includes('gguf')) {
    throw wrongUsage('gguf is a target for Hugging Face folders and LoRA adapters alone.')
  }
  const source = await fileAt(modelPath, io.cwd)
  const architecture = options.architecture === undefined ? undefined : await fileAt(options.architecture, io.cwd)
  const conversion = await runConversion(
    { ...source, formats, ...(inputShape && { inputShape }), ...(architecture && { architecture }) },
    { ...(io.signal && { signal: io.signal }), onStep: out.note },
  )
  const validations = options.validate ? await validateAll(source.path, conversion, options, session) : {}
  const report = reportOf(source.fileName, conversion, validations)
  const folder = resolve(io.cwd, options.output)
  if (conversion.files.some(({ fileName }) => join(folder, fileName) === source.path)) {
    throw wrongUsage(`The result would replace ${modelPath}.`, 'Choose another folder with --output.')
  }
  await mkdir(folder, { recursive: true })
  for (const { fileName, bytes } of conversion.files) await writeFile(join(folder, fileName), bytes)
  await writeFile(join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`)
  await writeFile(join(folder, 'report.txt'), reportText(report))

  if (options.json) out.json(report)
  else {
    out.table(
      ['FORMAT', 'FILE', 'SIZE', 'VALIDATION'],
      report.files.map(({ format, file, size_bytes, validation }) => [
        format,
        join(options.output, file),
        sizeWords(size_bytes),
        validationText(validation),
      ]),
    )
    for (const note of new Set([...conversion.notes, ...conversion.files.flatMap(({ notes }) => notes)])) out.note(note)
  }
  const wrong = report.files.filter(({ validation }) => isWrong(validation)).map(({ format }) => format)
  if (conversion.refused.length > 0) {
    throw new Failure(
      conversion.refused.map(({ format, reason }) => `Not converted to ${format}: ${reason}`).join('\n'),
    )
  }
  if (wrong.length > 0) {
    throw new Failure(`The outputs of ${wrong.join(', ')} differ by more than the tolerance of ${TOLERANCE}.`, {
      advice: `${join(options.output, 'report.txt')} has the figures. To keep the files all the same: --no-validate.`,
    })
  }
}
