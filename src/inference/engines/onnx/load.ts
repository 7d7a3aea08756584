import { errorMessage } from '../../../domain/error-message.ts'
import type { ModelFolder } from './model-folder.ts'
import { invalidModel } from './model-json.ts'
import type { Settings } from './settings.ts'
import type { Tokenizer, Transformers } from './transformers.ts'

/** What each kind of model needs to load. */
export interface Loading {
  readonly transformers: Transformers
  readonly model: ModelFolder
  readonly settings: Settings
}

const explained = async <Thing>(what: string, loading: Promise<Thing>): Promise<Thing> => {
  try {
    return await loading
  } catch (error) {
    throw invalidModel(`${what} cannot be loaded: ${errorMessage(error)}`)
  }
}

const LOCAL = { local_files_only: true }

export const loadTokenizer = ({ transformers, model }: Loading): Promise<Tokenizer> =>
  explained(`The tokenizer in ${model.folder}`, transformers.AutoTokenizer.from_pretrained(model.folder, LOCAL))

export const loadFeatureExtractor = ({ transformers, model }: Loading) =>
  explained(
    `preprocessor_config.json in ${model.folder}`,
    transformers.AutoFeatureExtractor.from_pretrained(model.folder, LOCAL),
  )

export const loadWeights = <Thing>(
  loader: { from_pretrained(folder: string, options: object): Promise<Thing> },
  { model: { folder, files }, settings: { threads } }: Loading,
): Promise<Thing> => {
  const names = Object.keys(files.dtype)
  return explained(
    `The ONNX model in ${folder}`,
    loader.from_pretrained(folder, {
      ...LOCAL,
      device: 'cpu',
      subfolder: files.subfolder,
      dtype: names.length === 1 ? files.dtype[names[0]!] : files.dtype,
      ...(names.length === 1 && files.fileName !== 'model' && { model_file_name: files.fileName }),
      session_options: { intraOpNumThreads: threads, interOpNumThreads: 1 },
    }),
  )
}
