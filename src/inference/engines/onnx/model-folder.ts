import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { InferenceError } from '../../errors.ts'
import { invalidModel, type JsonObject, readObject } from './model-json.ts'
import { findOnnxFiles, type OnnxFiles } from './onnx-files.ts'
import type { ModelKind } from './settings.ts'

export interface ModelFolder {
  readonly folder: string
  readonly kind: ModelKind
  readonly config: JsonObject
  readonly files: OnnxFiles
}

/** Returns the folder with config.json, and the file in it if the path names one. */
const locate = async (path: string): Promise<{ readonly folder: string; readonly file: string | null }> => {
  const given = resolve(path)
  const info = await stat(given).catch(() => null)
  if (info === null) throw invalidModel(`There is no file or folder ${given}.`)
  if (info.isDirectory()) return { folder: given, file: null }
  const beside = dirname(given)
  return { folder: basename(beside) === 'onnx' ? dirname(beside) : beside, file: given }
}

const kindOf = (names: readonly string[], config: JsonObject): ModelKind => {
  if (config.model_type === 'whisper') return 'speech'
  // A language model that was converted to embeddings has separate files that show it.
  if (names.includes('modules.json') || names.includes('config_sentence_transformers.json')) return 'embeddings'
  const [architecture = ''] = Array.isArray(config.architectures) ? config.architectures.map(String) : []
  if (/ForCausalLM$|LMHeadModel$/.test(architecture)) return 'chat'
  if (architecture === '' || /Model$|ForMaskedLM$/.test(architecture)) return 'embeddings'
  throw new InferenceError(
    'unsupported',
    `The model is a ${architecture}. Here, onnxruntime runs embedding models, Whisper models, and language models.`,
    { param: 'model' },
  )
}

const NEEDED: Readonly<Record<ModelKind, { readonly stems: readonly string[]; readonly beside: readonly string[] }>> = {
  embeddings: { stems: ['model'], beside: ['tokenizer.json'] },
  chat: { stems: ['model'], beside: ['tokenizer.json'] },
  speech: {
    stems: ['encoder_model', 'decoder_model_merged'],
    beside: ['tokenizer.json', 'preprocessor_config.json', 'generation_config.json'],
  },
}

/**
 * Inspects a model's folder without loading it.
 * @throws InferenceError invalid_model for missing or damaged files, unsupported for other kinds of models
 */
export const readModelFolder = async (path: string): Promise<ModelFolder> => {
  const { folder, file } = await locate(path)
  const names = await readdir(folder)
  if (!names.includes('config.json')) {
    throw invalidModel(`There is no config.json in ${folder}: it must be next to the ONNX model.`)
  }
  const config = await readObject(join(folder, 'config.json'))
  const kind = kindOf(names, config)
  const { stems, beside } = NEEDED[kind]
  const missing = beside.find((name) => !names.includes(name))
  if (missing !== undefined) throw invalidModel(`There is no ${missing} in ${folder}.`)
  return { folder, kind, config, files: await findOnnxFiles(folder, file, stems) }
}
