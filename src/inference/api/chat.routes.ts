import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../../platform/http/app.ts'
import { whilePresent } from '../../platform/http/client-disconnect.ts'
import type { Finished, RequestedFormat } from '../engines/engine.ts'
import { type ChatCompletionRequest, readChatRequest } from './chat.schema.ts'
import type { ChatMetrics } from './chat-metrics.ts'
import { type ChatDeps, type ChatRun, runChat } from './chat-run.ts'
import { type Frames, streamChat } from './chat-stream.ts'
import { accelerationHeaders, collectReplies, type Reply, type Tally } from './replies.ts'

export interface ChatRoutes extends ChatDeps {
  /** The format for requests that name none. */
  readonly defaultFormat: RequestedFormat
  readonly metrics: ChatMetrics
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Presents a chat in one API: whole, or as a stream. */
export interface ReplyStyle {
  whole(replies: readonly Reply[], tally: Tally): object
  frames(): Frames
}

/** A parsed request of one API, and the presentation of its reply. */
export interface ReadChat {
  readonly request: ChatCompletionRequest
  /** `model` is the model that answers; `created` is in seconds since the epoch. */
  readonly style: (model: string, created: number) => ReplyStyle
}

const headersOf = ({ model, routed, removedTokens }: ChatRun): Readonly<Record<string, string>> => ({
  ...(routed !== null && { 'X-Service-Routed-Model': encodeURI(model) }),
  ...(removedTokens !== null && { 'X-Service-Compression': 'true' }),
})

/** Returns an id in the style of OpenAI and Anthropic. */
export const newId = (prefix: string): string => `${prefix}${randomUUID().replaceAll('-', '')}`

const logChoice = (request: FastifyRequest, { model, routed }: ChatRun): void => {
  if (routed !== null) request.log.info({ model, reason: routed }, 'routed')
}

/** Adds a route that answers with a chat. */
export const handleChat = (
  app: App,
  path: string,
  { metrics, now, ...deps }: Omit<ChatRoutes, 'defaultFormat'>,
  read: (body: unknown) => ReadChat,
): void => {
  const handle = (request: FastifyRequest, reply: FastifyReply, signal: AbortSignal): Promise<FastifyReply> => {
    const { request: order, style } = read(request.body)
    const created = Math.floor(now() / 1000)
    const requested = performance.now()
    let begun = false
    const answered = runChat(deps, order, signal, async (run) => {
      begun = true
      const meter = metrics.start(run.model, requested)
      logChoice(request, run)
      const replyStyle = style(run.model, created)
      const headers = headersOf(run)
      try {
        if (order.stream)
          return await streamChat(request, reply, {
            frames: replyStyle.frames(),
            headers,
            events: run.events,
            meter,
            signal,
          })
        const { replies, tally } = await collectReplies(run.events, order.choices, meter.saw)
        meter.finished(tally)
        return reply.headers({ ...headers, ...accelerationHeaders(tally) }).send(replyStyle.whole(replies, tally))
      } catch (error) {
        meter.failed(error)
        throw error
      }
    })
    return answered.catch((error: unknown) => {
      if (!begun) metrics.refused(error)
      throw error
    })
  }
  app.post(path, (request, reply) => whilePresent(request, reply, (signal) => handle(request, reply, signal)))
}

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
export const presentUsage = ({ promptTokens, cachedTokens, completionTokens, earlyExitTokens }: Tally) => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
  prompt_tokens_details: { cached_tokens: cachedTokens },
  ...(earlyExitTokens > 0 && { early_exit_tokens: earlyExitTokens }),
})

/** Creates the server-sent events of one streamed chat in OpenAI's format. */
export const chatFrames = (
  { id, created, model }: ChatIdentity,
  { includeUsage, choices }: { readonly includeUsage: boolean; readonly choices: number },
): Frames => {
  // Every token needs a chunk, so the common part is serialized once.
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)},"choices":`
  const rest = includeUsage ? ',"usage":null}\n\n' : '}\n\n'
  const choice = (index: number, delta: string, reason: string): string =>
    `${head}[{"index":${index},"delta":${delta},"finish_reason":${reason}}]`
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
        case 'text':
          return choice(index, `{"content":${JSON.stringify(event.text)}}`, 'null') + rest
        case 'reasoning':
          return ''
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
    // OpenAI's clients throw this as an API error. Nothing may follow it.
    error: (error) => `data: ${JSON.stringify(error.toJSON())}\n\n`,
    alive: ': waiting\n\n',
  }
}

const presentChat = ({ id, created, model }: ChatIdentity, replies: readonly Reply[], tally: Tally) => ({
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

/** POST /v1/chat/completions */
export const chatRoutes = (app: App, { defaultFormat, ...deps }: ChatRoutes): void =>
  handleChat(app, '/v1/chat/completions', deps, (body) => {
    const request = readChatRequest(body, defaultFormat)
    return {
      request,
      style: (model, created) => {
        const identity = { id: newId('chatcmpl-'), created, model }
        return {
          whole: (replies, tally) => presentChat(identity, replies, tally),
          frames: () => chatFrames(identity, request),
        }
      },
    }
  })
