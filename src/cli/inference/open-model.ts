import * as models from '../../inference/choose-model-and-engine.ts'
import type { Engine } from '../../inference/engines/engine.ts'
import { localName } from '../model-sources/local-model.ts'
import type { Session } from '../session.ts'

export type { ChosenModel } from '../../inference/choose-model-and-engine.ts'

/**
 * Finds a model in this session's folders, downloading it first if needed.
 * @throws InferenceError model_not_found, invalid_model, unsupported, engine_missing
 */
export const chooseModelAndEngine = async (
  session: Session,
  name: string,
  engine: string,
): Promise<models.ChosenModel> =>
  models.chooseModelAndEngine(
    { home: session.home.folder, cwd: session.io.cwd, env: session.io.env },
    await localName(name, session, engine),
    engine,
  )

export const openChosen = (
  { io }: Session,
  chosen: models.ChosenModel,
  settings: models.EngineSettings,
): Promise<Engine> => models.openChosen(io.env, chosen, settings)
