import { type ChatEvent, type ChatMessage, newCallId, type Tool, type ToolUse } from '../engine.ts'
import type { ChatPiece } from './chat-pieces.ts'

/** Formats a message for OpenAI's API. */
export const presentMessage = ({
  role,
  content,
  name,
  reasoning,
  toolCalls = [],
  toolCallId,
}: ChatMessage): object => ({
  role,
  content,
  ...(name !== undefined && { name }),
  // DeepSeek's API requires it in messages that call functions.
  ...(reasoning !== undefined && { reasoning_content: reasoning }),
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

interface StreamedCall {
  readonly callId: string
  /** null if the server sent none. */
  serverId: string | null
  readonly name: string
  arguments: string
}

/**
 * Reads calls from the chunks of a stream. Servers may send the arguments of several calls in turn, but the events of a call
 * come without those of others in between: the first call's events come at once, those of the others at the end.
 */
export const createCallReader = () => {
  const started: StreamedCall[] = []
  const byIndex = new Map<number, StreamedCall>()
  return {
    count: () => started.length,
    *read({ calls }: ChatPiece): Generator<ChatEvent> {
      for (const { index, id, name, arguments: given } of calls) {
        const known = byIndex.get(index)
        // Some servers give all calls the same index.
        const isNew = known === undefined || (id !== null && known.serverId !== null && id !== known.serverId)
        const call = name !== null && isNew ? { callId: id ?? newCallId(), serverId: id, name, arguments: '' } : known
        if (call === undefined) continue
        call.serverId ??= id
        if (call !== known) {
          byIndex.set(index, call)
          started.push(call)
          if (started.length === 1) yield { type: 'call', callId: call.callId, name: call.name }
        }
        call.arguments += given
        if (given !== '' && call === started[0]) yield { type: 'arguments', text: given }
      }
    },
    /** @param isWhole false if the reply was cut off, perhaps before any arguments */
    *end(isWhole: boolean): Generator<ChatEvent> {
      for (const [position, { callId, name, arguments: given }] of started.entries()) {
        if (position > 0) yield { type: 'call', callId, name }
        // Some servers send no arguments for functions without parameters.
        const missing = given === '' && isWhole ? '{}' : ''
        const text = position > 0 ? given || missing : missing
        if (text !== '') yield { type: 'arguments', text }
      }
    },
  }
}
