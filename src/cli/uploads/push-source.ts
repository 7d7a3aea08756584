import { readdir, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { MODEL_NAME } from '../../domain/model.ts'
import { InferenceError } from '../../inference/errors.ts'
import { readSplitCount } from '../../inference/models/gguf/header.ts'
import { findModel } from '../../inference/models/model-folder.ts'
import { readExternalFiles } from '../../inference/sources/external-data.ts'
import { fetchModelFile, findModelFile } from '../../inference/sources/fetch-model.ts'
import { findInLocalOllama } from '../../inference/sources/local-ollama.ts'
import { isModelSource, parseModelSource, plainNameOf } from '../../inference/sources/model-source.ts'
import { nullIfNoPath } from '../../platform/files/missing-file.ts'
import { downloadFolder } from '../download-folder.ts'
import { Failure, wrongUsage } from '../failure.ts'
import { showProgress } from '../progress.ts'
import type { Session } from '../session.ts'

/** A file to push, and its metadata. */
export interface Pushed {
  readonly path: string
  readonly fileName: string
  /** The default name in the catalog. */
  readonly name: string
  /** Stored with the version: where the file came from. */
  readonly description: string
  /** True for a download, which is deleted once it is in the catalog. */
  readonly isOurs: boolean
}

const ENDINGS = /\.(pt2?|pth|bin|h5|keras|pkl|joblib|onnx|ubj|tflite|mlmodel|safetensors|gguf|npz|npy|f32)$/i

/** `My Model-v2.onnx` -> `My_Model-v2`: a name that the catalog accepts. */
const nameFor = (text: string): string =>
  text
    .replace(ENDINGS, '')
    .replace(/[^A-Za-z0-9._-]/g, '_')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 128)

const theOneIn = async (folder: string, shown: string): Promise<string> => {
  const found = (await readdir(folder, { withFileTypes: true }))
    .filter((entry) => entry.isFile() && ENDINGS.test(entry.name))
    .map(({ name }) => name)
    .sort()
  if (found.length === 1) return join(folder, found[0]!)
  throw wrongUsage(
    found.length === 0
      ? `There is no model file in ${shown}.`
      : `There are several model files in ${shown}: ${found.slice(0, 10).join(', ')}${found.length > 10 ? ', …' : ''}.`,
    'Say which file to push: svc push <file> --version 1.0.0',
  )
}

const fromSource = async (text: string, { io, home, out }: Session): Promise<Pushed> => {
  const source = parseModelSource(text)
  const here = source.kind === 'ollama' && !io.env.OLLAMA_REGISTRY ? await findInLocalOllama(source, io.env) : null
  if (source.kind === 'ollama' && here !== null) {
    out.note('Read from the models that Ollama has pulled to this machine.')
    for (const note of here.notes) out.note(note)
    const { name, tag } = source
    return {
      path: here.path,
      fileName: `${name}-${tag}.gguf`,
      name: nameFor(name),
      description: `From ${text}`,
      isOurs: false,
    }
  }
  const found = await findModelFile(source, io.env, io.signal)
  for (const note of found.notes) out.note(note)
  // Each file has its own folder, so that an interrupted download can be resumed.
  const folder = await downloadFolder(home.folder, `${found.label} ${found.digest.hex}`)
  const bar = showProgress(io, `Downloading ${found.fileName}`)
  try {
    const path = await fetchModelFile(found, folder, { signal: io.signal, progress: bar.update })
    await requireSingleFile(path)
    const { fileName, label } = found
    return { path, fileName, name: nameFor(plainNameOf(source)), description: `From ${label}`, isOurs: true }
  } finally {
    bar.end()
  }
}

/** @throws Failure for a file that is only a part of its model */
const requireSingleFile = async (path: string): Promise<void> => {
  const name = basename(path)
  const parts = readSplitCount(path)
  if (parts > 1) {
    throw new Failure(`${name} is one of ${parts} parts of a model, but a version is one file.`, {
      advice: 'Merge the parts with llama-gguf-split --merge, or use a smaller quantization.',
    })
  }
  const [further] = name.toLowerCase().endsWith('.onnx') ? await readExternalFiles(path) : []
  if (further !== undefined) {
    throw new Failure(`${name} stores weights in another file, ${further}, but a version is one file.`, {
      advice: "Save it as one file: onnx.save(onnx.load(path), 'whole.onnx', save_as_external_data=False).",
    })
  }
}

const fileAt = async (path: string): Promise<Pushed> => {
  await requireSingleFile(path)
  return { path, fileName: basename(path), name: nameFor(basename(path)), description: '', isOurs: false }
}

/**
 * Returns the file for a path, `hf:…` or `ollama:…` (downloaded first), or a local model's name. Without a text, the only model
 * file in this folder.
 * @throws Failure
 */
export const pushSourceOf = async (text: string | undefined, session: Session): Promise<Pushed> => {
  const { io, home } = session
  if (text === undefined) return fileAt(await theOneIn(io.cwd, 'this folder'))
  if (isModelSource(text)) return fromSource(text, session)
  const path = resolve(io.cwd, text)
  const found = await nullIfNoPath(stat(path))
  if (found?.isFile()) return fileAt(path)
  if (found?.isDirectory()) return fileAt(await theOneIn(path, text))
  if (found !== null) throw new Failure(`${text} is not a regular file.`)
  // With an extension or a slash, it is a file, not a model name.
  if (ENDINGS.test(text) || /[/\\]/.test(text)) throw new Failure(`There is no file ${text}.`)
  try {
    const model = await findModel(text, home.folder, io.cwd)
    const at = (await stat(model.path)).isDirectory() ? await theOneIn(model.path, `the model ${text}`) : model.path
    return { ...(await fileAt(at)), name: nameFor(model.name.split(':')[0]!) }
  } catch (error) {
    if (!(error instanceof InferenceError)) throw error
    throw new Failure(`There is no file and no model '${text}' here.`, {
      advice: 'List local models with: svc list models. Other sources: hf:<org>/<model>, ollama:<name>.',
      cause: error,
    })
  }
}

/** @throws Failure (wrong usage) if the catalog would not accept the name */
export const requireModelName = (name: string, from: '--model-id' | 'file'): string => {
  if (MODEL_NAME.test(name)) return name
  throw from === 'file'
    ? wrongUsage('No model name can be derived from the file name.', 'Name the model with --model-id.')
    : wrongUsage(
        `--model-id '${name.slice(0, 150)}' cannot be the name of a model.`,
        "Names have up to 128 letters, digits, '.', '_', and '-', and start with a letter or a digit.",
      )
}
