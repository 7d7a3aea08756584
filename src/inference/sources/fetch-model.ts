import { dirname, join, posix } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasCredentials, withoutCredentials } from '../../domain/address-credentials.ts'
import { type DownloadOptions, downloadFile } from '../../platform/transfer/download-file.ts'
import type { FoundFile } from '../../platform/transfer/remote-file.ts'
import { Interruption, TransferError } from '../../platform/transfer/transfer-error.ts'
import { type ListedFile, onnxPartsOf } from './choose-file.ts'
import { readExternalFiles } from './external-data.ts'
import { findOnHuggingFace, type HuggingFaceSettings, listOnHuggingFace } from './hugging-face.ts'
import type { HuggingFaceSource, ModelSource } from './model-source.ts'
import { findInOllamaRegistry } from './ollama-registry.ts'

const HUGGING_FACE = 'https://huggingface.co'
const OLLAMA = 'https://registry.ollama.ai'
const LOOKS = 3
const FIRST_WAIT_MS = 500

type Environment = Readonly<Record<string, string | undefined>>

const addressIn = (env: Environment, name: string, usual: string): URL => {
  const text = env[name]?.trim() || usual
  const url = URL.canParse(text) ? new URL(text) : null
  const advice = `It must look like ${usual}.`
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new TransferError(`${name} is not a web address: '${withoutCredentials(text)}'.`, { advice })
  }
  if (hasCredentials(url)) {
    throw new TransferError(`${name} contains a user name or password.`, { advice })
  }
  return url
}

/**
 * Finds the file for a name such as `hf:org/model`. Uses HF_ENDPOINT, HF_TOKEN, and OLLAMA_REGISTRY. `listed` are the files of a
 * Hugging Face repository, if they are known already.
 * @throws TransferError if it is not available
 */
export const findModelFile = (
  source: ModelSource,
  env: Environment,
  signal: AbortSignal,
  listed?: readonly ListedFile[],
): Promise<FoundFile> =>
  asking(source, signal, () =>
    source.kind === 'hf'
      ? findOnHuggingFace(source, hubIn(env, signal), listed)
      : findInOllamaRegistry(source, { registry: addressIn(env, 'OLLAMA_REGISTRY', OLLAMA), signal }),
  )

/** One of a model's files, and its place in the model's folder. */
export interface FoundPart {
  readonly place: string
  readonly found: FoundFile
}

const listFiles = (source: HuggingFaceSource, env: Environment, signal: AbortSignal) =>
  asking(source, signal, () => listOnHuggingFace(source, hubIn(env, signal)))

const findParts = async (
  source: HuggingFaceSource,
  places: Iterable<string>,
  listed: readonly ListedFile[],
  env: Environment,
  signal: AbortSignal,
): Promise<readonly FoundPart[]> => {
  const parts: FoundPart[] = []
  for (const place of places)
    parts.push({ place, found: await findModelFile({ ...source, file: place }, env, signal, listed) })
  return parts
}

/** Like findModelFile, but for the files of an ONNX model. Its weights may be in further files: see findExternalFiles. */
export const findModelParts = async (
  source: ModelSource,
  env: Environment,
  signal: AbortSignal,
): Promise<readonly FoundPart[]> => {
  const listed = source.kind === 'hf' && source.file === null ? await listFiles(source, env, signal) : undefined
  const paths = listed === undefined ? null : onnxPartsOf(listed)
  if (source.kind === 'hf' && listed !== undefined && paths !== null)
    return findParts(source, paths, listed, env, signal)
  const found = await findModelFile(source, env, signal, listed)
  return [{ place: found.fileName, found }]
}

/**
 * Finds the files in which the downloaded graphs of an ONNX model keep weights.
 * @throws TransferError if one is missing
 */
export const findExternalFiles = async (
  source: ModelSource,
  folder: string,
  parts: readonly FoundPart[],
  env: Environment,
  signal: AbortSignal,
): Promise<readonly FoundPart[]> => {
  // A single file is not a whole ONNX model.
  if (source.kind !== 'hf' || parts.length === 1) return []
  const places = new Set<string>()
  for (const { place } of parts)
    if (place.endsWith('.onnx'))
      for (const name of await readExternalFiles(join(folder, place))) places.add(posix.join(dirname(place), name))
  const outside = [...places].find((place) => place.startsWith('../') || place.includes('\\'))
  if (outside !== undefined) throw new TransferError(`The model names a file outside of its repository: '${outside}'.`)
  return places.size === 0 ? [] : findParts(source, places, await listFiles(source, env, signal), env, signal)
}

const hubIn = (env: Environment, signal: AbortSignal): HuggingFaceSettings => ({
  endpoint: addressIn(env, 'HF_ENDPOINT', HUGGING_FACE),
  token: env.HF_TOKEN?.trim() || null,
  signal,
})

/** Retries if there is no answer. @throws TransferError */
const asking = async <T>(source: ModelSource, signal: AbortSignal, find: () => Promise<T>): Promise<T> => {
  for (let looks = 1; ; looks++) {
    try {
      return await find()
    } catch (error) {
      if (!(error instanceof Interruption)) throw error
      if (looks === LOOKS) {
        const from = source.kind === 'hf' ? 'Hugging Face' : "Ollama's registry"
        throw new TransferError(`${from} cannot be reached: ${error.message}.`, {
          cause: error,
          advice: 'Try again later.',
        })
      }
      await sleep(error.waitMs ?? FIRST_WAIT_MS * looks, undefined, { signal })
    }
  }
}

/** Downloads a found file into a folder under its own name. @throws TransferError */
export const fetchModelFile = async (found: FoundFile, folder: string, options: DownloadOptions): Promise<string> => {
  const path = join(folder, found.fileName)
  await downloadFile(found, path, options)
  return path
}
