import type { IncomingMessage } from 'node:http'
import type { Caller, EnrollmentMode } from '../../domain/access.ts'
import { anySignal } from '../../domain/any-signal.ts'
import { conflict, forbidden, ServiceError } from '../../domain/errors.ts'
import {
  ChatBody,
  type ChatCompletionRequest,
  EmbeddingsBody,
  type EmbeddingsRequest,
  type ServedModel,
} from './inference.schema.ts'
import { brokenOff, readWhole, requestUpstream, type UpstreamRequest } from './upstream.ts'

/** Limits on concurrent requests at the server: of one key or one browser, and of all. */
const MAX_OF_CALLER = 4
const MAX_OF_ALL = 32
const MAX_LIST_BYTES = 2 ** 20
const MAX_ANSWER_BYTES = 64 * 2 ** 20
/** Ends endless generations. */
const MAX_MS = 15 * 60 * 1000

/** A response of the inference server: its bytes as they arrive, and its own headers (`X-Service-…`). */
export interface Relayed {
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Buffer>
}

const NO_SERVER = 'The server at SERVICE_INFERENCE_URL is not an OpenAI-compatible inference server.'
const TYPES = ['application/json', 'text/event-stream'] as const
const OWN_HEADER = /^x-service-[a-z-]{1,60}$/

const ownOf = (headers: IncomingMessage['headers']): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      (entry): entry is [string, string] => OWN_HEADER.test(entry[0]) && typeof entry[1] === 'string',
    ),
  )

const frame = (event: string | null, data: object): Buffer =>
  Buffer.from(`${event === null ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`)

/**
 * Yields the body of a response. A stream that breaks off ends with an error in OpenAI's format. The server's trailers, which
 * web pages cannot read, follow as a separate event after the last chunk, when OpenAI's clients have stopped reading.
 */
async function* bytesOf(response: IncomingMessage, streams: boolean): AsyncGenerator<Buffer> {
  let size = 0
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      size += piece.length
      if (size > MAX_ANSWER_BYTES)
        throw new ServiceError('upstream_failed', 'The response of the inference server is too large.')
      yield piece
    }
    const trailers = ownOf(response.trailers)
    if (streams && Object.keys(trailers).length > 0) yield frame('trailers', trailers)
  } catch (error) {
    if (!streams) throw error
    const { message, code } = brokenOff(error)
    yield frame(null, { error: { message, type: 'server_error', param: null, code } })
  } finally {
    response.destroy()
  }
}

const MAX_MODELS = 1000

/** Returns the models that a server lists; omitted fields become 0 or empty. @throws ServiceError if it is no such list */
const modelsIn = (text: Buffer): readonly ServedModel[] => {
  try {
    const { data } = JSON.parse(text.toString('utf8')) as { data: readonly Partial<ServedModel>[] }
    return data
      .slice(0, MAX_MODELS)
      .map(({ id, created = 0, owned_by = '' }) => ({ id: String(id), object: 'model', created, owned_by }))
  } catch (cause) {
    throw new ServiceError('upstream_failed', NO_SERVER, { cause })
  }
}

/** Keeps only the fields in the schema of a body; nothing else is sent on. */
const only = (schema: { readonly properties: object }, body: object): object =>
  Object.fromEntries(Object.entries(body).filter(([name]) => Object.hasOwn(schema.properties, name)))

/** Sends requests on to the one inference server that the operator configured, with limits on size, time, and number. */
export const createInferenceService = (settings: {
  readonly url: string | null
  /** The key that the server expects; null for none. */
  readonly key: string | null
  readonly enrollment: EnrollmentMode
}) => {
  const { url, key, enrollment } = settings
  const running = new Map<string, number>()
  let all = 0

  const enter = ({ sessionId, rateKeyId, keyId }: Caller): (() => void) => {
    const name = sessionId ?? rateKeyId ?? keyId
    const own = running.get(name) ?? 0
    if (own >= MAX_OF_CALLER || all >= MAX_OF_ALL) {
      const message =
        own >= MAX_OF_CALLER
          ? `${MAX_OF_CALLER} requests of this key are already running on the inference server. Wait until one of them ends.`
          : 'This service has reached its limit of concurrent requests to the inference server. Try again soon.'
      throw new ServiceError('rate_limited', message, { retryAfterSeconds: 5 })
    }
    running.set(name, own + 1)
    all++
    return () => {
      all--
      const left = (running.get(name) ?? 1) - 1
      if (left === 0) running.delete(name)
      else running.set(name, left)
    }
  }

  /** Returns the server's response if `caller` gets a place, which is held until the body has been read or abandoned. */
  const relay = async (caller: Caller, question: Omit<UpstreamRequest, 'key'>): Promise<Relayed> => {
    if (enrollment === 'token' && caller.deviceId !== null) {
      throw forbidden(
        "A device's own key cannot use the inference server. Use a key that was created for a person or a program.",
      )
    }
    if (url === null) {
      throw conflict(
        'No inference server is configured. Start one with: svc serve <model>, and set SERVICE_INFERENCE_URL to its address.',
      )
    }
    const leave = enter(caller)
    try {
      const signal = anySignal(question.signal, AbortSignal.timeout(MAX_MS))
      const response = await requestUpstream(url, { ...question, key, signal })
      const type = TYPES.find((known) => response.headers['content-type']?.startsWith(known))
      if (type === undefined) {
        response.destroy()
        throw new ServiceError('upstream_failed', NO_SERVER)
      }
      response.once('close', leave)
      return { type, headers: ownOf(response.headers), body: bytesOf(response, type === 'text/event-stream') }
    } catch (error) {
      leave()
      throw error
    }
  }

  return {
    /** Returns the server's models as it lists them. @throws ServiceError */
    async models(caller: Caller, signal: AbortSignal): Promise<readonly ServedModel[]> {
      const { body } = await relay(caller, { method: 'GET', path: '/v1/models', signal })
      return modelsIn(await readWhole(body, MAX_LIST_BYTES))
    },

    /** @throws ServiceError; an error that ends a stream is its last event */
    chat: (caller: Caller, request: ChatCompletionRequest, signal: AbortSignal): Promise<Relayed> =>
      relay(caller, { method: 'POST', path: '/v1/chat/completions', body: only(ChatBody, request), signal }),

    embed: (caller: Caller, request: EmbeddingsRequest, signal: AbortSignal): Promise<Relayed> =>
      relay(caller, { method: 'POST', path: '/v1/embeddings', body: only(EmbeddingsBody, request), signal }),
  }
}

export type InferenceService = ReturnType<typeof createInferenceService>
