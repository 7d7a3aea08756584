import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { userFolder } from '../../platform/files/user-folder.ts'
import { digestOf } from '../../platform/transfer/file-sink.ts'
import type { OllamaSource } from './model-source.ts'
import { MODEL_LAYER, notesOn } from './ollama-registry.ts'

/** Where Ollama keeps models on this machine: OLLAMA_MODELS, otherwise ~/.ollama/models. */
export const ollamaFolder = ({ OLLAMA_MODELS }: Readonly<Record<string, string | undefined>>): string =>
  OLLAMA_MODELS || join(userFolder(), '.ollama', 'models')

/**
 * Finds the weights of a model that Ollama has pulled to this machine. Its folder (OLLAMA_MODELS) contains the registry's
 * manifests unchanged, and blobs by digest. Returns null if there are none, or if they do not match the manifest.
 */
export const findInLocalOllama = async (
  { namespace, name, tag }: OllamaSource,
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly path: string; readonly notes: readonly string[] } | null> => {
  const folder = ollamaFolder(env)
  const manifest = join(folder, 'manifests', 'registry.ollama.ai', namespace, name, tag)
  try {
    const { layers: listed } = JSON.parse(await readFile(manifest, 'utf8')) as { readonly layers?: unknown }
    const layers: readonly (Readonly<Record<string, unknown>> | null)[] = Array.isArray(listed) ? listed : []
    const digests = layers.flatMap((layer) => (layer?.mediaType === MODEL_LAYER ? [String(layer.digest)] : []))
    const hex = digests.length === 1 ? /^sha256:([0-9a-f]{64})$/.exec(digests[0]!)?.[1] : undefined
    if (hex === undefined) return null
    const path = join(folder, 'blobs', `sha256-${hex}`)
    const isRight = (await stat(path)).isFile() && (await digestOf(path, 'sha256')) === hex
    return isRight ? { path, notes: notesOn(layers) } : null
  } catch {
    // Not pulled, or only in part: the registry has it.
    return null
  }
}
