import { Readable } from 'node:stream'
import { badRequest } from '../../../domain/errors.ts'
import { EVENT_TOPICS, type EventTopic } from '../../../domain/event-topics.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import { abortOnDisconnect } from '../../../platform/http/client-disconnect.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { presentFrame } from './events.present.ts'
import { EventStream, EventsHeaders, EventsQuery, NoStream } from './events.schema.ts'
import type { Events, Frame } from './events.service.ts'

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // Proxies such as nginx would otherwise buffer the events.
  'x-accel-buffering': 'no',
} as const

export const eventsRoutes = (app: App, events: Events): void => {
  app.get(
    '/api/v1/events',
    {
      // A HEAD would open a stream.
      exposeHeadRoute: false,
      schema: {
        operationId: 'streamEvents',
        summary: 'Stream events',
        description:
          "Stream the organization's events as server-sent events until the client disconnects, for at most 15 minutes. To " +
          'continue, reconnect to any process with Last-Event-ID. 204: too many streams are open; poll instead.',
        produces: ['text/event-stream'],
        querystring: EventsQuery,
        headers: EventsHeaders,
        response: { 200: EventStream, 204: NoStream },
      },
      config: { access: 'any-key', errors: ['forbidden'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const frames = await events.open(callerOf(request), readTopics(request.query.topics), {
        lastEventId: request.headers['last-event-id'],
        gone: abortOnDisconnect(reply.raw),
      })
      if (frames === null) return reply.code(204).send()
      return reply.headers(HEADERS).send(Readable.from(texts(frames), { objectMode: false }))
    },
  )
}

async function* texts(frames: AsyncIterable<Frame>): AsyncGenerator<Buffer> {
  for await (const frame of frames) yield Buffer.from(presentFrame(frame))
}

const isTopic = (word: string): word is EventTopic => (EVENT_TOPICS as readonly string[]).includes(word)

const readTopics = (list: string | undefined): readonly EventTopic[] | null => {
  if (list === undefined) return null
  return list.split(',').map((word) => {
    const topic = word.trim()
    if (isTopic(topic)) return topic
    throw badRequest(`topics: there is no topic '${topic}'. Choose among ${EVENT_TOPICS.join(', ')}.`)
  })
}
