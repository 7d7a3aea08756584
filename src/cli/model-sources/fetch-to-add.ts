import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { InferenceError } from '../../inference/errors.ts'
import { type AddedModel, addModel, type ModelToAdd, parseNameToAdd } from '../../inference/models/change-models.ts'
import { kindOfFile } from '../../inference/sources/choose-file.ts'
import {
  type FoundPart,
  fetchModelFile,
  findExternalFiles,
  findModelParts,
} from '../../inference/sources/fetch-model.ts'
import { parseModelSource } from '../../inference/sources/model-source.ts'
import { downloadFolder } from '../download-folder.ts'
import { Failure } from '../failure.ts'
import { showProgress } from '../progress.ts'
import type { Session } from '../session.ts'

/**
 * Downloads `hf:org/model` or `ollama:name` to a folder: a GGUF file, or the files of an ONNX model.
 * @param accept called with the files' places in the folder before the download; may throw
 * @throws TransferError
 */
export const downloadParts = async (
  text: string,
  folder: string,
  { io, out }: Session,
  accept?: (places: readonly string[]) => void,
): Promise<readonly string[]> => {
  const source = parseModelSource(text)
  const paths: string[] = []
  const download = async (parts: readonly FoundPart[]): Promise<void> => {
    for (const { place, found } of parts) {
      for (const note of found.notes) out.note(note)
      const bar = showProgress(io, `Downloading ${place}`)
      try {
        paths.push(
          await fetchModelFile(found, join(folder, dirname(place)), { signal: io.signal, progress: bar.update }),
        )
      } finally {
        bar.end()
      }
    }
  }
  const parts = await findModelParts(source, io.env, io.signal)
  accept?.(parts.map(({ place }) => place))
  await download(parts)
  await download(await findExternalFiles(source, folder, parts, io.env, io.signal))
  return paths
}

/** @throws Failure for files that no engine can open */
const requireComplete = (text: string, places: readonly string[]): void => {
  const kind = places.length === 1 ? kindOfFile(places[0]!) : null
  const isWithoutTokenizer = places.length > 1 && !places.includes('tokenizer.json')
  if (kind === null && !isWithoutTokenizer) return
  throw new Failure(
    isWithoutTokenizer
      ? `${text} cannot run here: it has no tokenizer.json next to its config.json, which every ONNX model needs.`
      : `${text} cannot run here: ${places[0]} alone is not a model that an engine opens (${kind}).`,
    {
      advice:
        'Models from there must be GGUF files, or have config.json, tokenizer.json, and onnx/model.onnx or a quantization of it.',
    },
  )
}

/**
 * Adds a model from the folder of its download, and deletes that folder; also if the model is refused, because another attempt
 * would be refused, too.
 * @param title the model in errors, instead of the path
 */
export const addDownload = async (
  { title, folder, ...model }: ModelToAdd & { readonly title: string; readonly folder: string },
  { io, home }: Session,
): Promise<AddedModel> => {
  const discard = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    const added = await addModel(home.folder, { ...model, signal: io.signal })
    await discard()
    return added
  } catch (error) {
    if (!(error instanceof InferenceError && error.code === 'invalid_model')) throw error
    await discard()
    throw new Failure(error.message.replaceAll(model.path, title), { cause: error })
  }
}

/** Downloads `hf:org/model` or `ollama:name` and adds it. Interrupted downloads are kept and resumed. @throws TransferError, Failure */
export const fetchToAdd = async (name: string, text: string, session: Session): Promise<AddedModel> => {
  parseNameToAdd(name)
  const folder = await downloadFolder(session.home.folder, text)
  const paths = await downloadParts(text, folder, session, (places) => requireComplete(text, places))
  const path = paths.length === 1 ? paths[0]! : folder
  return addDownload({ name, path, source: text, title: text, folder }, session)
}
