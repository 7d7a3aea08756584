import { Type } from 'typebox'
import { Body, Count, FreeRequestObject, Nullable, OneOf, Part, type Static } from '../../platform/http/wire.schema.ts'
import { examples } from './inference.examples.ts'

/** Enough for an hour's transcript; the body as a whole has its own limit. */
const MAX_CHARACTERS = 500_000
const MAX_MESSAGES = 1000
const MAX_TEXTS = 64
const MAX_TEXT = 20_000
const MAX_TOKENS = 131_072

const ModelName = Type.String({ minLength: 1, maxLength: 300, description: 'A model that the server lists' })

const Served = Part('ServedModel', 'A model of an inference server', {
  id: Type.String(),
  object: Type.String(),
  created: Type.Integer({ description: 'Seconds since 1970' }),
  owned_by: Type.String(),
})

export const ServedModels = Body('ServedModels', 'The models of an inference server', examples.models, {
  object: Type.String(),
  data: Type.Array(Served),
})

const ChatMessage = Part('ChatMessage', 'A message of a chat', {
  role: OneOf(['system', 'user', 'assistant']),
  content: Type.String({ maxLength: MAX_CHARACTERS }),
})

export const ChatBody = Body('Chat', 'A chat that the model continues', examples.chat, {
  model: ModelName,
  messages: Type.Array(ChatMessage, { minItems: 1, maxItems: MAX_MESSAGES }),
  stream: Type.Optional(Type.Boolean({ description: 'Respond with server-sent events as the text is generated' })),
  stream_options: Type.Optional(
    Part('ChatStreamOptions', 'What a stream reports at its end', { include_usage: Type.Optional(Type.Boolean()) }),
  ),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
  max_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_TOKENS })),
  seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 })),
  stop: Type.Optional(
    Type.Union([Type.String({ maxLength: 200 }), Type.Array(Type.String({ maxLength: 200 }), { maxItems: 4 })]),
  ),
  response_format: Type.Optional(FreeRequestObject('As in the OpenAI API')),
})

export const EmbeddingsBody = Body('EmbeddingsRequest', 'Texts to embed', examples.embed, {
  model: ModelName,
  input: Type.Union([
    Type.String({ minLength: 1, maxLength: MAX_TEXT }),
    Type.Array(Type.String({ minLength: 1, maxLength: MAX_TEXT }), { minItems: 1, maxItems: MAX_TEXTS }),
  ]),
})

const Usage = { prompt_tokens: Count, total_tokens: Count }

export const ChatCompletion = Body('ChatCompletion', 'The reply of the model', examples.completion, {
  id: Type.String(),
  object: Type.String(),
  created: Type.Integer({ description: 'Seconds since 1970' }),
  model: Type.String(),
  choices: Type.Array(
    Part('ChatChoice', 'One of the replies', {
      index: Count,
      message: Part('ChatReply', 'The reply', {
        ...ChatMessage.properties,
        reasoning_content: Type.Optional(
          Type.String({ description: 'What a model that reasons wrote to work out its answer' }),
        ),
      }),
      finish_reason: Nullable(Type.String({ description: 'stop, or length if max_tokens was reached' })),
    }),
  ),
  usage: Type.Optional(Part('ChatUsage', 'The number of tokens used', { ...Usage, completion_tokens: Count })),
})

export const EmbeddingList = Body('EmbeddingList', 'A vector for each text', examples.embeddings, {
  object: Type.String(),
  data: Type.Array(
    Part('Embedding', 'The vector of one text', {
      object: Type.String(),
      index: Count,
      embedding: Type.Array(Type.Number()),
    }),
  ),
  model: Type.String(),
  usage: Type.Optional(Part('EmbeddingsUsage', 'The number of tokens used', Usage)),
})

export type ChatCompletionRequest = Static<typeof ChatBody>
export type EmbeddingsRequest = Static<typeof EmbeddingsBody>
export type ServedModel = Static<typeof Served>
