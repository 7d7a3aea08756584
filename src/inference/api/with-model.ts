import type { Engine } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'
import { type Admissions, withSlot } from '../runtime/queue/admission.ts'
import type { AvailableModels } from './available-models.ts'

/** What requests other than chats need from the server. */
export interface ModelDeps {
  readonly models: AvailableModels
  readonly admissions: Admissions
}

type Ability = 'embed' | 'transcribe'

const LACKS: Readonly<Record<Ability, string>> = {
  embed: 'does not compute embeddings',
  transcribe: 'does not transcribe speech',
}

/**
 * Runs `work` with the model loaded and one of its slots held.
 * @throws InferenceError model_not_found, queue_full, or unsupported if the model lacks the ability
 */
export const withModel = async <A extends Ability, T>(
  { models, admissions }: ModelDeps,
  { name, ability, signal }: { readonly name: string; readonly ability: A; readonly signal: AbortSignal },
  work: (engine: Engine & Required<Pick<Engine, A>>) => Promise<T>,
): Promise<T> => {
  const lease = await models.open(name, signal)
  try {
    const { engine } = lease
    if (engine[ability] === undefined) {
      throw new InferenceError('unsupported', `The model '${name}' ${LACKS[ability]}.`, { param: 'model' })
    }
    return await withSlot(admissions.of(engine), signal, () => work(engine as Engine & Required<Pick<Engine, A>>))
  } finally {
    lease.release()
  }
}
