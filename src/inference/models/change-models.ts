import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { makeFolder } from '../../platform/files/make-folder.ts'
import { exists } from '../../platform/files/missing-file.ts'
import { InferenceError } from '../errors.ts'
import { clearLeftovers, discard, growingIn, replace } from '../whole-folder.ts'
import { copyModel, partsOf } from './copy-model.ts'
import { readSplitCount, requireGguf } from './gguf/header.ts'
import { entryText } from './model-entry.ts'
import type { ModelFile } from './model-file.ts'
import { modelsFolder } from './model-folder.ts'
import { type FoundFormat, formatOf } from './model-format.ts'
import { type ModelName, parseModelName } from './model-name.ts'
import { STARTER } from './starter.ts'
import { normalVariant, variantInName } from './variant.ts'

export interface AddedModel extends ModelFile {
  /** True if it replaced a model with the same name and variant. */
  readonly isReplacement: boolean
}

export interface ModelToAdd {
  /** `name` or `name:variant`. Without a variant, it is taken from the file name, otherwise it is `default`. */
  readonly name: string
  /** The file or folder to copy. For a GGUF model in several files, its folder or one of them. */
  readonly path: string
  /** Its origin, as the list shows it. The path if absent. */
  readonly source?: string
  readonly now?: Date
  readonly signal?: AbortSignal
}

const reserved = (): InferenceError =>
  new InferenceError('invalid_request', `The name '${STARTER}' belongs to the bundled model. Choose another.`)

/** @throws InferenceError invalid_model if a file is missing, or is not GGUF, without which no engine can open the copy */
const assertComplete = async ({ path, format }: FoundFormat): Promise<void> => {
  const refuse = (fault: string): never => {
    throw new InferenceError('invalid_model', `${path} ${fault}`, { param: 'model' })
  }
  if (format === 'onnx') {
    if (!(await stat(path)).isDirectory())
      refuse(
        'is one file of an ONNX model. Give the path of the folder that also has its config.json and tokenizer.json.',
      )
    for (const name of ['config.json', 'tokenizer.json'])
      if (!(await exists(join(path, name))))
        refuse(`has no ${name}, which every ONNX model needs. Add it to the folder.`)
  }
  if (format !== 'gguf') return
  const parts = partsOf(path)
  const count = readSplitCount(path)
  if (parts === null && count > 1) {
    const ending = `-of-${String(count).padStart(5, '0')}.gguf`
    refuse(`is one of ${count} parts of a model, whose names must end in -00001${ending} and so on. Rename them.`)
  }
  for (const part of parts ?? [])
    if (!(await exists(part)))
      refuse(`is incomplete: ${basename(part)} is missing from its folder. Download all parts.`)
  for (const part of parts ?? [path]) requireGguf(part)
}

/** @throws InferenceError if a model cannot be added under this name */
export const parseNameToAdd = (text: string): ModelName => {
  const parsed = parseModelName(text)
  if (parsed.name.toLowerCase() === STARTER) throw reserved()
  return parsed
}

/**
 * Copies a model into the models folder and hashes it at the same time. The copy appears atomically, and replaces a model with
 * the same name and variant.
 */
export const addModel = async (home: string, options: ModelToAdd): Promise<AddedModel> => {
  const { name, variant: requested } = parseNameToAdd(options.name)
  const root = modelsFolder(home)
  const found = await formatOf(resolve(options.path))
  await assertComplete(found)
  const { format } = found
  // A model in several files is opened by its first.
  const source = format === 'gguf' ? (partsOf(found.path)?.[0] ?? found.path) : found.path
  const variant = normalVariant(requested ?? variantInName(basename(source)) ?? 'default')
  await makeFolder(root, 0o700)
  await clearLeftovers(root)
  const growing = growingIn(root)
  const file = basename(source).replace(/^\.+|[:\\]/g, '_')
  const folder = join(root, name, variant)
  try {
    const copied = await copyModel(source, join(growing, file), options.signal)
    const addedAt = (options.now ?? new Date()).toISOString()
    const about = { ...copied, source: options.source ?? source }
    const entry = entryText({ name, variant, file, ...about, addedAt })
    await writeFile(join(growing, 'model.json'), entry, { flush: true })
    await makeFolder(join(root, name))
    const isReplacement = await replace(root, growing, folder)
    return { name: `${name}:${variant}`, variant, path: join(folder, file), format, ...about, isReplacement }
  } catch (error) {
    await rm(growing, { recursive: true, force: true })
    throw error
  }
}

/**
 * Deletes `name:variant`, or every variant of `name`, even damaged ones.
 * @throws InferenceError model_not_found if there is no such model
 */
export const removeModel = async (home: string, text: string): Promise<void> => {
  const { name, variant } = parseNameToAdd(text)
  const root = modelsFolder(home)
  const folder = variant === null ? join(root, name) : join(root, name, normalVariant(variant))
  const isGone = (await discard(root, folder)) || (variant === null && (await discard(root, `${folder}.gguf`)))
  if (!isGone) {
    throw new InferenceError('model_not_found', `There is no model '${text}' in ${root}.`, { param: 'model' })
  }
  const left = await readdir(join(root, name)).catch(() => null)
  if (left?.length === 0) await discard(root, join(root, name))
}
