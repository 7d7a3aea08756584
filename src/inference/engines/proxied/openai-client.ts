import type { Embeddings } from '../engine.ts'
import { type ChatPiece, pieceIn } from './chat-pieces.ts'
import { count, list, object } from './loose-json.ts'
import { ChatServerError } from './server-errors.ts'
import { requestJson, responseOf, type Server } from './server-requests.ts'

/** The longest line of a stream, in characters. */
const MAX_LINE = 16 * 2 ** 20

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

/**
 * Requests a streamed chat completion, or at `completions` a completion of a text.
 * @throws ChatServerError for an error from the server, even mid-stream; ServerStalled; fetch's error if it is unreachable; and
 * an Error if the stream ends early
 */
export async function* streamChat(
  server: Server,
  body: object,
  signal: AbortSignal,
  path: 'chat/completions' | 'completions' = 'chat/completions',
): AsyncGenerator<ChatPiece> {
  const requested = { ...body, stream: true, stream_options: { include_usage: true } }
  let finished = false
  let isFirst = true
  for await (const data of eventData(responseOf(server, path, requested, signal))) {
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
  const { data, usage } = await requestJson(server, 'embeddings', requested, signal)
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
  list((await requestJson(server, 'models', null, signal)).data).flatMap((entry) => {
    const { id, max_model_len: length } = object(entry)
    return typeof id === 'string' ? [{ name: id, contextTokens: count(length) }] : []
  })
