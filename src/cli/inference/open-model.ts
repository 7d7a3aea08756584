import * as models from '../../inference/choose-model-and-engine.ts'
import type { Engine } from '../../inference/engines/engine.ts'
import type { Session } from '../session.ts'

export type { ChosenModel } from '../../inference/choose-model-and-engine.ts'

/** In the folders of this session. @throws InferenceError model_not_found, invalid_model, unsupported, engine_missing */
export const chooseModelAndEngine = (
  { io, home }: Session,
  name: string,
  engine: string,
): Promise<models.ChosenModel> =>
  models.chooseModelAndEngine({ home: home.folder, cwd: io.cwd, env: io.env }, name, engine)

export const openChosen = (
  { io }: Session,
  chosen: models.ChosenModel,
  settings: models.EngineSettings,
): Promise<Engine> => models.openChosen(io.env, chosen, settings)
