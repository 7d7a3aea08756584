import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { exists, nullIfNoPath } from '../../platform/files/missing-file.ts'
import { userFolder } from '../../platform/files/user-folder.ts'
import { InferenceError } from '../errors.ts'
import { bytesUnder } from './copy-model.ts'
import { readEntry } from './model-entry.ts'
import type { ModelFile } from './model-file.ts'
import { formatOf } from './model-format.ts'
import { looksLikePath, parseModelName } from './model-name.ts'
import { STARTER, starterModel } from './starter.ts'
import { chooseVariant, variantInName } from './variant.ts'

/** `<home>/models` has a folder per name, which has a folder per variant with its files and a model.json. */
export const modelsFolder = (home: string): string => join(home, 'models')

export type ListedModel =
  | { readonly state: 'ready'; readonly model: ModelFile; readonly addedAt: string | null }
  | { readonly state: 'damaged'; readonly name: string; readonly path: string; readonly fault: string }

/** Skips hidden entries, which are being added or removed. */
const entriesIn = async (folder: string): Promise<readonly Dirent[]> => {
  const entries = (await nullIfNoPath(readdir(folder, { withFileTypes: true }))) ?? []
  return entries.filter(({ name }) => !name.startsWith('.'))
}

const look = async (folder: string, name: string): Promise<ListedModel> => {
  try {
    const { addedAt, ...model } = await readEntry(folder)
    return { state: 'ready', model: { ...model, name }, addedAt }
  } catch (error) {
    return { state: 'damaged', name, path: folder, fault: (error as Error).message }
  }
}

const GGUF = /\.gguf$/i

/** Finds a model that the user put there by hand: a GGUF file or an engine's model folder; otherwise null. */
const putByHand = async (path: string): Promise<ListedModel | null> => {
  const found = await formatOf(path).catch(() => null)
  if (found === null) return null
  const variant = variantInName(basename(found.path)) ?? variantInName(basename(path))
  const bytes = await bytesUnder(found.path)
  const model = { name: basename(path).replace(GGUF, ''), variant, ...found, bytes, sha256: null, source: 'by hand' }
  return { state: 'ready', model, addedAt: null }
}

const inFolder = async (path: string): Promise<readonly ListedModel[]> => {
  const name = basename(path)
  const variants = (await entriesIn(path)).filter((entry) => entry.isDirectory())
  const listed = await Promise.all(variants.map((variant) => look(join(path, variant.name), `${name}:${variant.name}`)))
  if (listed.some(({ state }) => state === 'ready')) return listed
  const whole = await putByHand(path)
  if (whole !== null) return [whole]
  if (listed.length > 0) return listed
  return [{ state: 'damaged', name, path, fault: 'it contains neither a model nor a variant with a model.json' }]
}

const nameOf = (listed: ListedModel): string => (listed.state === 'ready' ? listed.model.name : listed.name)

/** Lists the starter model and every model in the models folder by name, damaged ones with their faults. */
export const listModels = async (home: string): Promise<readonly ListedModel[]> => {
  const root = modelsFolder(home)
  const kept = await Promise.all(
    (await entriesIn(root)).map(async (entry) => {
      const path = join(root, entry.name)
      if (entry.isDirectory()) return inFolder(path)
      return GGUF.test(entry.name) ? [await putByHand(path)].filter((found) => found !== null) : []
    }),
  )
  const starter: ListedModel = { state: 'ready', model: await starterModel(), addedAt: null }
  return [starter, ...kept.flat().sort((one, other) => nameOf(one).localeCompare(nameOf(other), 'en'))]
}

const readyIn = (listed: readonly ListedModel[]): readonly ModelFile[] =>
  listed.flatMap((entry) => (entry.state === 'ready' ? [entry.model] : []))

/** Lists the models that can be opened. */
export const readyModels = async (home: string): Promise<readonly ModelFile[]> => readyIn(await listModels(home))

const notFound = (message: string): InferenceError => new InferenceError('model_not_found', message, { param: 'model' })

const howToGet = (home: string): string =>
  `Give hf:org/model, ollama:name, or the path of a GGUF file or a model folder, or put one in ${modelsFolder(home)}.`

/** The address of a model, as people copy it, or as Ollama takes it. */
const HUGGING_FACE = /^(?:https:\/\/)?(?:hf|huggingface)\.co\/([^/?#]+\/[^/?#]+)/

const atPath = async (text: string, cwd: string): Promise<ModelFile | null> => {
  const given = resolve(cwd, text.replace(/^~(?=$|[/\\])/, userFolder()))
  if (!(await exists(given))) return null
  const found = await formatOf(given)
  const name = basename(found.path)
  return {
    name: name.replace(/\.(gguf|onnx)$/i, ''),
    variant: variantInName(name),
    ...found,
    bytes: await bytesUnder(found.path),
    sha256: null,
    source: 'path',
  }
}

/**
 * Finds a model by what the user wrote: `starter`, `name`, `name:variant`, or the path of a file or folder.
 * @param home the user's folder, `~/.svc` unless SERVICE_HOME is set
 * @throws InferenceError model_not_found, which lists the models; invalid_model for a path to something else or a damaged entry
 */
export const findModel = async (text: string, home: string, cwd = process.cwd()): Promise<ModelFile> => {
  if (looksLikePath(text)) {
    const found = await atPath(text, cwd)
    if (found !== null) return found
    const [, model] = HUGGING_FACE.exec(text) ?? []
    throw notFound(
      `There is no file or folder ${resolve(cwd, text)}.${model ? ` For the model on Hugging Face, give hf:${model}.` : ''}`,
    )
  }
  const { name, variant } = parseModelName(text)
  const listed = await listModels(home)
  const same = listed.filter((entry) => nameOf(entry).split(':')[0]!.toLowerCase() === name.toLowerCase())
  const ready = readyIn(same)
  const chosen = chooseVariant(ready, variant)
  if (chosen !== null) return { ...chosen, name: text }
  if (ready.length > 0) {
    const names = ready.map((model) => (model.name === STARTER ? `${STARTER}:${model.variant}` : model.name))
    throw notFound(`The model '${name}' has no variant '${variant}'. Variants: ${names.join(', ')}.`)
  }
  const [damaged] = same
  if (damaged?.state === 'damaged') {
    const message = `The model '${damaged.name}' in ${damaged.path} is damaged: ${damaged.fault}.`
    throw new InferenceError('invalid_model', message, { param: 'model' })
  }
  const here = await atPath(text, cwd).catch(() => null)
  if (here !== null) return here
  throw notFound(`There is no model '${text}'. Models: ${listed.map(nameOf).join(', ')}. ${howToGet(home)}`)
}
