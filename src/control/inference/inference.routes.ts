import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../../platform/http/access.ts'
import type { App } from '../../platform/http/app.ts'
import { abortOnDisconnect } from '../../platform/http/client-disconnect.ts'
import type { RouteConfig } from '../../platform/http/route-config.ts'
import { ChatBody, ChatCompletion, EmbeddingList, EmbeddingsBody, ServedModels } from './inference.schema.ts'
import type { InferenceService, Relayed } from './inference.service.ts'

const STREAM_HEADERS = {
  'cache-control': 'no-cache, no-transform',
  // Keeps proxies such as nginx from buffering the events.
  'x-accel-buffering': 'no',
} as const

const config = {
  access: 'models:read',
  errors: ['conflict', 'not_found', 'upstream_failed', 'upstream_busy', 'upstream_timeout'],
} satisfies RouteConfig

/** Sends the bytes as they arrive; the response schemas only serve the API document. */
const send = (reply: FastifyReply, { type, headers, body }: Relayed): FastifyReply =>
  reply
    .headers({ ...headers, ...(type === 'text/event-stream' && STREAM_HEADERS) })
    .type(`${type}; charset=utf-8`)
    .send(Readable.from(body, { objectMode: false }))

const callOptionsOf = (request: FastifyRequest, reply: FastifyReply) =>
  [callerOf(request), abortOnDisconnect(reply.raw)] as const

export const inferenceRoutes = (app: App, inference: InferenceService): void => {
  app.get(
    '/api/v1/inference/models',
    {
      schema: {
        operationId: 'listServedModels',
        summary: 'List models of the inference server',
        description: 'The models of the server at SERVICE_INFERENCE_URL. 409 if it is not set.',
        response: { 200: ServedModels },
      },
      config,
    },
    async (request, reply) => {
      const [caller, gone] = callOptionsOf(request, reply as FastifyReply)
      return { object: 'list', data: [...(await inference.models(caller, gone))] }
    },
  )

  app.post(
    '/api/v1/inference/chat/completions',
    {
      schema: {
        operationId: 'createChatCompletion',
        summary: 'Chat with a model of the inference server',
        description:
          'As in the OpenAI API, with the fields of this schema: others, such as `n` and `max_completion_tokens`, are ignored and named ' +
          'in `X-Service-Warning`, and `content` must be a string. With `stream`, the response is server-sent events. The other ' +
          '`X-Service-…` headers come from the inference server; its trailers follow the stream as an event `trailers`.',
        body: ChatBody,
        response: { 200: ChatCompletion },
      },
      config,
    },
    async (request, reply) => {
      const [caller, gone] = callOptionsOf(request, reply as FastifyReply)
      return send(reply as FastifyReply, await inference.chat(caller, request.body, gone))
    },
  )

  app.post(
    '/api/v1/inference/embeddings',
    {
      schema: {
        operationId: 'createEmbeddings',
        summary: 'Embed texts on the inference server',
        description:
          'As in the OpenAI API, for a model that computes embeddings. Fields other than `model` and `input` are ignored and named in ' +
          '`X-Service-Warning`.',
        body: EmbeddingsBody,
        response: { 200: EmbeddingList },
      },
      config,
    },
    async (request, reply) => {
      const [caller, gone] = callOptionsOf(request, reply as FastifyReply)
      return send(reply as FastifyReply, await inference.embed(caller, request.body, gone))
    },
  )
}
