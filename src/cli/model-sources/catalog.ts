import { ApiError } from '../../client/client.ts'
import { meantBy } from '../../domain/misspelling.ts'
import { splitReference } from '../../domain/model-reference.ts'
import type { Connection } from '../connection.ts'
import { Failure, wrongUsage } from '../failure.ts'

export type ModelDetail = Awaited<ReturnType<typeof modelNamed>>
export type ListedVersion = ModelDetail['versions'][number]

/** Returns the result, or null if the service answers not_found. */
export const nullIfNotFound = async <Value>(requested: Promise<Value>): Promise<Value | null> => {
  try {
    return await requested
  } catch (error) {
    if (error instanceof Failure && error.cause instanceof ApiError && error.cause.code === 'not_found') return null
    throw error
  }
}

/** Returns a model with its versions, by name or id. @throws Failure */
export const modelNamed = (connection: Connection, nameOrId: string) =>
  connection.request((client) => client.GET('/api/v1/models/{model_id}', { params: { path: { model_id: nameOrId } } }))

/**
 * Returns the model and version that a command refers to: `my-model@production` contains both. A model whose name is the whole
 * text takes precedence. @throws Failure if the option names a different version than the text
 */
export const referenced = async (
  connection: Connection,
  text: string,
  version: string,
): Promise<{ readonly name: string; readonly version: string }> => {
  const split = splitReference(text)
  if (split === null || (await nullIfNotFound(modelNamed(connection, text))) !== null) return { name: text, version }
  if (version === 'latest' || version === split.version) return split
  throw wrongUsage(
    `'${text}' names version ${split.version}, but version ${version} is given too.`,
    'Give only one of them.',
  )
}

/** Returns the names of the newest 100 models. */
const namesOf = async (connection: Connection): Promise<readonly string[]> => {
  const { models } = await connection.request((client) =>
    client.GET('/api/v1/models', { params: { query: { limit: 100, offset: 0 } } }),
  )
  return models.flatMap(({ name }) => (name === null ? [] : [name]))
}

const LIST = 'List models with svc models, or add one with svc push.'

/** Returns a model that must be in the catalog. @throws Failure that suggests the closest name */
export const knownModel = async (connection: Connection, nameOrId: string, advice = LIST): Promise<ModelDetail> => {
  const model = await nullIfNotFound(modelNamed(connection, nameOrId))
  if (model !== null) return model
  const meant = meantBy(nameOrId, await namesOf(connection))
  throw new Failure(`The catalog has no model '${nameOrId}'${meant === null ? '.' : `; did you mean '${meant}'?`}`, {
    advice,
  })
}

/** Replaces the error for a model, or a version of it, that does not exist by one that says which there are. */
export const ofKnownModel = async <Value>(
  connection: Connection,
  { name, version }: { readonly name: string; readonly version?: string },
  requested: Promise<Value>,
): Promise<Value> => {
  if ((await nullIfNotFound(requested)) === null) {
    const model = await knownModel(connection, name)
    if (version !== undefined) requireVersion(model, name, version)
  }
  return requested
}

/** Like `knownModel`, but the error also mentions --allow-unknown. */
export const deployedModel = (connection: Connection, nameOrId: string): Promise<ModelDetail> =>
  knownModel(connection, nameOrId, `${LIST} To deploy a name that devices resolve themselves: --allow-unknown.`)

/** Finds a version by label, number, alias, or `latest`; null if there is none. */
export const versionNamed = ({ versions }: ModelDetail, text: string): ListedVersion | null => {
  if (text === 'latest') return [...versions].sort((one, other) => other.version - one.version)[0] ?? null
  const number = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null
  return (
    versions.find(({ version, version_label }) => version === number || version_label === text) ??
    versions.find(({ aliases }) => aliases.includes(text)) ??
    null
  )
}

/** @throws Failure that lists the available versions */
export const requireVersion = (model: ModelDetail, name: string, text: string): ListedVersion => {
  const found = versionNamed(model, text)
  if (found !== null) return found
  const labels = model.versions.map(({ version_label, aliases }) =>
    aliases.length === 0 ? version_label : `${version_label} (${aliases.join(', ')})`,
  )
  throw new Failure(`Model '${name}' has no version ${text}.`, {
    advice:
      labels.length === 0 ? 'It has no versions. Upload one with: svc push' : `It has ${labels.slice(-20).join(', ')}.`,
  })
}
