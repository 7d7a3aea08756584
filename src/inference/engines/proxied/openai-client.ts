import { watchStall } from '../../../platform/transfer/resume-download.ts'
import type { Embeddings } from '../engine.ts'
import { ChatServerError, ServerStalled } from './server-errors.ts'

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
    readonly completionTokens: number | null
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

const STALL_MS = 300_000
/** Half a million numbers take about 10 MB. */
const MAX_RESPONSE_BYTES = 256 * 2 ** 20
/** The longest line of a stream, in characters. */
const MAX_LINE = 16 * 2 ** 20
const MAX_REFUSAL = 64 * 2 ** 10

type Json = Readonly<Record<string, unknown>>

const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns null for a value that no count can have. */
const count = (value: unknown): number | null =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : null

/** Reads errors in OpenAI's format, and plain strings, which some servers send. */
const messageOf = (error: unknown): string => {
  const { message } = object(error)
  return typeof message === 'string' ? message : typeof error === 'string' ? error : JSON.stringify(error)
}

/** Reads the beginning of an error's body, as far as it arrives. */
const beginningOf = async ({ body }: Response): Promise<string> => {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const bytes of body ?? []) {
      text += decoder.decode(bytes, { stream: true })
      if (text.length >= MAX_REFUSAL) break
    }
  } catch {
    // The connection broke, or the server is too slow.
  }
  return text
}

const refusalOf = async (response: Response): Promise<ChatServerError> => {
  const text = await beginningOf(response)
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

/** Yields the bytes of the response to one request. @throws ChatServerError for an error response, or too many bytes */
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
    if (!response.ok || response.body === null) throw await refusalOf(response)
    let size = 0
    for await (const bytes of response.body) {
      watch.alive()
      size += bytes.length
      if (size > MAX_RESPONSE_BYTES) throw new ChatServerError('its response is too large', null)
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
  for await (const bytes of responseOf(server, path, body, signal)) pieces.push(bytes)
  const text = Buffer.concat(pieces).toString('utf8')
  try {
    return object(JSON.parse(text))
  } catch {
    throw new ChatServerError(`it sent something other than JSON: ${text.slice(0, 200)}`, null)
  }
}

/** Yields complete lines. Some servers end without the last line's newline. */
async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let line = ''
  for await (const bytes of body) {
    const [first, ...others] = decoder.decode(bytes, { stream: true }).split('\n')
    line += first
    if (line.length > MAX_LINE) throw new ChatServerError('it sent a line that is too long', null)
    for (const next of others) {
      yield line.replace(/\r$/, '')
      line = next
    }
  }
  const last = line.trimEnd()
  // Otherwise the line was cut off.
  if (last.endsWith('}') || last.endsWith('[DONE]')) yield last
}

/**
 * Yields the data of server-sent events. Some servers end without the last event's empty line, and some send one JSON object
 * instead of a stream.
 */
async function* eventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = []
  const whole: string[] = []
  let isStream = false
  for await (const line of linesOf(body)) {
    isStream ||= line.startsWith('data:')
    if (!isStream && (whole.length > 0 || line.trimStart().startsWith('{'))) whole.push(line)
    if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5))
    if (line !== '' || data.length === 0) continue
    yield data.join('\n')
    data = []
  }
  if (!isStream) data = whole
  if (data.length > 0) yield data.join('\n')
}

const callIn = (value: unknown, position: number): ChatPiece['calls'][number] => {
  const { index, id, function: called } = object(value)
  const { name, arguments: given } = object(called)
  return {
    index: typeof index === 'number' ? index : position,
    id: typeof id === 'string' && id !== '' ? id : null,
    name: typeof name === 'string' && name !== '' ? name : null,
    // Some servers send them as an object.
    arguments: typeof given === 'string' ? given : Object.keys(object(given)).length > 0 ? JSON.stringify(given) : '',
  }
}

/** Content may be a list of parts. */
const textOf = (content: unknown): string =>
  [typeof content === 'string' ? content : list(content).map((part) => object(part).text ?? object(part).refusal)]
    .flat()
    .filter((text) => typeof text === 'string')
    .join('')

const pieceIn = (data: string, isFirst: boolean): ChatPiece => {
  let value: Json
  try {
    value = object(JSON.parse(data))
  } catch {
    throw new ChatServerError(`it sent something other than JSON: ${data.slice(0, 200)}`, null)
  }
  if ((value.error ?? null) !== null) throw new ChatServerError(messageOf(value.error), null)
  const choice = object(list(value.choices)[0])
  // At the end of a stream, some servers repeat the reply as a message.
  const { content, refusal, tool_calls: calls } = object(choice.delta ?? (isFirst ? choice.message : null))
  const usage = object(value.usage)
  const [promptTokens, completionTokens] = [count(usage.prompt_tokens), count(usage.completion_tokens)]
  const cachedTokens = count(object(usage.prompt_tokens_details).cached_tokens) ?? 0
  const finishReason = choice.finish_reason
  return {
    text: textOf(content) + textOf(refusal),
    calls: list(calls).map(callIn),
    finishReason: typeof finishReason === 'string' && finishReason !== '' ? finishReason : null,
    usage:
      promptTokens === null
        ? null
        : {
            promptTokens,
            completionTokens,
            cachedTokens: Math.min(cachedTokens, promptTokens),
          },
  }
}

/**
 * Requests a streamed chat completion.
 * @throws ChatServerError for an error from the server, even mid-stream; ServerStalled; fetch's error if it is unreachable; and
 * an Error if the stream ends early
 */
export async function* streamChat(server: Server, body: object, signal: AbortSignal): AsyncGenerator<ChatPiece> {
  const requested = { ...body, stream: true, stream_options: { include_usage: true } }
  let finished = false
  let isFirst = true
  for await (const data of eventData(responseOf(server, 'chat/completions', requested, signal))) {
    if (data.trim() === '[DONE]') return
    const piece = pieceIn(data, isFirst)
    isFirst = false
    finished ||= piece.finishReason !== null
    yield piece
  }
  // Some servers end without [DONE].
  if (!finished) throw new Error('the stream ended early')
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
    // JSON can hold numbers that float32 cannot.
    if (numbers.length > 0 && numbers.every((one) => typeof one === 'number' && Number.isFinite(Math.fround(one))))
      vectors[Number(index)] = Float32Array.from(numbers)
  }
  const whole = vectors.slice(0, inputs.length).filter((vector) => vector !== undefined)
  if (whole.length < inputs.length)
    throw new ChatServerError(`it sent ${whole.length} of ${inputs.length} vectors`, null)
  return { vectors: whole, tokens: count(object(usage).prompt_tokens) ?? 0 }
}

/** Lists the server's models, with their context length if it is reported, as by vLLM. @throws like streamChat */
export const listServed = async (
  server: Server,
  signal: AbortSignal,
): Promise<readonly { readonly name: string; readonly contextTokens: number | null }[]> =>
  list((await askOnce(server, 'models', null, signal)).data).flatMap((entry) => {
    const { id, max_model_len: length } = object(entry)
    return typeof id === 'string' ? [{ name: id, contextTokens: count(length) }] : []
  })
