import { type Static, Type } from 'typebox'
import type { App } from '../../platform/http/app.ts'
import { whilePresent } from '../../platform/http/client-disconnect.ts'
import type { Embeddings } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'
import { bodyReader, refuseForeign } from './request-body.ts'
import { type ModelDeps, withModel } from './with-model.ts'

const MAX_INPUTS = 2048

const Text = Type.String({ minLength: 1 })

const EmbeddingsBody = Type.Object({
  model: Type.String({ minLength: 1 }),
  input: Type.Union([Text, Type.Array(Text, { minItems: 1, maxItems: MAX_INPUTS })]),
  encoding_format: Type.Optional(Type.Union([Type.Literal('float'), Type.Literal('base64')])),
})

const KNOWN: ReadonlySet<string> = new Set(Object.keys(EmbeddingsBody.properties))
const readBody = bodyReader(EmbeddingsBody)

type Order = Static<typeof EmbeddingsBody>

const unsupported = (message: string, param: string): InferenceError =>
  new InferenceError('unsupported', message, { param })

/** @throws InferenceError invalid_request or unsupported, with the field as `param` */
export const readEmbeddingsOrder = (body: unknown): Order => {
  const { input, dimensions } = (body ?? {}) as { readonly input?: unknown; readonly dimensions?: unknown }
  const [first] = Array.isArray(input) ? input.flat() : []
  if (typeof first === 'number') throw unsupported('input as tokens is not supported: send the text.', 'input')
  if (typeof dimensions === 'number') {
    throw unsupported('dimensions is not supported: vectors have the length that the model gives them.', 'dimensions')
  }
  const order = readBody(body)
  refuseForeign(order, KNOWN)
  return order
}

/** As little-endian float32, which OpenAI's clients ask for unless told otherwise: a third of the bytes of text. */
const base64Of = (vector: Float32Array): string => {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes.toString('base64')
}

export const presentEmbeddings = (
  { vectors, tokens }: Embeddings,
  model: string,
  format: Order['encoding_format'],
) => ({
  object: 'list',
  data: vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: format === 'base64' ? base64Of(vector) : Array.from(vector),
  })),
  model,
  usage: { prompt_tokens: tokens, total_tokens: tokens },
})

/** POST /v1/embeddings */
export const embeddingRoutes = (app: App, deps: ModelDeps): void => {
  app.post('/v1/embeddings', (request, reply) =>
    whilePresent(request, reply, async (signal) => {
      const { model: name, input, encoding_format: format } = readEmbeddingsOrder(request.body)
      const answer = await withModel(deps, { name, ability: 'embed', signal }, async (engine) =>
        presentEmbeddings(await engine.embed([input].flat(), signal), engine.model.name, format),
      )
      return reply.send(answer)
    }),
  )
}
