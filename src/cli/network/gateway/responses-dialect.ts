import { randomUUID } from 'node:crypto'
import { type Dialect, type Json, type Reply, taken, textIn } from './dialect.ts'

const id = (prefix: string): string => `${prefix}_${randomUUID().replaceAll('-', '')}`

const messagesIn = (input: unknown): readonly Json[] => {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  if (!Array.isArray(input)) return []
  return (input as readonly Json[])
    .filter(({ type }) => type === undefined || type === 'message')
    .map(({ role, content }) => ({ role: role === 'developer' ? 'system' : role, content: textIn(content) }))
    .filter(({ content }) => content !== '')
}

/** Models' templates take one system message, at the beginning. */
const joined = (instructions: string, messages: readonly Json[]): readonly Json[] => {
  const isSystem = ({ role }: Json): boolean => role === 'system'
  const system = [instructions, ...messages.filter(isSystem).map(({ content }) => content)].filter(Boolean).join('\n\n')
  const rest = messages.filter((message) => !isSystem(message))
  return system === '' ? rest : [{ role: 'system', content: system }, ...rest]
}

const textPart = (text: string): Json => ({ type: 'output_text', text, annotations: [] })

const item = (itemId: string, status: string, content: readonly Json[]): Json => ({
  id: itemId,
  type: 'message',
  role: 'assistant',
  status,
  content,
})

const responseOf = (
  responseId: string,
  { model }: Json,
  status: string,
  output: readonly Json[],
  rest: Json,
): Json => ({
  id: responseId,
  object: 'response',
  created_at: Math.floor(Date.now() / 1000),
  model,
  status,
  output,
  error: null,
  incomplete_details: null,
  ...rest,
})

const ending = (finishReason: string): readonly [status: string, rest: Json] =>
  finishReason === 'length'
    ? ['incomplete', { incomplete_details: { reason: 'max_output_tokens' } }]
    : ['completed', {}]

const usageOf = ({ promptTokens, completionTokens }: Reply): Json => ({
  input_tokens: promptTokens,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: completionTokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: promptTokens + completionTokens,
})

const finished = (reply: Reply, responseId: string, itemId: string, body: Json): Json => {
  const [status, rest] = ending(reply.finishReason)
  const output = [item(itemId, status, [textPart(reply.text)])]
  return responseOf(responseId, body, status, output, { ...rest, usage: usageOf(reply) })
}

/** OpenAI's Responses API, the only one that Codex speaks. */
export const responsesDialect: Dialect = {
  path: '/v1/responses',

  toChat: (body) => ({
    model: body.model,
    messages: joined(textIn(body.instructions), messagesIn(body.input)),
    ...taken(body, { max_output_tokens: 'max_tokens', temperature: 'temperature', top_p: 'top_p' }),
  }),

  async *stream(pieces, body) {
    const responseId = id('resp')
    const itemId = id('msg')
    let sequence = 0
    const event = (type: string, fields: Json) => ({ type, sequence_number: sequence++, ...fields })
    const place = { output_index: 0, content_index: 0, item_id: itemId }
    const response = responseOf(responseId, body, 'in_progress', [], { usage: null })
    yield event('response.created', { response })
    yield event('response.in_progress', { response })
    yield event('response.output_item.added', { output_index: 0, item: item(itemId, 'in_progress', []) })
    yield event('response.content_part.added', { ...place, part: textPart('') })
    let reply: Reply = { text: '', finishReason: 'stop', promptTokens: 0, completionTokens: 0 }
    for await (const { text, finishReason, usage } of pieces) {
      reply = { ...reply, text: reply.text + text, finishReason: finishReason ?? reply.finishReason, ...usage }
      if (text !== '') yield event('response.output_text.delta', { ...place, delta: text })
    }
    const whole = finished(reply, responseId, itemId, body)
    const [status] = ending(reply.finishReason)
    yield event('response.output_text.done', { ...place, text: reply.text })
    yield event('response.content_part.done', { ...place, part: textPart(reply.text) })
    yield event('response.output_item.done', { output_index: 0, item: (whole.output as readonly Json[])[0] })
    yield event(`response.${status}`, { response: whole })
  },

  answer: (reply, body) => finished(reply, id('resp'), id('msg'), body),

  error: (message, status) => ({
    error: { message, type: status < 500 ? 'invalid_request_error' : 'server_error', param: null, code: null },
  }),
}
