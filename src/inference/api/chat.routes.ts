import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../../platform/http/app.ts'
import type { RequestedFormat } from '../engines/engine.ts'
import { type ChatOrder, readChatOrder } from './chat.schema.ts'
import type { ChatMeter, ChatMetrics } from './chat-metrics.ts'
import { type ChatDeps, type ChatRun, runChat } from './chat-run.ts'
import { streamChat } from './chat-stream.ts'
import { whilePresent } from './client-presence.ts'
import { accelerationHeaders, addEvent, NOTHING, presentUsage } from './usage.ts'

export interface ChatRoutes extends ChatDeps {
  /** Of requests that do not ask for one. */
  readonly defaultFormat: RequestedFormat
  readonly metrics: ChatMetrics
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

const headersOf = ({ model, routed, removedTokens }: ChatRun): Readonly<Record<string, string>> => ({
  ...(routed !== null && { 'X-Service-Routed-Model': encodeURI(model) }),
  ...(removedTokens !== null && { 'X-Service-Compression': 'true' }),
})

interface Answering {
  readonly order: ChatOrder
  readonly run: ChatRun
  readonly created: number
  readonly meter: ChatMeter
}

const answerWhole = async (reply: FastifyReply, { order, run, created, meter }: Answering): Promise<FastifyReply> => {
  const texts = new Array<string>(order.choices).fill('')
  const reasons = new Array<string>(order.choices).fill('stop')
  let tally = NOTHING
  for await (const choice of run.events) {
    const { index, event } = choice
    tally = addEvent(tally, choice)
    meter.saw(choice)
    if (event.type === 'text') texts[index] += event.text
    if (event.type === 'finished') reasons[index] = event.result.reason
  }
  meter.finished(tally)
  return reply.headers({ ...headersOf(run), ...accelerationHeaders(tally) }).send({
    id: newId(),
    object: 'chat.completion',
    created,
    model: run.model,
    choices: texts.map((content, index) => ({
      index,
      message: { role: 'assistant', content },
      finish_reason: reasons[index],
    })),
    usage: presentUsage(tally),
  })
}

const newId = (): string => `chatcmpl-${randomUUID().replaceAll('-', '')}`

const logChoice = (request: FastifyRequest, { model, routed }: ChatRun): void => {
  if (routed !== null) request.log.info({ model, reason: routed }, 'routed')
}

/** POST /v1/chat/completions */
export const chatRoutes = (app: App, { defaultFormat, metrics, now, ...deps }: ChatRoutes): void => {
  app.post('/v1/chat/completions', (request, reply) =>
    whilePresent(request, reply, async (signal) => {
      const order = readChatOrder(request.body, defaultFormat)
      const created = Math.floor(now() / 1000)
      return runChat(deps, order, signal, async (run) => {
        const meter = metrics.start(run.model)
        logChoice(request, run)
        try {
          if (!order.stream) return await answerWhole(reply, { order, run, created, meter })
          return await streamChat(request, reply, {
            identity: { id: newId(), created, model: run.model },
            includeUsage: order.includeUsage,
            choices: order.choices,
            headers: headersOf(run),
            events: run.events,
            meter,
            signal,
          })
        } catch (error) {
          meter.failed(error)
          throw error
        }
      })
    }),
  )
}
