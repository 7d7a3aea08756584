import { shellWord } from '../../domain/shell-word.ts'
import { readyModels } from '../../inference/models/model-folder.ts'
import { normalVariant } from '../../inference/models/variant.ts'
import { downloadFolder } from '../download-folder.ts'
import { Failure } from '../failure.ts'
import type { Session } from '../session.ts'
import { modelNamed, nullIfNotFound, referenced, requireVersion } from './catalog.ts'
import { addDownload } from './fetch-to-add.ts'
import { pull } from './pull.ts'

const SOURCE = /^https?:\/\/\S+\/api\/v1\/models\/\S+\/versions\/\d+\/download$/

/** True if a local model was pulled from a catalog. */
export const isOfCatalog = (source: string): boolean => SOURCE.test(source)

/** The local variant of a version: labels may have characters that variants may not. */
export const variantOf = (label: string): string => normalVariant(label.replace(/[^A-Za-z0-9._-]/g, '_'))

const requireGguf = (fileName: string, name: string): void => {
  if (/\.gguf$/i.test(fileName)) return
  const ending = /\.[a-z0-9]+$/i.exec(fileName)?.[0] ?? 'unknown'
  throw new Failure(`${name} is a ${ending} file, which cannot be run from the catalog: only GGUF files can.`, {
    advice: `Fetch the file with: svc pull ${shellWord(name)}. Llama and Qwen folders become GGUF with: svc convert <folder> --formats gguf`,
  })
}

/**
 * Pulls a model named `my-model` or `my-model@production` from the catalog into the models folder, unless that version is
 * already there. Returns its local name, `name:version`; null if not signed in, or if the catalog has no such model.
 * @throws Failure, including for a version that does not exist or a file that is not GGUF
 */
export const ensureFromCatalog = async (name: string, session: Session): Promise<string | null> => {
  if ((await session.apiKey(await session.apiBase(undefined))) === null) return null
  const connection = await session.signedIn({})
  const meant = await referenced(connection, name, 'latest')
  const model = await nullIfNotFound(modelNamed(connection, meant.name))
  if (model === null) {
    session.out.note(`The catalog of ${connection.baseUrl} has no model '${meant.name}'.`)
    return null
  }
  const version = requireVersion(model, meant.name, meant.version)
  const source = `${connection.baseUrl}/api/v1/models/${model.id}/versions/${version.version}/download`
  const there = (await readyModels(session.home.folder)).find((known) => known.source === source)
  if (there !== undefined) return there.name
  const folder = await downloadFolder(session.home.folder, source)
  const title = `${model.name ?? model.id}@${version.version_label}`
  const accept = (fileName: string): void => requireGguf(fileName, title)
  const { path } = await pull(
    { connection, modelId: model.id, version, format: undefined, output: `${folder}/`, accept },
    session,
  )
  const local = `${model.name ?? model.id}:${variantOf(version.version_label)}`
  const added = await addDownload({ name: local, path, source, title, folder }, session)
  session.out.note(`${title} is now here as ${added.name}.`)
  return added.name
}
