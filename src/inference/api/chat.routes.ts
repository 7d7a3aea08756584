import type { App } from '../../platform/http/app.ts'
import type { Finished, TokenLogprob, TokenProbability } from '../engines/engine.ts'
import { type ChatCompletionRequest, readChatRequest } from './chat.schema.ts'
import type { Frames } from './chat-stream.ts'
import { type ChatRouteDeps, handleChat, newId } from './handle-chat.ts'
import type { Reply, Tally } from './replies.ts'

interface ChatIdentity {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly model: string
}

/** Returns OpenAI's finish reason: `tool_calls` for a reply that ended normally and has calls. */
const finishReason = ({ reason }: Finished, calls: number): string =>
  reason === 'stop' && calls > 0 ? 'tool_calls' : reason

/** The usage in OpenAI's format. `early_exit_tokens` is our extension, present only after early exit. */
export const presentUsage = (tally: Tally) => ({
  prompt_tokens: tally.promptTokens,
  completion_tokens: tally.completionTokens,
  total_tokens: tally.promptTokens + tally.completionTokens,
  prompt_tokens_details: { cached_tokens: tally.cachedTokens },
  ...(tally.reasoningTokens > 0 && { completion_tokens_details: { reasoning_tokens: tally.reasoningTokens } }),
  ...(tally.earlyExitTokens > 0 && { early_exit_tokens: tally.earlyExitTokens }),
})

const presentToken = ({ token, logprob, bytes }: TokenProbability) => ({ token, logprob, bytes })

const presentLogprobs = (logprobs: readonly TokenLogprob[]) => ({
  content: logprobs.map((each) => ({ ...presentToken(each), top_logprobs: each.top.map(presentToken) })),
  refusal: null,
})

export const OPENAI_FRAMES: Pick<Frames, 'error' | 'alive'> = {
  // OpenAI's clients throw this as an API error. Nothing may follow it.
  error: (error) => `data: ${JSON.stringify(error.toJSON())}\n\n`,
  alive: ': waiting\n\n',
}

/** Creates the server-sent events of one streamed chat in OpenAI's format. */
export const chatFrames = (
  { id, created, model }: ChatIdentity,
  { includeUsage, choices, logprobs }: Pick<ChatCompletionRequest, 'includeUsage' | 'choices' | 'logprobs'>,
): Frames => {
  // Every token needs a chunk, so the common part is serialized once.
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)},"choices":`
  const rest = includeUsage ? ',"usage":null}\n\n' : '}\n\n'
  const noLogprobs = logprobs === undefined ? '' : '"logprobs":null,'
  const choice = (index: number, delta: string, reason: string, scores = noLogprobs): string =>
    `${head}[{"index":${index},"delta":${delta},${scores}"finish_reason":${reason}}]`
  const usage = (tally: Tally): string => `"usage":${JSON.stringify(presentUsage(tally))}}\n\n`
  const calls = new Array<number>(choices).fill(0)
  let running = choices

  const finish = (index: number, result: Finished, tally: Tally): string => {
    running--
    // Without a usage chunk, the last chunk reports early exit.
    const hasUsage = running === 0 && !includeUsage && tally.earlyExitTokens > 0
    return choice(index, '{}', `"${finishReason(result, calls[index]!)}"`) + (hasUsage ? `,${usage(tally)}` : rest)
  }

  return {
    event({ index, event }, tally) {
      switch (event.type) {
        case 'started':
          return choice(index, '{"role":"assistant","content":""}', 'null') + rest
        case 'text': {
          const scores = event.logprobs && `"logprobs":${JSON.stringify(presentLogprobs(event.logprobs))},`
          return choice(index, `{"content":${JSON.stringify(event.text)}}`, 'null', scores) + rest
        }
        case 'reasoning':
          return choice(index, `{"reasoning_content":${JSON.stringify(event.text)}}`, 'null') + rest
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
    ...OPENAI_FRAMES,
  }
}

const presentChat = (
  { id, created, model }: ChatIdentity,
  replies: readonly Reply[],
  tally: Tally,
  withLogprobs: boolean,
) => ({
  id,
  object: 'chat.completion',
  created,
  model,
  choices: replies.map(({ text, reasoning, logprobs, calls, result }, index) => ({
    index,
    message: {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      // OpenAI's API has no field for it: this is DeepSeek's, which other local servers use, too.
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      ...(calls.length > 0 && {
        tool_calls: calls.map(({ id: callId, name, arguments: given }) => ({
          id: callId,
          type: 'function',
          function: { name, arguments: given },
        })),
      }),
    },
    ...(withLogprobs && { logprobs: presentLogprobs(logprobs) }),
    finish_reason: finishReason(result, calls.length),
  })),
  usage: presentUsage(tally),
})

/** POST /v1/chat/completions */
export const chatRoutes = (app: App, { defaultFormat, ...deps }: ChatRouteDeps): void =>
  handleChat(app, '/v1/chat/completions', deps, (body) => {
    const request = readChatRequest(body, defaultFormat)
    return {
      request,
      style: (model, created) => {
        const identity = { id: newId('chatcmpl-'), created, model }
        return {
          whole: (replies, tally) => presentChat(identity, replies, tally, request.logprobs !== undefined),
          frames: () => chatFrames(identity, request),
        }
      },
    }
  })
