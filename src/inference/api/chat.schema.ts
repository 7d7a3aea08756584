import { type Static, Type } from 'typebox'
import { isObject } from '../../domain/is-object.ts'
import type { ChatMessage, Completion, ReasoningSwitch, RequestedFormat, Sampling, ToolUse } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'
import { Message, readMessages, wellFormed } from './chat-messages.ts'
import {
  assertFinite,
  assertOnly,
  bodyReader,
  invalid,
  refuseForeign,
  unsupported,
  withoutNull,
} from './request-body.ts'
import { readSampling, SAMPLING_FIELDS } from './sampling.ts'
import { readToolUse, TOOL_FIELDS } from './tools.schema.ts'

/** OpenAI's API takes at most 4; 16 accommodates clients of other local servers. */
const MAX_STOPS = 16
const MAX_CHOICES = 8

const MAX_STOP_LENGTH = 1000

/** As in OpenAI's API. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** The fields of chats and of completions. */
export const COMMON_FIELDS = {
  model: Type.String({ minLength: 1 }),
  stream: Type.Optional(Type.Boolean()),
  stream_options: Type.Optional(
    Type.Object({ include_usage: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])) }),
  ),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
  stop: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Unknown(), { maxItems: MAX_STOPS })])),
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_CHOICES })),
  seed: Type.Optional(Type.Integer()),
  ...SAMPLING_FIELDS,
}

const CommonBody = Type.Object(COMMON_FIELDS)

const ChatBody = Type.Object({
  ...COMMON_FIELDS,
  messages: Type.Array(Message, { minItems: 1 }),
  max_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
  max_completion_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
  response_format: Type.Optional(Type.Object({ type: Type.String() })),
  logprobs: Type.Optional(Type.Boolean()),
  top_logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
  reasoning_effort: Type.Optional(Type.Union(EFFORTS.map((effort) => Type.Literal(effort)))),
  chat_template_kwargs: Type.Optional(Type.Object({ enable_thinking: Type.Optional(Type.Boolean()) })),
  ...TOOL_FIELDS,
})

/** The texts that a request continues, and how. */
export interface Completions extends Omit<Completion, 'prompt'> {
  readonly prompts: readonly Completion['prompt'][]
}

/** A request for a chat, or for completions, with every default filled in. */
export interface ChatCompletionRequest {
  /** The client's name for the model; `auto` leaves the choice to the server. */
  readonly model: string
  /** Of completions, the texts to continue, one in each, from which a model can be chosen. */
  readonly messages: readonly ChatMessage[]
  readonly completions?: Completions
  readonly stream: boolean
  /** Whether a stream ends with the usage. */
  readonly includeUsage: boolean
  readonly temperature: number
  readonly topP: number
  readonly maxTokens: number | null
  readonly stop: readonly string[]
  readonly responseFormat: RequestedFormat
  /** null if the model may call nothing. */
  readonly toolUse: ToolUse | null
  /** Of each prompt. */
  readonly choices: number
  /** How many of the most likely tokens are requested in each place; absent if no log probabilities are. */
  readonly logprobs?: number
  /** null for a random seed. */
  readonly seed: number | null
  readonly sampling: Sampling
  readonly reasoning: ReasoningSwitch
}

const readBody = bodyReader(ChatBody)

const readStops = ({ stop }: Static<typeof CommonBody>): readonly string[] =>
  [stop ?? []].flat().map((text, index) => {
    if (typeof text === 'string' && text.length > 0 && text.length <= MAX_STOP_LENGTH) return wellFormed(text)
    const field = typeof stop === 'string' ? 'stop' : `stop[${index}]`
    const got = typeof text === 'string' ? `${text.length} characters` : 'something else'
    throw invalid(`${field} must be a string of 1 to ${MAX_STOP_LENGTH} characters, got ${got}.`, field)
  })

const readMaxTokens = ({ max_tokens, max_completion_tokens }: Static<typeof ChatBody>): number | null => {
  if (max_tokens !== undefined && max_completion_tokens !== undefined && max_tokens !== max_completion_tokens) {
    throw invalid('max_tokens and max_completion_tokens are two names of one limit. Send one.', 'max_completion_tokens')
  }
  return max_completion_tokens ?? max_tokens ?? null
}

const readIncludeUsage = ({ stream, stream_options: options }: Static<typeof CommonBody>): boolean => {
  if (options === undefined) return false
  if (stream !== true) throw invalid('stream_options is only for requests with stream true.', 'stream_options')
  for (const [name, value] of Object.entries(options)) {
    // Padding that hides token lengths from eavesdroppers, which this server does not add.
    if (name === 'include_usage' || (name === 'include_obfuscation' && value === false) || value === null) continue
    const field = `stream_options.${name.slice(0, 100)}`
    throw unsupported(`${field} is not supported. Leave it out.`, field)
  }
  return options.include_usage ?? false
}

/** Reads the fields of chats and of completions. */
export const readCommon = (body: Static<typeof CommonBody>) => ({
  model: body.model,
  stream: body.stream ?? false,
  includeUsage: readIncludeUsage(body),
  temperature: body.temperature ?? 0.7,
  topP: body.top_p ?? 0.9,
  stop: readStops(body),
  choices: body.n ?? 1,
  seed: body.seed ?? null,
  sampling: readSampling(body),
})

const readLogprobs = (
  { logprobs = false, top_logprobs: top = 0 }: Static<typeof ChatBody>,
  toolUse: ToolUse | null,
): { readonly logprobs?: number } => {
  if (!logprobs && top > 0) throw invalid('top_logprobs is only for requests with logprobs true.', 'top_logprobs')
  if (!logprobs) return {}
  if (toolUse === null) return { logprobs: top }
  throw unsupported(
    'logprobs together with tools is not supported. Send only one of them, or set tool_choice to none.',
    'logprobs',
  )
}

/** Reads the two ways in which clients turn reasoning on or off: OpenAI's, and that of other local servers. */
const readReasoning = (body: Static<typeof ChatBody>): ReasoningSwitch => {
  const { reasoning_effort: effort, chat_template_kwargs: options } = body
  assertOnly(options, 'chat_template_kwargs', ['enable_thinking'])
  return {
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(options && { chat_template_kwargs: options }),
  }
}

/**
 * Returns the format of replies that are text. Beside functions, the server's default format is dropped, and so is a requested
 * one if every reply is a call.
 */
export const formatBeside = (
  toolUse: ToolUse | null,
  requested: RequestedFormat | undefined,
  defaultFormat: RequestedFormat,
): RequestedFormat => {
  if (toolUse === null) return requested ?? defaultFormat
  return toolUse.choice === 'auto' && requested !== undefined ? requested : { type: 'text' }
}

/**
 * Reads a chat request. A field that would change the answer is either understood or refused by name, never ignored.
 * @throws InferenceError invalid_request or unsupported, with the field as `param`
 */
export const readChatRequest = (body: unknown, defaultFormat: RequestedFormat): ChatCompletionRequest => {
  const read = readBody(body)
  refuseForeign(read, ChatBody)
  const toolUse = readToolUse(read)
  return {
    ...readCommon(read),
    messages: readMessages(read.messages),
    maxTokens: readMaxTokens(read),
    responseFormat: formatBeside(toolUse, readResponseFormat(read.response_format), defaultFormat),
    toolUse,
    ...readLogprobs(read, toolUse),
    reasoning: readReasoning(read),
  }
}

const JsonSchemaFormat = Type.Object({
  type: Type.Literal('json_schema'),
  json_schema: Type.Object({
    name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
    description: Type.Optional(Type.String()),
    schema: Type.Optional(Type.Object({})),
    strict: Type.Optional(Type.Boolean()),
  }),
})

const readJsonSchema = bodyReader(Type.Object({ response_format: JsonSchemaFormat }))

/** @throws InferenceError invalid_request or unsupported, with the field as `param` */
const readResponseFormat = (format: { readonly type: string } | undefined): RequestedFormat | undefined => {
  if (format === undefined) return undefined
  const { type } = format
  if (type === 'text' || type === 'json_object') {
    assertOnly(format, 'response_format', ['type'], "Send a schema with the type 'json_schema', in json_schema.schema.")
    return { type }
  }
  if (type === 'json_schema') {
    assertOnly(format, 'response_format', ['type', 'json_schema'], 'Send the schema in json_schema.schema.')
    const members = withoutNull(format)
    const inner = members.json_schema
    assertOnly(inner, 'response_format.json_schema', ['name', 'description', 'schema', 'strict'])
    if (isObject(inner)) members.json_schema = withoutNull(inner)
    const { name, schema, strict } = readJsonSchema({ response_format: members }).response_format.json_schema
    if (!isObject(schema)) return { type: 'json_object' }
    assertFinite(schema, 'response_format.json_schema.schema')
    return { type, schema, name, ...(strict !== undefined && { strict }) }
  }
  throw invalid(
    `response_format.type must be one of text, json_object, and json_schema, got '${type.slice(0, 100)}'.`,
    'response_format.type',
  )
}

/** Reads a response format from another field of an API. Errors name that field. */
export const readFormatAt = (place: string, format: { readonly type: string }): RequestedFormat | undefined => {
  const renamed = (text: string): string => text.replaceAll(/response_format(\.json_schema)?/g, place)
  try {
    return readResponseFormat(format)
  } catch (error) {
    if (!(error instanceof InferenceError) || error.param === null) throw error
    throw new InferenceError(error.code, renamed(error.message), { param: renamed(error.param) })
  }
}
