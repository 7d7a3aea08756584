import { chooseEngine, type EngineChoice, thisPlatform } from './engines/choose-engine.ts'
import type { Engine } from './engines/engine.ts'
import { type OpenOptions, openEngine } from './engines/open-engine.ts'
import type { Environment } from './find-program.ts'
import type { ModelFile } from './models/model-file.ts'
import { findModel } from './models/model-folder.ts'

/** Where models and engines are looked for. */
export interface SearchPaths {
  /** The user's folder, which holds `models` and `engines`. */
  readonly home: string
  /** What relative paths of models start from. */
  readonly cwd: string
  /** PATH, and the settings of engines. */
  readonly env: Environment
}

/** A model by its name, and what will run it. */
export interface ChosenModel {
  readonly file: ModelFile
  readonly engine: EngineChoice
}

/**
 * Finds the model that was named and the engine for it, without loading it.
 * @param engine `auto`, or the name of an engine
 * @throws InferenceError model_not_found, invalid_model, unsupported, engine_missing
 */
export const chooseModelAndEngine = async (
  { home, cwd, env }: SearchPaths,
  name: string,
  engine: string,
): Promise<ChosenModel> => {
  const file = await findModel(name, home, cwd)
  return { file, engine: await chooseEngine({ model: file, wanted: engine, platform: thisPlatform(), env }) }
}

export type EngineSettings = Omit<OpenOptions, 'model' | 'engine' | 'env'>

/** Loads the model. @throws InferenceError invalid_model, out_of_memory, engine_failed */
export const openChosen = (
  env: Environment,
  { file, engine }: ChosenModel,
  settings: EngineSettings,
): Promise<Engine> => openEngine({ model: file, engine: engine.name, env, ...settings })
