import { isAlias, splitReference } from '../../domain/model-reference.ts'
import { shellWord } from '../../domain/shell-word.ts'
import { addressOf, serverNamed } from '../../inference/engines/proxied/servers.ts'
import { InferenceError } from '../../inference/errors.ts'
import type { ModelFile } from '../../inference/models/model-file.ts'
import { findModel, listModels, readyModels } from '../../inference/models/model-folder.ts'
import { looksLikePath } from '../../inference/models/model-name.ts'
import { isModelSource, parseModelSource, plainNameOf } from '../../inference/sources/model-source.ts'
import { UnreachableError } from '../connection.ts'
import { Failure } from '../failure.ts'
import type { Session } from '../session.ts'
import { ensureFromCatalog, isOfCatalog, variantOf } from './catalog-model.ts'
import { fetchToAdd } from './fetch-to-add.ts'

/** True if two sources are of the same repository. A model added by hand has none. */
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

/**
 * Returns the model for `hf:org/model:quantization` or `ollama:name`. Downloads it into the models folder unless it is there,
 * under the last part of its name, with the variant that its file names.
 * @throws Failure, including if that name belongs to a model from another source
 */
export const ensureLocal = async (
  source: string,
  session: Session,
): Promise<{ readonly model: ModelFile; readonly wasThere: boolean }> => {
  const known = await readyModels(session.home.folder)
  const there = known.find((model) => model.source === source)
  if (there !== undefined) return { model: there, wasThere: true }
  const name = plainNameOf(parseModelSource(source))
  const taken = known.find((model) => model.name.split(':')[0]!.toLowerCase() === name.toLowerCase())
  if (taken !== undefined && !isOfSamePlace(taken.source, source)) {
    throw new Failure(`The name '${name}' belongs to a model from ${taken.source}.`, {
      advice: `Give this one another name: svc add <name> ${shellWord(source)}`,
    })
  }
  return { model: await fetchToAdd(name, source, session), wasThere: false }
}

/** True if the model is local and not from a catalog, or names an exact pulled version. Other errors are reported later. */
const isHere = async (name: string, { home, io }: Session): Promise<boolean> => {
  try {
    const { source } = await findModel(name, home.folder, io.cwd)
    return !isOfCatalog(source) || name.includes(':')
  } catch (error) {
    return !(error instanceof InferenceError && error.code === 'model_not_found')
  }
}

/**
 * Returns the version that was pulled before, for when the service cannot say which one is meant: an exact version by its label
 * or number; otherwise the most recently added one.
 */
const lastPulled = async (text: string, { home }: Session): Promise<string | null> => {
  const { name, version } = splitReference(text) ?? { name: text, version: 'latest' }
  const isExact = version !== 'latest' && !isAlias(version)
  const pulled = (await listModels(home.folder)).flatMap((entry) => {
    if (entry.state !== 'ready' || !isOfCatalog(entry.model.source)) return []
    const [known, variant] = entry.model.name.split(':')
    const isMeant =
      !isExact || variant === variantOf(version) || entry.model.source.endsWith(`/versions/${version}/download`)
    return known === name && isMeant ? [entry] : []
  })
  const [latest] = pulled.sort((one, other) => (other.addedAt ?? '').localeCompare(one.addedAt ?? ''))
  return latest?.model.name ?? null
}

const fromCatalog = async (name: string, session: Session): Promise<string | null> => {
  try {
    return await ensureFromCatalog(name, session)
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error
    const last = await lastPulled(name, session)
    // A plain name may be a misspelled local one, and the next error lists those.
    if (last === null && splitReference(name) !== null) throw error
    session.out.note(`${error.message}${last === null ? '' : ` Using ${last}, which was pulled before.`}`)
    return last
  }
}

/**
 * Returns the local name or path for a name from the user. Downloads Hugging Face and Ollama models first, and catalog models
 * unless another local model has the name.
 * @param engine if it is a server, the name is returned unchanged: the server has its own models
 */
export const localName = async (name: string, session: Session, engine = 'auto'): Promise<string> => {
  if (isModelSource(name)) {
    const { model, wasThere } = await ensureLocal(name, session)
    if (!wasThere) session.out.note(`${name} is now here as ${model.name}.`)
    return model.name
  }
  const isElsewhere = addressOf(engine) !== null || serverNamed(engine) !== null
  if (isElsewhere || looksLikePath(name) || (await isHere(name, session))) return name
  const found = (await fromCatalog(name, session)) ?? (await lastPulled(name, session))
  if (found === null && splitReference(name) !== null) {
    const isSignedIn = (await session.apiKey(await session.apiBase(undefined))) !== null
    throw new Failure(`${name} is not on this machine. Only the catalog of a service has versions and aliases.`, {
      advice: `${isSignedIn ? '' : 'Sign in to the service that has it: svc login. '}List local models with: svc list models`,
    })
  }
  return found ?? name
}
