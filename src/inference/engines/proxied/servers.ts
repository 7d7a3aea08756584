import { join } from 'node:path'
import { InferenceError } from '../../errors.ts'
import type { ModelFormat } from '../../models/model-file.ts'
import type { EngineName, ResponseFormat } from '../engine.ts'

/** Somebody else's program that serves a model over an OpenAI-style API: how it is started here, and where it runs otherwise. */
export interface ServerProgram {
  readonly name: EngineName
  /** What it is called on PATH. */
  readonly program: string
  /** The line that installs it. */
  readonly install: string
  readonly arguments: (path: string) => readonly string[]
  /** Of a server that somebody else started on this machine. */
  readonly usualAddress: string
  /** What it opens. */
  readonly format: ModelFormat
  /** Choices that it computes side by side. */
  readonly slots: number
  /** The file of a model's folder, and the key in it, that say how long a context may be. */
  readonly contextIn: { readonly file: string; readonly key: string }
  /** It ends a reply early unless it is told how long it may be. */
  readonly needsMaxTokens?: boolean
  /** What it takes of `response_format`, in its own spelling; null: it cannot force a format. */
  readonly responseFormat: ((format: ResponseFormat) => unknown) | null
}

/** As OpenAI spells it. */
export const openAiFormat = (format: ResponseFormat): unknown =>
  format.type === 'json_schema'
    ? {
        type: 'json_schema',
        json_schema: { name: format.name ?? 'answer', schema: format.schema, strict: format.strict },
      }
    : format

/** MLC's schema is a text, not an object. */
const mlcFormat = (format: ResponseFormat): unknown =>
  format.type === 'json_schema' ? { type: 'json_object', schema: JSON.stringify(format.schema) } : format

/** The engines that are somebody else's servers. None of them was ever run against the real program here. */
export const SERVERS = {
  'mlx-lm': {
    name: 'mlx-lm',
    program: 'mlx_lm.server',
    install: 'pip install mlx-lm',
    arguments: (path) => ['--model', path],
    usualAddress: 'http://127.0.0.1:8080/v1',
    format: 'mlx',
    slots: 8,
    contextIn: { file: 'config.json', key: 'max_position_embeddings' },
    needsMaxTokens: true,
    responseFormat: null,
  },
  vllm: {
    name: 'vllm',
    program: 'vllm',
    install: 'pip install vllm',
    arguments: (path) => ['serve', path],
    usualAddress: 'http://127.0.0.1:8000/v1',
    format: 'mlx',
    slots: 32,
    contextIn: { file: 'config.json', key: 'max_position_embeddings' },
    responseFormat: openAiFormat,
  },
  'mlc-llm': {
    name: 'mlc-llm',
    program: 'mlc_llm',
    install: 'see https://llm.mlc.ai/docs/install/mlc_llm.html',
    arguments: (path) => ['serve', path],
    usualAddress: 'http://127.0.0.1:8000/v1',
    format: 'mlc',
    // In its mode `local`, the default.
    slots: 4,
    contextIn: { file: 'mlc-chat-config.json', key: 'context_window_size' },
    responseFormat: mlcFormat,
  },
  // Takes messages and nothing else: sampling is what the model's config.json says.
  mnn: {
    name: 'mnn',
    program: 'mnncli',
    install: 'see https://github.com/alibaba/MNN/tree/master/apps/mnncli',
    arguments: (path) => ['serve', '--config', join(path, 'config.json')],
    usualAddress: 'http://127.0.0.1:8000/v1',
    format: 'mnn',
    slots: 1,
    contextIn: { file: 'llm_config.json', key: 'max_position_embeddings' },
    responseFormat: null,
  },
} as const satisfies Readonly<Record<string, ServerProgram>>

export const serverNamed = (name: string): ServerProgram | null =>
  Object.hasOwn(SERVERS, name) ? SERVERS[name as keyof typeof SERVERS] : null

/**
 * The address that an engine is named by: `http://host:8000` is `http://host:8000/v1`. Null for what is no address.
 * @throws InferenceError unsupported for an address that cannot be used
 */
export const addressOf = (engine: string): string | null => {
  if (!engine.includes('://')) return null
  const url = URL.canParse(engine) ? new URL(engine) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '') {
    const shown = engine.replace(/\/\/[^/@]*@/, '//').slice(0, 200)
    const key = 'a key goes into SERVICE_ENGINE_API_KEY'
    throw new InferenceError(
      'unsupported',
      `'${shown}' is not the address of an engine. Expected http://host:port/v1; ${key}.`,
      { param: 'engine' },
    )
  }
  return url.origin + (url.pathname === '/' ? '/v1' : url.pathname.replace(/\/+$/, ''))
}
