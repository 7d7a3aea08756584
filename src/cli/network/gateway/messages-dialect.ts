import { randomUUID } from 'node:crypto'
import { type Dialect, type Json, type Reply, taken, textIn } from './dialect.ts'

const stopReason = (finishReason: string | null): string => (finishReason === 'length' ? 'max_tokens' : 'end_turn')

const messageOf = ({ model }: Json, content: readonly Json[], rest: Json): Json => ({
  id: `msg_${randomUUID().replaceAll('-', '')}`,
  type: 'message',
  role: 'assistant',
  model,
  content,
  stop_sequence: null,
  ...rest,
})

/** Anthropic's Messages API, which Claude Code speaks. */
export const messagesDialect: Dialect = {
  path: '/v1/messages',

  toChat(body) {
    const system = textIn(body.system)
    const messages = Array.isArray(body.messages) ? (body.messages as readonly Json[]) : []
    return {
      model: body.model,
      messages: [
        ...(system === '' ? [] : [{ role: 'system', content: system }]),
        // A turn may hold nothing but a tool's result.
        ...messages
          .map(({ role, content }) => ({ role, content: textIn(content) }))
          .filter(({ content }) => content !== ''),
      ],
      ...taken(body, { max_tokens: 'max_tokens', temperature: 'temperature', top_p: 'top_p', stop_sequences: 'stop' }),
    }
  },

  async *stream(pieces, body) {
    const usage = { input_tokens: 0, output_tokens: 0 }
    yield { type: 'message_start', message: messageOf(body, [], { stop_reason: null, usage }) }
    yield { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
    let finishReason: string | null = null
    for await (const piece of pieces) {
      if (piece.text !== '')
        yield { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: piece.text } }
      finishReason = piece.finishReason ?? finishReason
      if (piece.usage !== null) {
        usage.input_tokens = piece.usage.promptTokens
        usage.output_tokens = piece.usage.completionTokens
      }
    }
    yield { type: 'content_block_stop', index: 0 }
    yield { type: 'message_delta', delta: { stop_reason: stopReason(finishReason), stop_sequence: null }, usage }
    yield { type: 'message_stop' }
  },

  answer: ({ text, finishReason, promptTokens, completionTokens }: Reply, body) =>
    messageOf(body, [{ type: 'text', text }], {
      stop_reason: stopReason(finishReason),
      usage: { input_tokens: promptTokens, output_tokens: completionTokens },
    }),

  error: (message, status) => ({
    type: 'error',
    error: { type: status < 500 ? 'invalid_request_error' : 'api_error', message },
  }),
}
