import { basename, dirname } from 'node:path'

/** The error codes of the inference server with their HTTP status. Bodies have OpenAI's format. */
const STATUSES = {
  invalid_request: 400,
  context_length_exceeded: 400,
  unsupported: 400,
  expectation_failed: 417,
  invalid_api_key: 401,
  host_not_allowed: 403,
  model_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  request_too_large: 413,
  queue_full: 503,
  engine_missing: 503,
  out_of_memory: 503,
  /** The model file is the server's, so this is not the client's fault. */
  invalid_model: 500,
  engine_failed: 500,
  /** From a server that is used as an engine. */
  upstream_failed: 502,
  upstream_timeout: 504,
} as const

export type InferenceErrorCode = keyof typeof STATUSES

/** An error for users of the inference server: what was wrong, where, and what to do. */
export class InferenceError extends Error {
  readonly code: InferenceErrorCode
  /** The request field at fault. */
  readonly param: string | null
  readonly retryAfterSeconds: number | undefined
  /** What Anthropic's clients read to go on without an optional feature. */
  readonly anthropicDetails: object | undefined

  constructor(
    code: InferenceErrorCode,
    message: string,
    options: {
      readonly param?: string
      readonly retryAfterSeconds?: number
      readonly anthropicDetails?: object
      readonly cause?: unknown
    } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'InferenceError'
    this.code = code
    this.param = options.param ?? null
    this.retryAfterSeconds = options.retryAfterSeconds
    this.anthropicDetails = options.anthropicDetails
  }

  get statusCode(): number {
    return STATUSES[this.code]
  }

  toJSON() {
    const { message, param, code } = this
    const type = this.statusCode < 500 ? 'invalid_request_error' : 'server_error'
    return { error: { message, type, param, code } }
  }
}

/** The files that an engine loads a model from. */
export interface LoadedFiles {
  readonly path: string
  readonly lora?: readonly string[]
  readonly draft?: { readonly path?: string } | null
}

/** Replaces the paths of a model's files and folders by their names: clients need not know where a server keeps its files. */
export const withoutFolders = (message: string, { path, lora = [], draft }: LoadedFiles): string => {
  const files = [path, ...lora, ...(draft?.path === undefined ? [] : [draft.path])]
  // A file of an ONNX model may be in a folder of the model's. A folder at the top, such as /models, could be part of any path.
  const folders = [...files.map(dirname), ...files.map((file) => dirname(dirname(file)))].filter(
    (folder) => dirname(folder) !== dirname(dirname(folder)),
  )
  return [...files, ...folders].reduce((text, known) => text.replaceAll(known, basename(known)), message)
}
