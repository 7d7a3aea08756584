import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { InferenceError } from '../errors.ts'
import { copyModel } from './copy-model.ts'
import { entryText } from './model-entry.ts'
import type { ModelFile } from './model-file.ts'
import { modelsFolder } from './model-folder.ts'
import { formatOf } from './model-format.ts'
import { parseModelName } from './model-name.ts'
import { STARTER } from './starter.ts'
import { normalVariant, variantInName } from './variant.ts'

export interface ModelToAdd {
  /** `name` or `name:variant`; without a variant it is read from the file's name, else it is `default`. */
  readonly name: string
  /** A file or a folder, which is copied. */
  readonly path: string
  /** Where it came from, for the list. The path when absent. */
  readonly source?: string
  readonly now?: Date
  readonly signal?: AbortSignal
}

const writeWhole = async (path: string, text: string): Promise<void> => {
  const file = await open(path, 'wx')
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

const DAY_MS = 24 * 60 * 60 * 1000

/** What an interrupted run left: nobody adds one model for a whole day. */
const clearLeftovers = async (root: string, now: number): Promise<void> => {
  const left = (await readdir(root)).filter((name) => /^\.(adding|removed)-/.test(name))
  for (const name of left) {
    const age = await stat(join(root, name))
      .then(({ mtimeMs }) => now - mtimeMs)
      .catch(() => 0)
    if (age > DAY_MS) await rm(join(root, name), { recursive: true, force: true })
  }
}

/** Takes a folder out of sight in one step, then deletes it. */
const discard = async (root: string, folder: string): Promise<boolean> => {
  const hidden = join(root, `.removed-${randomBytes(6).toString('hex')}`)
  try {
    await rename(folder, hidden)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
  await rm(hidden, { recursive: true, force: true })
  return true
}

/** Another process may add the same model at the same moment: then the later one stays. */
const replace = async (root: string, growing: string, folder: string): Promise<void> => {
  for (let tries = 1; ; tries++) {
    await discard(root, folder)
    try {
      return await rename(growing, folder)
    } catch (error) {
      const taken = ['ENOTEMPTY', 'EEXIST', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')
      if (!taken || tries === 5) throw error
    }
  }
}

const reserved = (): InferenceError =>
  new InferenceError('invalid_request', `The name '${STARTER}' belongs to the model of the package. Choose another.`)

/**
 * Copies a model into the models folder under a name, hashing it on the way. It appears there whole or not at all, and
 * takes the place of one of the same name and variant.
 */
export const addModel = async (home: string, options: ModelToAdd): Promise<ModelFile> => {
  const { name, variant: asked } = parseModelName(options.name)
  if (name.toLowerCase() === STARTER) throw reserved()
  const root = modelsFolder(home)
  const { path: source, format } = await formatOf(resolve(options.path))
  const variant = normalVariant(asked ?? variantInName(basename(source)) ?? 'default')
  await mkdir(root, { recursive: true })
  await clearLeftovers(root, Date.now())
  const growing = join(root, `.adding-${randomBytes(6).toString('hex')}`)
  const file = basename(source).replace(/^\.+|[:\\]/g, '_')
  const folder = join(root, name, variant)
  try {
    const copied = await copyModel(source, join(growing, file), options.signal)
    const addedAt = (options.now ?? new Date()).toISOString()
    const about = { ...copied, source: options.source ?? source }
    await writeWhole(join(growing, 'model.json'), entryText({ name, variant, file, ...about, addedAt }))
    await mkdir(join(root, name), { recursive: true })
    await replace(root, growing, folder)
    return { name: `${name}:${variant}`, variant, path: join(folder, file), format, ...about }
  } catch (error) {
    await rm(growing, { recursive: true, force: true })
    throw error
  }
}

/**
 * Deletes `name:variant`, or every variant of `name`, damaged ones too.
 * @throws InferenceError model_not_found when there is nothing of that name.
 */
export const removeModel = async (home: string, text: string): Promise<void> => {
  const { name, variant } = parseModelName(text)
  if (name.toLowerCase() === STARTER) throw reserved()
  const root = modelsFolder(home)
  const folder = variant === null ? join(root, name) : join(root, name, normalVariant(variant))
  const isGone = (await discard(root, folder)) || (variant === null && (await discard(root, `${folder}.gguf`)))
  if (!isGone) {
    throw new InferenceError('model_not_found', `There is no model '${text}' in ${root}.`, { param: 'model' })
  }
  const left = await readdir(join(root, name)).catch(() => null)
  if (left?.length === 0) await discard(root, join(root, name))
}
