import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../../platform/http/app.ts'
import type { RequestedFormat } from '../engines/engine.ts'
import { type ChatOrder, readChatOrder } from './chat.schema.ts'
import { chatFrames, presentChat } from './chat-frames.ts'
import type { ChatMetrics } from './chat-metrics.ts'
import { type ChatDeps, type ChatRun, runChat } from './chat-run.ts'
import { type Frames, streamChat } from './chat-stream.ts'
import { whilePresent } from './open-model.ts'
import { accelerationHeaders, collectReplies, type Reply, type Tally } from './replies.ts'

export interface ChatRoutes extends ChatDeps {
  /** Of requests that do not ask for one. */
  readonly defaultFormat: RequestedFormat
  readonly metrics: ChatMetrics
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** How an API tells a chat: whole, or as a stream. */
export interface ReplyStyle {
  whole(replies: readonly Reply[], tally: Tally): object
  frames(): Frames
}

/** What a request of some API asks for, and how it is told. */
export interface Asked {
  readonly order: ChatOrder
  /** `model` is the one that answers, `created` in seconds since the epoch. */
  readonly style: (model: string, created: number) => ReplyStyle
}

const headersOf = ({ model, routed, removedTokens }: ChatRun): Readonly<Record<string, string>> => ({
  ...(routed !== null && { 'X-Service-Routed-Model': encodeURI(model) }),
  ...(removedTokens !== null && { 'X-Service-Compression': 'true' }),
})

/** An id of OpenAI's or Anthropic's kind. */
export const newId = (prefix: string): string => `${prefix}${randomUUID().replaceAll('-', '')}`

const logChoice = (request: FastifyRequest, { model, routed }: ChatRun): void => {
  if (routed !== null) request.log.info({ model, reason: routed }, 'routed')
}

/** A route that answers with a chat. */
export const answerWithChat = (
  app: App,
  path: string,
  { metrics, now, ...deps }: Omit<ChatRoutes, 'defaultFormat'>,
  read: (body: unknown) => Asked,
): void => {
  const answer = (request: FastifyRequest, reply: FastifyReply, signal: AbortSignal): Promise<FastifyReply> => {
    const { order, style } = read(request.body)
    const created = Math.floor(now() / 1000)
    return runChat(deps, order, signal, async (run) => {
      const meter = metrics.start(run.model)
      logChoice(request, run)
      const told = style(run.model, created)
      const headers = headersOf(run)
      try {
        if (order.stream)
          return await streamChat(request, reply, { frames: told.frames(), headers, events: run.events, meter, signal })
        const { replies, tally } = await collectReplies(run.events, order.choices, meter.saw)
        meter.finished(tally)
        return reply.headers({ ...headers, ...accelerationHeaders(tally) }).send(told.whole(replies, tally))
      } catch (error) {
        meter.failed(error)
        throw error
      }
    })
  }
  app.post(path, (request, reply) => whilePresent(request, reply, (signal) => answer(request, reply, signal)))
}

/** POST /v1/chat/completions */
export const chatRoutes = (app: App, { defaultFormat, ...deps }: ChatRoutes): void =>
  answerWithChat(app, '/v1/chat/completions', deps, (body) => {
    const order = readChatOrder(body, defaultFormat)
    return {
      order,
      style: (model, created) => {
        const identity = { id: newId('chatcmpl-'), created, model }
        return {
          whole: (replies, tally) => presentChat(identity, replies, tally),
          frames: () => chatFrames(identity, order),
        }
      },
    }
  })
