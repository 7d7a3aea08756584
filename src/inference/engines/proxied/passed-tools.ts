import { randomUUID } from 'node:crypto'
import type { ChatEvent, ChatMessage, Tool, ToolUse } from '../engine.ts'
import type { ChatPiece } from './openai-client.ts'

/** Formats a message for OpenAI's API. */
export const presentMessage = ({ role, content, toolCalls = [], toolCallId }: ChatMessage): object => ({
  role,
  content,
  ...(toolCalls.length > 0 && {
    tool_calls: toolCalls.map(({ id, name, arguments: given }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(given) },
    })),
  }),
  ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
})

const presentTool = ({ name, description, parameters, strict }: Tool): object => ({
  type: 'function',
  function: { name, parameters, ...(description !== null && { description }), ...(strict && { strict }) },
})

export const presentTools = ({ tools, choice, parallel }: ToolUse): object => ({
  tools: tools.map(presentTool),
  tool_choice: typeof choice === 'string' ? choice : { type: 'function', function: choice },
  // The default is omitted, because not every server knows the field.
  ...(!parallel && { parallel_tool_calls: false }),
})

/** Reads calls from the chunks of a stream, in which servers send one call after another. */
export const createCallReader = () => {
  let current = -1
  let count = 0
  return {
    count: () => count,
    *read({ calls }: ChatPiece): Generator<ChatEvent> {
      for (const { index, id, name, arguments: given } of calls) {
        if (index !== current && name !== null) {
          current = index
          count++
          yield { type: 'call', callId: id ?? `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`, name }
        }
        if (given !== '' && index === current) yield { type: 'arguments', text: given }
      }
    },
  }
}
