import type { Finished } from '../engines/engine.ts'
import type { Frames } from './chat-stream.ts'
import { presentUsage, type Reply, type Tally } from './replies.ts'

export interface ChatIdentity {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly model: string
}

/** As OpenAI names it: calls are why a reply that was not cut has ended. */
export const finishReason = ({ reason }: Finished, calls: number): string =>
  reason === 'stop' && calls > 0 ? 'tool_calls' : reason

/** The server-sent events of one streamed chat, as OpenAI's clients expect them. */
export const chatFrames = (
  { id, created, model }: ChatIdentity,
  { includeUsage, choices }: { readonly includeUsage: boolean; readonly choices: number },
): Frames => {
  // One of these is made for every token: what they have in common is written once.
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)},"choices":`
  const rest = includeUsage ? ',"usage":null}\n\n' : '}\n\n'
  const choice = (index: number, delta: string, reason: string): string =>
    `${head}[{"index":${index},"delta":${delta},"finish_reason":${reason}}]`
  const usage = (tally: Tally): string => `"usage":${JSON.stringify(presentUsage(tally))}}\n\n`
  const calls = new Array<number>(choices).fill(0)
  let running = choices

  const finish = (index: number, result: Finished, tally: Tally): string => {
    running--
    // Without a chunk for the usage, early exit is told in the last one that there is.
    const told = running === 0 && !includeUsage && tally.earlyExitTokens > 0
    return choice(index, '{}', `"${finishReason(result, calls[index]!)}"`) + (told ? `,${usage(tally)}` : rest)
  }

  return {
    event({ index, event }, tally) {
      switch (event.type) {
        case 'started':
          return choice(index, '{"role":"assistant","content":""}', 'null') + rest
        case 'text':
          return choice(index, `{"content":${JSON.stringify(event.text)}}`, 'null') + rest
        case 'call': {
          const { callId, name } = event
          const call = { index: calls[index]!++, id: callId, type: 'function', function: { name, arguments: '' } }
          return choice(index, JSON.stringify({ tool_calls: [call] }), 'null') + rest
        }
        case 'arguments': {
          const call = { index: calls[index]! - 1, function: { arguments: event.text } }
          return choice(index, JSON.stringify({ tool_calls: [call] }), 'null') + rest
        }
        case 'finished':
          return finish(index, event.result, tally)
      }
    },
    end: (tally) => `${includeUsage ? `${head}[],${usage(tally)}` : ''}data: [DONE]\n\n`,
    // OpenAI's clients throw this as an error of the API; nothing may follow it.
    error: (error) => `data: ${JSON.stringify(error.toJSON())}\n\n`,
    alive: ': waiting\n\n',
  }
}

/** The whole chat completion. */
export const presentChat = ({ id, created, model }: ChatIdentity, replies: readonly Reply[], tally: Tally) => ({
  id,
  object: 'chat.completion',
  created,
  model,
  choices: replies.map(({ text, calls, result }, index) => ({
    index,
    message: {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      ...(calls.length > 0 && {
        tool_calls: calls.map(({ id: callId, name, arguments: given }) => ({
          id: callId,
          type: 'function',
          function: { name, arguments: given },
        })),
      }),
    },
    finish_reason: finishReason(result, calls.length),
  })),
  usage: presentUsage(tally),
})
