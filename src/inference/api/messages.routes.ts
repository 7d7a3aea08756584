import type { FastifyReply } from 'fastify'
import { isObject } from '../../domain/is-object.ts'
import { jsonOrNull } from '../../domain/parse-json.ts'
import type { App } from '../../platform/http/app.ts'
import { whilePresent } from '../../platform/http/client-disconnect.ts'
import type { Finished } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'
import { withSlot } from '../runtime/queue/admission.ts'
import { assertMayFit, openModel } from './chat-run.ts'
import type { Frames } from './chat-stream.ts'
import { presentAnthropicError } from './error-responses.ts'
import { type ChatRouteDeps, handleChat, newId, type ReplyStyle } from './handle-chat.ts'
import { readCountRequest, readMessagesRequest } from './messages.schema.ts'
import type { Reply, Tally } from './replies.ts'

type Json = Readonly<Record<string, unknown>>

const stopOf = ({ reason, stopSequence }: Finished, calls: number): Json => ({
  stop_reason:
    reason !== 'stop'
      ? { length: 'max_tokens', content_filter: 'refusal' }[reason]
      : stopSequence !== undefined
        ? 'stop_sequence'
        : calls > 0
          ? 'tool_use'
          : 'end_turn',
  stop_sequence: stopSequence ?? null,
})

/** Usage in Anthropic's format, which counts cached tokens separately. */
const usageOf = ({ promptTokens, cachedTokens, completionTokens }: Tally): Json => ({
  input_tokens: promptTokens - cachedTokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: cachedTokens,
  output_tokens: completionTokens,
})

const messageOf = (model: string, content: readonly Json[], rest: Json): Json => ({
  id: newId('msg_'),
  type: 'message',
  role: 'assistant',
  model,
  content,
  ...rest,
})

const toolUseId = (callId: string): string => callId.replace(/^call_/, 'toolu_')

const parsed = (given: string): Json | null => {
  const value = jsonOrNull(given)
  return isObject(value) ? value : null
}

const present = (model: string, { text, calls, result }: Reply, tally: Tally): Json => {
  const uses = calls.flatMap(({ id, name, arguments: given }) => {
    const input = parsed(given)
    if (input !== null) return [{ type: 'tool_use', id: toolUseId(id), name, input }]
    // The reply was cut off within this call.
    if (result.reason !== 'stop') return []
    const message = 'The server that runs the model sent arguments that are not a JSON object.'
    throw new InferenceError('upstream_failed', message)
  })
  const content = [...(text === '' ? [] : [{ type: 'text', text }]), ...uses]
  return messageOf(model, content, { ...stopOf(result, uses.length), usage: usageOf(tally) })
}

/** Creates the events of one streamed message, in Anthropic's order. */
const messageFrames = (model: string): Frames => {
  const event = (type: string, fields: Json = {}): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
  let index = -1
  let open: 'text' | 'call' | null = null
  let calls = 0
  let stop: Json = {}

  const close = (): string => {
    if (open === null) return ''
    open = null
    return event('content_block_stop', { index })
  }
  const begin = (kind: 'text' | 'call', block: Json): string => {
    const closed = close()
    open = kind
    index++
    return closed + event('content_block_start', { index, content_block: block })
  }

  return {
    event({ event: chatEvent }, tally) {
      switch (chatEvent.type) {
        case 'started': {
          const rest = { stop_reason: null, stop_sequence: null, usage: usageOf(tally) }
          return event('message_start', { message: messageOf(model, [], rest) })
        }
        case 'text': {
          const start = open === 'text' ? '' : begin('text', { type: 'text', text: '' })
          return start + event('content_block_delta', { index, delta: { type: 'text_delta', text: chatEvent.text } })
        }
        case 'reasoning':
          return ''
        case 'call':
          calls++
          return begin('call', { type: 'tool_use', id: toolUseId(chatEvent.callId), name: chatEvent.name, input: {} })
        case 'arguments':
          return event('content_block_delta', {
            index,
            delta: { type: 'input_json_delta', partial_json: chatEvent.text },
          })
        case 'finished':
          stop = stopOf(chatEvent.result, calls)
          return close()
      }
    },
    end: (tally) => event('message_delta', { delta: stop, usage: usageOf(tally) }) + event('message_stop'),
    error: (error) => `event: error\ndata: ${JSON.stringify(presentAnthropicError(error))}\n\n`,
    alive: event('ping'),
  }
}

/** POST /v1/messages and /v1/messages/count_tokens */
export const messagesRoutes = (app: App, { defaultFormat, ...deps }: ChatRouteDeps): void => {
  handleChat(app, '/v1/messages', deps, (body) => ({
    request: readMessagesRequest(body, defaultFormat),
    style: (model): ReplyStyle => ({
      whole: (replies, tally) => present(model, replies[0]!, tally),
      frames: () => messageFrames(model),
    }),
  }))

  const count = async (body: unknown, signal: AbortSignal, reply: FastifyReply): Promise<FastifyReply> => {
    const request = readCountRequest(body)
    const { lease } = await openModel(deps, request, signal)
    try {
      const { engine } = lease
      const { countTokens } = engine
      if (countTokens === undefined)
        throw new InferenceError('unsupported', `${engine.name} cannot count tokens.`, { param: 'model' })
      assertMayFit(request, engine)
      const { messages, toolUse } = request
      const admission = deps.countAdmissions.of(engine)
      const tokens = await withSlot(admission, signal, () => countTokens(messages, toolUse?.tools))
      return reply.send({ input_tokens: tokens })
    } finally {
      lease.release()
    }
  }
  app.post('/v1/messages/count_tokens', (request, reply) =>
    whilePresent(request, reply, (signal) => count(request.body, signal, reply)),
  )
}
