import { stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { convertHuggingFaceToGguf } from '../../convert/gguf/convert-hugging-face.ts'
import { convertLoraToGguf } from '../../convert/gguf/convert-lora.ts'
import { sizeWords } from '../../domain/sizes.ts'
import { makeFolder } from '../../platform/files/make-folder.ts'
import { exists } from '../../platform/files/missing-file.ts'
import { Failure } from '../failure.ts'
import { showProgress } from '../progress.ts'
import { REPORTS, requireNoSource, requireWritableFolder, writeResults } from '../result-files.ts'
import type { Session } from '../session.ts'
import type { ConvertOptions } from './convert-options.ts'

/** Converts a Hugging Face folder or a LoRA adapter to a GGUF file, with two reports next to it. Returns the file's path. */
export const convertGguf = async (modelPath: string, options: ConvertOptions, session: Session): Promise<string> => {
  const { io, out } = session
  const source = resolve(io.cwd, modelPath)
  const found = await stat(source).catch(() => null)
  if (found === null) throw new Failure(`There is no file or folder ${modelPath}.`)
  const isAdapter = found.isFile() || (await exists(join(source, 'adapter_config.json')))
  const folder = resolve(io.cwd, options.output)
  const fileName = `${basename(source).replace(/\.safetensors$/, '')}.gguf`
  const target = join(folder, fileName)
  const base = options.base === undefined ? {} : { base: resolve(io.cwd, options.base) }
  await requireWritableFolder(folder)
  await requireNoSource(
    folder,
    [fileName, ...REPORTS],
    [
      { path: source, given: modelPath },
      ...(base.base === undefined ? [] : [{ path: base.base, given: options.base! }]),
    ],
  )
  await makeFolder(folder)
  const bar = showProgress(io, `Writing ${fileName}`)
  const common = { onProgress: bar.update, signal: io.signal }
  const conversion = await (isAdapter
    ? convertLoraToGguf(source, target, { ...common, ...base })
    : convertHuggingFaceToGguf(source, target, common)
  ).finally(bar.end)
  const report = {
    model: basename(source),
    source_format: isAdapter ? 'lora' : 'huggingface',
    architecture: conversion.architecture,
    parameters: conversion.parameters,
    tensors: conversion.tensors,
    files: [{ format: 'gguf', file: fileName, size_bytes: conversion.bytes, validation: null }],
  }
  const lines: [string, string][] = [
    ['File', target],
    ['Architecture', conversion.architecture],
    ['Parameters', String(conversion.parameters)],
    [
      'Tensors',
      Object.entries(conversion.tensors)
        .map(([type, count]) => `${type} ${count}`)
        .join(', '),
    ],
    ['Size', sizeWords(conversion.bytes)],
  ]
  await writeResults([
    { path: join(folder, REPORTS[0]), content: `${JSON.stringify(report, null, 2)}\n` },
    { path: join(folder, REPORTS[1]), content: lines.map(([name, value]) => `${name}: ${value}\n`).join('') },
  ])
  if (options.json) out.json(report)
  else out.fields(lines)
  return target
}
