import { addModel } from '../../inference/models/change-models.ts'
import type { ModelFile } from '../../inference/models/model-file.ts'
import { listModels } from '../../inference/models/model-folder.ts'
import { isModelSource, parseModelSource, plainNameOf } from '../../inference/sources/model-source.ts'
import { Failure } from '../failure.ts'
import type { Session } from '../session.ts'
import { fetchToAdd } from './fetch-to-add.ts'

/** Whether two names are of one repository; what was added by hand is of none. */
const isOfSamePlace = (one: string, other: string): boolean => {
  if (!isModelSource(one)) return false
  const [first, second] = [parseModelSource(one), parseModelSource(other)]
  if (first.kind === 'hf' && second.kind === 'hf') return first.repo === second.repo
  return (
    first.kind === 'ollama' &&
    second.kind === 'ollama' &&
    first.namespace === second.namespace &&
    first.name === second.name
  )
}

const ready = async ({ home }: Session): Promise<readonly ModelFile[]> =>
  (await listModels(home.folder)).flatMap((entry) => (entry.state === 'ready' ? [entry.model] : []))

/**
 * The model that `hf:org/model:quantization` or `ollama:name` stands for, downloaded into the models folder unless it is there:
 * under the last part of its name, with the variant that its file names.
 * @throws Failure, also where that name belongs to a model of another place
 */
export const ensureLocal = async (
  source: string,
  session: Session,
): Promise<{ readonly model: ModelFile; readonly wasThere: boolean }> => {
  const known = await ready(session)
  const there = known.find((model) => model.source === source)
  if (there !== undefined) return { model: there, wasThere: true }
  const name = plainNameOf(parseModelSource(source))
  const taken = known.find((model) => model.name.split(':')[0]!.toLowerCase() === name.toLowerCase())
  if (taken !== undefined && !isOfSamePlace(taken.source, source)) {
    throw new Failure(`The name '${name}' belongs to a model from ${taken.source}.`, {
      advice: `Give this one another name: svc add <name> ${source}`,
    })
  }
  const { io, home } = session
  const fetched = await fetchToAdd(source, session)
  const model = await addModel(home.folder, {
    name,
    path: fetched.path,
    source,
    ...(io.signal && { signal: io.signal }),
  })
  await fetched.discard()
  return { model, wasThere: false }
}

/** What a user named, as a name or path of this machine: models of Hugging Face and Ollama are downloaded first. */
export const localName = async (name: string, session: Session): Promise<string> => {
  if (!isModelSource(name)) return name
  const { model, wasThere } = await ensureLocal(name, session)
  if (!wasThere) session.out.note(`${name} is now here as ${model.name}.`)
  return model.name
}
