import { TransferError } from '../../platform/transfer/transfer-error.ts'

/** A model in a Hugging Face repository. `file` is a path in it, or the name of a quantization such as Q4_K_M. */
export interface HuggingFaceSource {
  readonly kind: 'hf'
  readonly repo: string
  readonly revision: string
  readonly file: string | null
}

export interface OllamaSource {
  readonly kind: 'ollama'
  readonly namespace: string
  readonly name: string
  readonly tag: string
}

export type ModelSource = HuggingFaceSource | OllamaSource

const HUGGING_FACE = /^(?<repo>[\w.-]+(?:\/[\w.-]+)?)(?:@(?<revision>[^:@]+))?(?::(?<file>.+))?$/
const OLLAMA = /^(?:(?<namespace>[\w.-]+)\/)?(?<name>[\w.-]+)(?::(?<tag>[\w.-]+))?$/

/** True if a part is empty or dots, which would lead to another address. */
const climbs = (text: string): boolean => text.split('/').some((part) => part === '' || part === '.' || part === '..')

/** True if the text names a model from elsewhere: `hf:…` or `ollama:…`. */
export const isModelSource = (text: string): boolean => /^(hf|ollama):/i.test(text)

/**
 * Parses `hf:org/model@revision:file` or `ollama:namespace/name:tag`, where only the name is required.
 * @throws TransferError that shows the expected format
 */
export const parseModelSource = (text: string): ModelSource => {
  const [, scheme, rest] = /^(hf|ollama):(.*)$/is.exec(text) ?? []
  if (scheme?.toLowerCase() === 'hf') {
    const { repo, revision, file } = HUGGING_FACE.exec(rest!)?.groups ?? {}
    if (repo !== undefined && ![repo, revision ?? 'main', file ?? 'any'].some(climbs)) {
      return { kind: 'hf', repo, revision: revision ?? 'main', file: file ?? null }
    }
  }
  if (scheme?.toLowerCase() === 'ollama') {
    const { namespace, name, tag } = OLLAMA.exec(rest!)?.groups ?? {}
    if (name !== undefined && ![namespace ?? 'library', name, tag ?? 'latest'].some(climbs)) {
      return { kind: 'ollama', namespace: namespace ?? 'library', name, tag: tag ?? 'latest' }
    }
  }
  throw new TransferError(`'${text.slice(0, 200)}' is not the name of a model.`, {
    advice: 'Names look like hf:org/model, hf:org/model@revision:file.gguf, ollama:name, or ollama:name:tag.',
  })
}

/** Returns a name to store the model under: the last part of the repository, or Ollama's name. */
export const plainNameOf = (source: ModelSource): string =>
  source.kind === 'ollama' ? source.name : source.repo.split('/').at(-1)!
