/** What a piece of a streamed chat completion says; fields that a server leaves out are null. */
export interface ChatPiece {
  readonly text: string
  readonly finishReason: string | null
  readonly usage: {
    readonly promptTokens: number
    readonly completionTokens: number
    readonly cachedTokens: number
  } | null
}

/** A server's refusal, or an error that it sent within a stream. */
export class ChatServerError extends Error {
  override readonly name = 'ChatServerError'
  /** Null where it came within a stream. */
  readonly status: number | null

  constructor(message: string, status: number | null) {
    super(message)
    this.status = status
  }
}

/** The data of server-sent events, whole events only. */
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

type Json = Readonly<Record<string, unknown>>

const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})

const count = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** OpenAI's shape, and the bare texts that some servers send. */
const messageOf = (error: unknown): string => {
  const { message } = object(error)
  return typeof message === 'string' ? message : typeof error === 'string' ? error : JSON.stringify(error)
}

const parse = (data: string): ChatPiece => {
  let value: Json
  try {
    value = object(JSON.parse(data))
  } catch {
    throw new ChatServerError(`it sent what is no JSON: ${data.slice(0, 200)}`, null)
  }
  if (value.error !== undefined) throw new ChatServerError(messageOf(value.error), null)
  const choice = object(Array.isArray(value.choices) ? value.choices[0] : undefined)
  const { content } = object(choice.delta)
  const usage = object(value.usage)
  const finishReason = choice.finish_reason
  return {
    text: typeof content === 'string' ? content : '',
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

const refusal = async (response: Response): Promise<ChatServerError> => {
  const text = await response.text().catch(() => '')
  try {
    const body = object(JSON.parse(text))
    return new ChatServerError(messageOf(body.error ?? body.detail ?? body), response.status)
  } catch {
    return new ChatServerError(text.slice(0, 500) || `status ${response.status}`, response.status)
  }
}

/**
 * Asks an OpenAI-style server for one streamed chat completion.
 * @throws ChatServerError for what the server says is wrong, also in the middle; fetch's own error when it is gone, and
 * when the stream ends without an end.
 */
export async function* streamChat(baseUrl: string, body: object, signal: AbortSignal): AsyncGenerator<ChatPiece> {
  const response = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
    signal,
  })
  if (!response.ok || response.body === null) throw await refusal(response)
  for await (const data of eventData(response.body)) {
    if (data.trim() === '[DONE]') return
    yield parse(data)
  }
  throw new Error('the stream ended before its end')
}
