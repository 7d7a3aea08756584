import { watchStall } from '../../../platform/transfer/resume-download.ts'
import { type Json, messageOf, object } from './loose-json.ts'
import { ChatServerError, ServerStalled } from './server-errors.ts'

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
const MAX_REFUSAL = 64 * 2 ** 10

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
  const say = (message: string, code: unknown = null) =>
    new ChatServerError(
      message.slice(0, 2000),
      response.status,
      Number.isFinite(seconds) ? seconds : null,
      typeof code === 'string' ? code : null,
    )
  try {
    const body = object(JSON.parse(text))
    const { code, type } = object(body.error)
    return say(messageOf(body.error ?? body.detail ?? body), typeof code === 'string' ? code : type)
  } catch {
    return say(text.slice(0, 500) || `status ${response.status}`)
  }
}

/** Yields the bytes of the response to one request. @throws ChatServerError for an error response, or too many bytes */
export async function* responseOf(
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

/** Returns the JSON object that responds to one request. @throws like responseOf */
export const requestJson = async (
  server: Server,
  path: string,
  body: object | null,
  signal: AbortSignal,
): Promise<Json> => {
  const pieces: Uint8Array[] = []
  for await (const bytes of responseOf(server, path, body, signal)) pieces.push(bytes)
  const text = Buffer.concat(pieces).toString('utf8')
  try {
    return object(JSON.parse(text))
  } catch {
    throw new ChatServerError(`it sent something other than JSON: ${text.slice(0, 200)}`, null)
  }
}
