import { basename, dirname } from 'node:path'

/** The error codes of the inference server with their HTTP status. Bodies have OpenAI's format. */
const KINDS = {
  invalid_request: { status: 400, type: 'invalid_request_error' },
  context_length_exceeded: { status: 400, type: 'invalid_request_error' },
  unsupported: { status: 400, type: 'invalid_request_error' },
  expectation_failed: { status: 417, type: 'invalid_request_error' },
  invalid_api_key: { status: 401, type: 'invalid_request_error' },
  host_not_allowed: { status: 403, type: 'invalid_request_error' },
  model_not_found: { status: 404, type: 'invalid_request_error' },
  not_found: { status: 404, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  request_timeout: { status: 408, type: 'invalid_request_error' },
  request_too_large: { status: 413, type: 'invalid_request_error' },
  queue_full: { status: 503, type: 'server_error' },
  engine_missing: { status: 503, type: 'server_error' },
  out_of_memory: { status: 503, type: 'server_error' },
  /** The model file is the server's, so this is not the client's fault. */
  invalid_model: { status: 500, type: 'server_error' },
  engine_failed: { status: 500, type: 'server_error' },
  /** From a server that is used as an engine. */
  upstream_failed: { status: 502, type: 'server_error' },
  upstream_timeout: { status: 504, type: 'server_error' },
} as const

export type InferenceErrorCode = keyof typeof KINDS

/** An error for users of the inference server: what was wrong, where, and what to do. */
export class InferenceError extends Error {
  readonly code: InferenceErrorCode
  /** The request field at fault. */
  readonly param: string | null
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: InferenceErrorCode,
    message: string,
    options: { readonly param?: string; readonly retryAfterSeconds?: number; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'InferenceError'
    this.code = code
    this.param = options.param ?? null
    this.retryAfterSeconds = options.retryAfterSeconds
  }

  get statusCode(): number {
    return KINDS[this.code].status
  }

  toJSON() {
    const { message, param, code } = this
    return { error: { message, type: KINDS[code].type, param, code } }
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
