import { type Static, Type } from 'typebox'
import type { App } from '../../platform/http/app.ts'
import { whilePresent } from '../../platform/http/client-disconnect.ts'
import { type Embeddings, type Engine, isFarTooLong } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'
import { shown } from '../structured-output/schema-fault.ts'
import { bodyReader, invalid, refuseForeign, unsupported } from './request-body.ts'
import { type ModelDeps, withModel } from './with-model.ts'

const MAX_INPUTS = 2048

const Text = Type.String({ minLength: 1 })

const EmbeddingsBody = Type.Object({
  model: Type.String({ minLength: 1 }),
  input: Type.Union([Text, Type.Array(Text, { minItems: 1, maxItems: MAX_INPUTS })]),
  encoding_format: Type.Optional(Type.Union([Type.Literal('float'), Type.Literal('base64')])),
  // Some clients always send it: right if the model's vectors have that length anyway.
  dimensions: Type.Optional(Type.Integer({ minimum: 1 })),
})

const readBody = bodyReader(EmbeddingsBody)

type EmbeddingsRequest = Static<typeof EmbeddingsBody>

/** Checks each item, because the schema error does not say which one is wrong. */
const checkItems = (input: readonly unknown[]): void => {
  if (input.length > MAX_INPUTS) return
  const index = input.findIndex((item) => typeof item !== 'string' || item === '')
  if (index < 0) return
  const field = `input[${index}]`
  throw invalid(`${field} must be a non-empty string, got ${shown(input[index])}.`, field)
}

/** @throws InferenceError invalid_request or unsupported, with the field as `param` */
export const readEmbeddingsRequest = (body: unknown): EmbeddingsRequest => {
  const { input } = (body ?? {}) as { readonly input?: unknown }
  const [first] = Array.isArray(input) ? input.flat() : []
  if (typeof first === 'number') throw unsupported('input as tokens is not supported: send the text.', 'input')
  if (Array.isArray(input)) checkItems(input)
  const request = readBody(body)
  refuseForeign(request, EmbeddingsBody)
  return request
}

const assertMayFit = (inputs: readonly string[], engine: Engine): void => {
  const index = inputs.findIndex(({ length }) => isFarTooLong(length, engine))
  if (index < 0) return
  const text = inputs.length === 1 ? 'The text' : `input[${index}]`
  throw new InferenceError(
    'context_length_exceeded',
    `${text} has ${inputs[index]!.length} characters, far more than a context of ${engine.model.contextTokens} tokens holds. Shorten it.`,
    { param: 'input' },
  )
}

const assertLength = (expected: number | undefined, { vectors }: Embeddings, { model: { name } }: Engine): void => {
  const { length } = vectors[0]!
  if (expected === undefined || expected === length) return
  throw unsupported(`dimensions must be ${length}, or left out: '${name}' has vectors of that length.`, 'dimensions')
}

/** Encodes a vector as little-endian float32, the default of OpenAI's clients, in a third of the bytes of text. */
const base64Of = (vector: Float32Array): string => {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes.toString('base64')
}

export const presentEmbeddings = (
  { vectors, tokens }: Embeddings,
  model: string,
  format: EmbeddingsRequest['encoding_format'],
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
      const { model: name, input, encoding_format: format, dimensions } = readEmbeddingsRequest(request.body)
      const inputs = [input].flat()
      const response = await withModel(deps, { name, ability: 'embed', signal }, async (engine) => {
        assertMayFit(inputs, engine)
        const embeddings = await engine.embed(inputs, signal)
        assertLength(dimensions, embeddings, engine)
        return presentEmbeddings(embeddings, engine.model.name, format)
      })
      return reply.send(response)
    }),
  )
}
