import { chooseEngine, thisPlatform } from '../../inference/engines/choose-engine.ts'
import type { ModelFile } from '../../inference/models/model-file.ts'
import { listModels } from '../../inference/models/model-folder.ts'
import { STARTER } from '../../inference/models/starter.ts'
import type { Session } from '../session.ts'

const isForCode = ({ name }: ModelFile): boolean => /cod(e|er|ing)|devstral/i.test(name)

const canRun = async (model: ModelFile, { io }: Session): Promise<boolean> => {
  // Mostly embedding and speech models.
  if (model.format === 'onnx') return false
  const question = { model, requested: 'auto', platform: thisPlatform(), env: io.env }
  return chooseEngine(question).then(
    () => true,
    () => false,
  )
}

/** Returns the best local model for code that can run here: a code model, otherwise the largest. */
export const modelForCode = async (session: Session): Promise<string> => {
  const { io, home } = session
  if (io.env.SERVICE_MODEL) return io.env.SERVICE_MODEL
  const listed = await listModels(home.folder)
  const there = listed.flatMap((entry) => (entry.state === 'ready' ? [entry.model] : []))
  const runs = await Promise.all(there.map((model) => canRun(model, session)))
  const [best] = there
    .filter((_model, index) => runs[index])
    .sort((one, other) => Number(isForCode(other)) - Number(isForCode(one)) || other.bytes - one.bytes)
  return best?.name ?? STARTER
}
