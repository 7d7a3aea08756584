import { follow, jsonOf } from '../../platform/transfer/follow.ts'
import { type FoundFile, safeFileName } from '../../platform/transfer/remote-file.ts'
import { TransferError } from '../../platform/transfer/transfer-error.ts'
import type { OllamaSource } from './model-source.ts'

// A Docker registry (https://distribution.github.io/distribution/spec/api/) with Ollama's media types for layers.

const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json'
export const MODEL_LAYER = 'application/vnd.ollama.image.model'
const MAX_MANIFEST_BYTES = 4 * 1024 ** 2
/** Tokens of the registry last five minutes. */
const TOKEN_MS = 60_000

export interface OllamaSettings {
  /** OLLAMA_REGISTRY. */
  readonly registry: URL
  readonly signal: AbortSignal
}

interface Layer {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

const objectOf = async (response: Response): Promise<Readonly<Record<string, unknown>>> =>
  ((await jsonOf(response, MAX_MANIFEST_BYTES)) ?? {}) as Readonly<Record<string, unknown>>

const isLayer = (value: unknown): value is Layer => {
  const { mediaType, digest, size } = (value ?? {}) as Readonly<Record<string, unknown>>
  return typeof mediaType === 'string' && typeof digest === 'string' && Number.isSafeInteger(size)
}

/** Layers that change a model's replies and are not used, besides its own weights, template, and parameters. */
const UNUSED: ReadonlyMap<string, string> = new Map([
  ['adapter', 'adapter'],
  ['projector', 'projector'],
  ['system', 'system message'],
])

/** Returns the notes for the user on the layers of a manifest. */
export const notesOn = (layers: readonly unknown[]): readonly string[] => {
  const kinds = layers.map(
    (layer) =>
      String((layer as Partial<Layer> | null)?.mediaType)
        .split('.')
        .at(-1)!,
  )
  const unused = [...new Set(kinds)].flatMap((kind) => UNUSED.get(kind) ?? [])
  return unused.length === 0 ? [] : [`Only the weights are used, not the ${unused.join(' and the ')}.`]
}

/** Returns the address to get a token from, given in `Bearer realm="https://…",service="…",scope="…"`. */
const challengeOf = (response: Response): URL | null => {
  const header = response.headers.get('www-authenticate') ?? ''
  if (!/^bearer /i.test(header)) return null
  const fields = new Map(
    [...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!.toLowerCase(), value!]),
  )
  const realm = fields.get('realm')
  if (realm === undefined || !URL.canParse(realm)) return null
  const url = new URL(realm)
  for (const name of ['service', 'scope']) {
    const value = fields.get(name)
    if (value !== undefined) url.searchParams.set(name, value)
  }
  return url
}

/** Keeps a token for one model, and renews it when it is old. */
const createTokens = ({ registry, signal }: OllamaSettings) => {
  let realm: URL | null = null
  let token: { readonly text: string; readonly since: number } | null = null
  const headers = async (): Promise<Readonly<Record<string, string>>> => {
    if (realm === null) return {}
    if (token === null || performance.now() - token.since > TOKEN_MS) {
      const { response } = await follow(realm, { signal })
      const answer = response.ok ? await objectOf(response) : null
      const text = answer?.token ?? answer?.access_token
      if (typeof text !== 'string') {
        throw new TransferError(`${realm.host} gives no token for this model.`, { advice: 'It may be private.' })
      }
      token = { text, since: performance.now() }
    }
    return { authorization: `Bearer ${token.text}` }
  }
  return {
    headers,
    /** True if a 401 response names where to get a token for a retry. */
    challenged(response: Response): boolean {
      const requested = realm === null ? challengeOf(response) : null
      if (requested === null || (requested.protocol !== 'https:' && registry.protocol === 'https:')) return false
      realm = requested
      return true
    },
  }
}

/**
 * Finds the weights of a model in Ollama's registry.
 * @throws TransferError if there are none or they may not be read; Interruption if there is no answer
 */
export const findInOllamaRegistry = async (source: OllamaSource, settings: OllamaSettings): Promise<FoundFile> => {
  const { namespace, name, tag } = source
  const { registry, signal } = settings
  const label = `ollama:${namespace === 'library' ? '' : `${namespace}/`}${name}:${tag}`
  const at = (path: string): URL =>
    new URL(
      `${registry.href.replace(/\/$/, '')}/v2/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/${path}`,
    )
  const tokens = createTokens(settings)

  const refusal = async (response: Response): Promise<TransferError> => {
    await response.body?.cancel()
    if (response.status === 404) {
      return new TransferError(`${registry.host} has no model ${label}.`, { advice: 'Check its name and its tag.' })
    }
    if (response.status === 401 || response.status === 403) {
      return new TransferError(`${label} at ${registry.host} is not public.`, {
        advice: 'Pull it with Ollama where you are signed in, then push the file.',
      })
    }
    return new TransferError(`${registry.host} returned ${response.status} for ${label}.`, {
      advice: 'Try again later.',
    })
  }

  const askForManifest = async (): Promise<Response> =>
    (
      await follow(at(`manifests/${encodeURIComponent(tag)}`), {
        headers: { accept: MANIFEST },
        ownHeaders: await tokens.headers(),
        signal,
      })
    ).response
  let response = await askForManifest()
  if (response.status === 401 && tokens.challenged(response)) {
    await response.body?.cancel()
    response = await askForManifest()
  }
  if (!response.ok) throw await refusal(response)

  const { layers } = await objectOf(response)
  if (!Array.isArray(layers)) throw new TransferError(`The server at ${registry.href} is not an Ollama registry.`)
  const models = layers.filter(isLayer).filter(({ mediaType }) => mediaType === MODEL_LAYER)
  const [model] = models
  if (model === undefined || models.length > 1) {
    throw new TransferError(`${label} has its weights in ${models.length} files; only one file is supported.`)
  }
  const hex = /^sha256:([0-9a-f]{64})$/.exec(model.digest)?.[1]
  if (hex === undefined) throw new TransferError(`The manifest of ${label} has no sha256 of its weights.`)
  return {
    label,
    url: at(`blobs/sha256:${hex}`),
    ownHeaders: tokens.headers,
    etag: null,
    size: model.size,
    digest: { algorithm: 'sha256', hex },
    refusal,
    fileName: safeFileName(`${name}-${tag}.gguf`),
    notes: notesOn(layers),
  }
}
