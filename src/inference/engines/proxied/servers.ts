import { join } from 'node:path'
import { hasCredentials, withoutCredentials } from '../../../domain/address-credentials.ts'
import { InferenceError } from '../../errors.ts'
import type { ModelFormat } from '../../models/model-file.ts'
import type { EngineName, ResponseFormat } from '../engine.ts'

/** A third-party program that serves a model over an OpenAI-compatible API: how to start it here, and its default address. */
export interface ServerProgram {
  readonly name: EngineName
  /** Its name on PATH. */
  readonly program: string
  /** The install command. */
  readonly install: string
  readonly arguments: (path: string) => readonly string[]
  /** The address of a server that the user has started on this machine. */
  readonly usualAddress: string
  /** The format that it opens. */
  readonly format: ModelFormat
  /** Choices that it computes in parallel. */
  readonly slots: number
  /** The file and key in a model's folder that define the maximum context length. */
  readonly contextIn: { readonly file: string; readonly key: string }
  /** It ends replies early without a maximum length. */
  readonly needsMaxTokens?: boolean
  /** Converts a format to its `response_format`; null if it cannot enforce one. */
  readonly responseFormat: ((format: ResponseFormat) => unknown) | null
}

/** OpenAI's notation. */
export const openAiFormat = (format: ResponseFormat): unknown =>
  format.type === 'json_schema'
    ? {
        type: 'json_schema',
        json_schema: { name: format.name ?? 'answer', schema: format.schema, strict: format.strict },
      }
    : format

/** MLC takes the schema as a string rather than an object. */
const mlcFormat = (format: ResponseFormat): unknown =>
  format.type === 'json_schema' ? { type: 'json_object', schema: JSON.stringify(format.schema) } : format

/** The engines that are third-party servers. None of them has been run against the real program here. */
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
    // The limit of its default mode, `local`.
    slots: 4,
    contextIn: { file: 'mlc-chat-config.json', key: 'context_window_size' },
    responseFormat: mlcFormat,
  },
  // Takes only messages: the sampling settings are in the model's config.json.
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
} as const satisfies Readonly<Record<Exclude<EngineName, 'llama.cpp' | 'onnxruntime' | 'openai'>, ServerProgram>>

export const serverNamed = (name: string): ServerProgram | null =>
  Object.hasOwn(SERVERS, name) ? SERVERS[name as keyof typeof SERVERS] : null

/**
 * Parses the address of an engine: `http://host:8000` becomes `http://host:8000/v1`. Null if it is not an address.
 * @throws InferenceError unsupported for an address that cannot be used
 */
export const addressOf = (engine: string): string | null => {
  if (!engine.includes('://')) return null
  const url = URL.canParse(engine) ? new URL(engine) : null
  if (url === null || !/^https?:$/.test(url.protocol) || hasCredentials(url) || url.search !== '' || url.hash !== '') {
    const shown = withoutCredentials(engine).slice(0, 200)
    const key = 'without a user name, password, or query; a key goes into SERVICE_ENGINE_API_KEY'
    throw new InferenceError(
      'unsupported',
      `'${shown}' is not the address of an engine. Expected http://host:port/v1, ${key}.`,
      { param: 'engine' },
    )
  }
  return url.origin + (url.pathname === '/' ? '/v1' : url.pathname.replace(/\/+$/, ''))
}
