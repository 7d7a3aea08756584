import { chooseEngine, type EngineChoice, thisPlatform } from '../../inference/engines/choose-engine.ts'
import type { Engine } from '../../inference/engines/engine.ts'
import { type OpenOptions, openEngine } from '../../inference/engines/open-engine.ts'
import type { ModelFile } from '../../inference/models/model-file.ts'
import { findModel } from '../../inference/models/model-folder.ts'
import type { Session } from '../session.ts'

/** A model by its name, and what will run it. */
export interface ChosenModel {
  readonly file: ModelFile
  readonly engine: EngineChoice
}

/**
 * Finds the model that was named and the engine for it, without loading it.
 * @throws InferenceError model_not_found, invalid_model, unsupported, engine_missing
 */
export const chooseModelAndEngine = async (
  { io, home }: Session,
  name: string,
  wanted: string,
): Promise<ChosenModel> => {
  const file = await findModel(name, home.folder, io.cwd)
  return { file, engine: await chooseEngine({ model: file, wanted, platform: thisPlatform(), env: io.env }) }
}

export const openChosen = (
  { io }: Session,
  { file, engine }: ChosenModel,
  settings: Omit<OpenOptions, 'model' | 'engine' | 'env'>,
): Promise<Engine> => openEngine({ model: file, engine: engine.name, env: io.env, ...settings })
