import { watchStall } from '../../../platform/transfer/resume-download.ts'
import type { Embeddings } from '../engine.ts'

/** A chunk of a streamed chat completion. Fields that the server omits are null. */
export interface ChatPiece {
  readonly text: string
  /** Pieces of calls. The first piece of each has its id and name. */
  readonly calls: readonly {
    readonly index: number
    readonly id: string | null
    readonly name: string | null
    readonly arguments: string
  }[]
  readonly finishReason: string | null
  readonly usage: {
    readonly promptTokens: number
    readonly completionTokens: number
    readonly cachedTokens: number
  } | null
}

/** An OpenAI-compatible server. */
export interface Server {
  /** With /v1, without a trailing slash. */
  readonly baseUrl: string
  readonly key?: string | null
  /** A request fails after receiving nothing for this long. */
  readonly stallMs?: number
}

/** An error response of a server, or an error within a stream. */
export class ChatServerError extends Error {
  override readonly name = 'ChatServerError'
  /** null within a stream. */
  readonly status: number | null
  /** The seconds in its Retry-After header. */
  readonly retryAfter: number | null

  constructor(message: string, status: number | null, retryAfter: number | null = null) {
    super(message)
    this.status = status
    this.retryAfter = retryAfter
  }
}

/** The server sent nothing for too long. */
export class ServerStalled extends Error {
  override readonly name = 'ServerStalled'
}

const STALL_MS = 300_000
/** Half a million numbers take about 10 MB. */
const MAX_ANSWER_BYTES = 256 * 2 ** 20

type Json = Readonly<Record<string, unknown>>

const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const count = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** Reads errors in OpenAI's format, and plain strings, which some servers send. */
const messageOf = (error: unknown): string => {
  const { message } = object(error)
  return typeof message === 'string' ? message : typeof error === 'string' ? error : JSON.stringify(error)
}

const refusal = async (response: Response): Promise<ChatServerError> => {
  const text = await response.text().catch(() => '')
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const say = (message: string) =>
    new ChatServerError(message.slice(0, 2000), response.status, Number.isFinite(seconds) ? seconds : null)
  try {
    const body = object(JSON.parse(text))
    return say(messageOf(body.error ?? body.detail ?? body))
  } catch {
    return say(text.slice(0, 500) || `status ${response.status}`)
  }
}

/** Yields the bytes of the response to one request. */
async function* responseOf(
  { baseUrl, key, stallMs = STALL_MS }: Server,
  path: string,
  body: object | null,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const watch = watchStall(stallMs, signal)
  try {
    const response = await fetch(`${baseUrl}/${path}`, {
      ...(body !== null && { method: 'POST', body: JSON.stringify(body) }),
      headers: {
        accept: 'application/json, text/event-stream',
        ...(body !== null && { 'content-type': 'application/json' }),
        ...(key && { authorization: `Bearer ${key}` }),
      },
      signal: watch.signal,
    })
    if (!response.ok || response.body === null) throw await refusal(response)
    for await (const bytes of response.body) {
      watch.alive()
      yield bytes
    }
  } catch (error) {
    signal.throwIfAborted()
    if (watch.signal.aborted) throw new ServerStalled(`nothing arrived for ${stallMs / 1000} s`, { cause: error })
    throw error
  } finally {
    watch.end()
  }
}

const askOnce = async (server: Server, path: string, body: object | null, signal: AbortSignal): Promise<Json> => {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const bytes of responseOf(server, path, body, signal)) {
    size += bytes.length
    if (size > MAX_ANSWER_BYTES) throw new ChatServerError('its response is too large', null)
    pieces.push(bytes)
  }
  const text = Buffer.concat(pieces).toString('utf8')
  try {
    return object(JSON.parse(text))
  } catch {
    throw new ChatServerError(`it sent something other than JSON: ${text.slice(0, 200)}`, null)
  }
}

/** Yields the data of complete server-sent events. */
async function* eventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let held = ''
  for await (const bytes of body) {
    held += decoder.decode(bytes, { stream: true })
    const events = held.split(/\r?\n\r?\n/)
    held = events.pop()!
    for (const event of events) {
      const data = event.split(/\r?\n/).flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? [])
      if (data.length > 0) yield data.join('\n')
    }
  }
}

const callIn = (value: unknown, position: number): ChatPiece['calls'][number] => {
  const { index, id, function: called } = object(value)
  const { name, arguments: given } = object(called)
  return {
    index: typeof index === 'number' ? index : position,
    id: typeof id === 'string' && id !== '' ? id : null,
    name: typeof name === 'string' && name !== '' ? name : null,
    arguments: typeof given === 'string' ? given : '',
  }
}

const pieceIn = (data: string): ChatPiece => {
  let value: Json
  try {
    value = object(JSON.parse(data))
  } catch {
    throw new ChatServerError(`it sent something other than JSON: ${data.slice(0, 200)}`, null)
  }
  if (value.error !== undefined) throw new ChatServerError(messageOf(value.error), null)
  const choice = object(list(value.choices)[0])
  const { content, tool_calls: calls } = object(choice.delta)
  const usage = object(value.usage)
  const finishReason = choice.finish_reason
  return {
    text: typeof content === 'string' ? content : '',
    calls: list(calls).map(callIn),
    finishReason: typeof finishReason === 'string' && finishReason !== '' ? finishReason : null,
    usage:
      typeof usage.prompt_tokens === 'number'
        ? {
            promptTokens: usage.prompt_tokens,
            completionTokens: count(usage.completion_tokens),
            cachedTokens: count(object(usage.prompt_tokens_details).cached_tokens),
          }
        : null,
  }
}

/**
 * Requests a streamed chat completion.
 * @throws ChatServerError for an error from the server, even mid-stream; ServerStalled; fetch's error if it is unreachable; and
 * an Error if the stream ends early
 */
export async function* streamChat(server: Server, body: object, signal: AbortSignal): AsyncGenerator<ChatPiece> {
  const requested = { ...body, stream: true, stream_options: { include_usage: true } }
  for await (const data of eventData(responseOf(server, 'chat/completions', requested, signal))) {
    if (data.trim() === '[DONE]') return
    yield pieceIn(data)
  }
  throw new Error('the stream ended early')
}

/** Returns one vector per input, as computed by the server. @throws like streamChat */
export const embedTexts = async (
  server: Server,
  model: string | null,
  inputs: readonly string[],
  signal: AbortSignal,
): Promise<Embeddings> => {
  const requested = { ...(model !== null && { model }), input: inputs, encoding_format: 'float' }
  const { data, usage } = await askOnce(server, 'embeddings', requested, signal)
  const vectors = new Array<Float32Array | undefined>(inputs.length).fill(undefined)
  for (const [position, entry] of list(data).entries()) {
    const { index = position, embedding } = object(entry)
    const numbers = list(embedding)
    if (numbers.length > 0 && numbers.every((one) => typeof one === 'number'))
      vectors[Number(index)] = Float32Array.from(numbers)
  }
  const whole = vectors.slice(0, inputs.length).filter((vector) => vector !== undefined)
  if (whole.length < inputs.length)
    throw new ChatServerError(`it sent ${whole.length} of ${inputs.length} vectors`, null)
  return { vectors: whole, tokens: count(object(usage).prompt_tokens) }
}

/** Lists the server's models, with their context length if it is reported, as by vLLM. @throws like streamChat */
export const listServed = async (
  server: Server,
  signal: AbortSignal,
): Promise<readonly { readonly name: string; readonly contextTokens: number | null }[]> =>
  list((await askOnce(server, 'models', null, signal)).data).flatMap((entry) => {
    const { id, max_model_len: length } = object(entry)
    return typeof id === 'string' ? [{ name: id, contextTokens: typeof length === 'number' ? length : null }] : []
  })
