import type { App } from '../../platform/http/app.ts'
import type { Finished, RequestedFormat } from '../engines/engine.ts'
import type { Frames } from './chat-stream.ts'
import { type ChatRouteDeps, handleChat, newId, type ReplyStyle } from './handle-chat.ts'
import type { Reply, Tally } from './replies.ts'
import { type QualifiedName, type ResponsesBody, readResponsesRequest } from './responses.schema.ts'

type Json = Readonly<Record<string, unknown>>
type Status = 'in_progress' | 'completed' | 'incomplete' | 'failed'

interface Identity {
  readonly id: string
  readonly created: number
  readonly model: string
  readonly body: ResponsesBody
  readonly namespaces: ReadonlyMap<string, QualifiedName>
  readonly responseFormat: RequestedFormat
}

const textPart = (text: string): Json => ({ type: 'output_text', text, annotations: [], logprobs: [] })

const messageItem = (id: string, status: Status, content: readonly Json[]): Json => ({
  id,
  type: 'message',
  role: 'assistant',
  status,
  content,
})

const callItem = (
  { namespaces }: Identity,
  {
    id,
    status,
    callId,
    name,
    given,
  }: Readonly<Record<'id' | 'callId' | 'name' | 'given', string>> & { readonly status: Status },
): Json => ({
  id,
  type: 'function_call',
  status,
  call_id: callId,
  name,
  ...namespaces.get(name),
  arguments: given,
})

const usageOf = ({ promptTokens, cachedTokens, completionTokens, reasoningTokens }: Tally): Json => ({
  input_tokens: promptTokens,
  input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
  output_tokens: completionTokens,
  output_tokens_details: { reasoning_tokens: reasoningTokens },
  total_tokens: promptTokens + completionTokens,
})

const responseOf = (
  { id, created, model, body, responseFormat }: Identity,
  status: Status,
  output: readonly Json[],
  tally: Tally | null,
  { reason = 'stop', error = null }: { readonly reason?: Finished['reason']; readonly error?: Json | null } = {},
): Json => ({
  id,
  object: 'response',
  created_at: created,
  status,
  error,
  incomplete_details: reason === 'stop' ? null : { reason: reason === 'length' ? 'max_output_tokens' : reason },
  instructions: body.instructions ?? null,
  max_output_tokens: body.max_output_tokens ?? null,
  metadata: body.metadata ?? {},
  model,
  output,
  parallel_tool_calls: body.parallel_tool_calls ?? true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: false,
  temperature: body.temperature ?? 0.7,
  text: { format: body.text?.format ?? { type: responseFormat.type } },
  tool_choice: body.tool_choice ?? 'auto',
  tools: body.tools ?? [],
  top_p: body.top_p ?? 0.9,
  truncation: 'disabled',
  usage: tally && usageOf(tally),
})

const statusOf = (reason: Finished['reason']): Status => (reason === 'stop' ? 'completed' : 'incomplete')

const present = (identity: Identity, { text, calls, result }: Reply, tally: Tally): Json => {
  const status = statusOf(result.reason)
  // Only the last item was cut.
  const statusAt = (call: number): Status => (call === calls.length - 1 ? status : 'completed')
  const output = [
    ...(text === '' && calls.length > 0 ? [] : [messageItem(newId('msg_'), statusAt(-1), [textPart(text)])]),
    ...calls.map(({ id, name, arguments: given }, index) =>
      callItem(identity, { id: newId('fc_'), status: statusAt(index), callId: id, name, given }),
    ),
  ]
  return responseOf(identity, status, output, tally, result)
}

/** The item being streamed, and the events that end it. */
interface OpenItem {
  add(text: string): string
  end(status: Status): readonly [frames: string, item: Json]
}

/** Creates the events of one streamed response, in OpenAI's order. */
const responseFrames = (identity: Identity): Frames => {
  let sequence = 0
  const event = (type: string, fields: Json): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...fields })}\n\n`
  const done: Json[] = []
  let item: OpenItem | null = null
  let text: OpenItem | null = null
  let reason: Finished['reason'] = 'stop'

  const openText = (): [OpenItem, string] => {
    const id = newId('msg_')
    const output_index = done.length
    const place = { item_id: id, output_index, content_index: 0 }
    let whole = ''
    const begin =
      event('response.output_item.added', { output_index, item: messageItem(id, 'in_progress', []) }) +
      event('response.content_part.added', { ...place, part: textPart('') })
    const opened: OpenItem = {
      add(delta) {
        whole += delta
        return event('response.output_text.delta', { ...place, delta, logprobs: [] })
      },
      end(status) {
        const ended = messageItem(id, status, [textPart(whole)])
        const frames =
          event('response.output_text.done', { ...place, text: whole, logprobs: [] }) +
          event('response.content_part.done', { ...place, part: textPart(whole) }) +
          event('response.output_item.done', { output_index, item: ended })
        return [frames, ended]
      },
    }
    return [opened, begin]
  }

  const openCall = (callId: string, name: string): [OpenItem, string] => {
    const id = newId('fc_')
    const output_index = done.length
    const place = { item_id: id, output_index }
    let given = ''
    const begin = event('response.output_item.added', {
      output_index,
      item: callItem(identity, { id, status: 'in_progress', callId, name, given: '' }),
    })
    const opened: OpenItem = {
      add(delta) {
        given += delta
        return event('response.function_call_arguments.delta', { ...place, delta })
      },
      end(status) {
        const ended = callItem(identity, { id, status, callId, name, given })
        const frames =
          event('response.function_call_arguments.done', { ...place, name: ended.name, arguments: given }) +
          event('response.output_item.done', { output_index, item: ended })
        return [frames, ended]
      },
    }
    return [opened, begin]
  }

  const close = (status: Status): string => {
    if (item === null) return ''
    const [frames, ended] = item.end(status)
    done.push(ended)
    item = null
    text = null
    return frames
  }

  const say = (delta: string): string => {
    if (text !== null) return text.add(delta)
    const closed = close('completed')
    const [opened, begin] = openText()
    item = text = opened
    return closed + begin + (delta === '' ? '' : opened.add(delta))
  }

  return {
    event({ event: chatEvent }) {
      switch (chatEvent.type) {
        case 'started': {
          const response = responseOf(identity, 'in_progress', [], null)
          return event('response.created', { response }) + event('response.in_progress', { response })
        }
        case 'text':
          return say(chatEvent.text)
        case 'reasoning':
          return ''
        case 'call': {
          const closed = close('completed')
          const [opened, begin] = openCall(chatEvent.callId, chatEvent.name)
          item = opened
          return closed + begin
        }
        case 'arguments':
          return item?.add(chatEvent.text) ?? ''
        case 'finished': {
          reason = chatEvent.result.reason
          const nothing = done.length === 0 && item === null ? say('') : ''
          return nothing + close(statusOf(reason))
        }
      }
    },
    end(tally) {
      const status = statusOf(reason)
      return event(`response.${status}`, { response: responseOf(identity, status, done, tally, { reason }) })
    },
    error({ message, code, param }) {
      const failed = responseOf(identity, 'failed', done, null, { error: { code: 'server_error', message } })
      return event('error', { code, message, param }) + event('response.failed', { response: failed })
    },
    alive: ': waiting\n\n',
  }
}

/** POST /v1/responses */
export const responsesRoutes = (app: App, { defaultFormat, ...deps }: ChatRouteDeps): void =>
  handleChat(app, '/v1/responses', deps, (given) => {
    const { request, body, namespaces } = readResponsesRequest(given, defaultFormat)
    return {
      request,
      style: (model, created): ReplyStyle => {
        const identity = {
          id: newId('resp_'),
          created,
          model,
          body,
          namespaces,
          responseFormat: request.responseFormat,
        }
        return {
          whole: (replies, tally) => present(identity, replies[0]!, tally),
          frames: () => responseFrames(identity),
        }
      },
    }
  })
