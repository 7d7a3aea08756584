import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../../platform/http/app.ts'
import { whilePresent } from '../../platform/http/client-disconnect.ts'
import type { RequestedFormat } from '../engines/engine.ts'
import type { ChatCompletionRequest } from './chat.schema.ts'
import type { ChatMetrics } from './chat-metrics.ts'
import { type ChatDeps, type ChatRun, startChat } from './chat-run.ts'
import { type Frames, streamChat } from './chat-stream.ts'
import { accelerationHeaders, collectReplies, type Reply, type Tally } from './replies.ts'

export interface ChatRouteDeps extends ChatDeps {
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

const headersOf = ({ model, routed, compressed }: ChatRun): Readonly<Record<string, string>> => ({
  ...(routed !== null && { 'X-Service-Routed-Model': encodeURI(model) }),
  ...(compressed && { 'X-Service-Compression': 'true' }),
})

/** Returns an id in the style of OpenAI and Anthropic. */
export const newId = (prefix: string): string => `${prefix}${randomUUID().replaceAll('-', '')}`

/** Adds a route that answers with a chat. */
export const handleChat = (
  app: App,
  path: string,
  { metrics, now, ...deps }: Omit<ChatRouteDeps, 'defaultFormat'>,
  read: (body: unknown) => ReadChat,
): void => {
  const handle = async (request: FastifyRequest, reply: FastifyReply, signal: AbortSignal): Promise<FastifyReply> => {
    const { request: chat, style } = read(request.body)
    const created = Math.floor(now() / 1000)
    const requested = performance.now()
    const run = await startChat(deps, chat, signal).catch((error: unknown) => {
      metrics.refused(error)
      throw error
    })
    const { model, routed, events } = run
    const meter = metrics.start(model, requested)
    try {
      if (routed !== null) request.log.info({ model, reason: routed }, 'routed')
      const replyStyle = style(model, created)
      const headers = headersOf(run)
      if (chat.stream)
        return await streamChat(request, reply, { frames: replyStyle.frames(), headers, events, meter, signal })
      const { replies, tally } = await collectReplies(events, run.choices, meter.saw)
      meter.finished(tally)
      return reply.headers({ ...headers, ...accelerationHeaders(tally) }).send(replyStyle.whole(replies, tally))
    } catch (error) {
      meter.failed(error)
      throw error
    } finally {
      run.release()
    }
  }
  app.post(path, (request, reply) => whilePresent(request, reply, (signal) => handle(request, reply, signal)))
}
