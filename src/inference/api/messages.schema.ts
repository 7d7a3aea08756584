import { type Static, Type } from 'typebox'
import { isObject } from '../../domain/is-object.ts'
import type { ChatMessage, RequestedFormat, ToolCall, ToolUse } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'
import { type ChatCompletionRequest, formatBeside, readFormatAt } from './chat.schema.ts'
import { checkResults, readPart, readTexts, wellFormed, withOneSystem } from './chat-messages.ts'
import {
  anything,
  assertOnly,
  bodyReader,
  empty,
  invalid,
  is,
  never,
  refuseForeign,
  unsupported,
} from './request-body.ts'
import { readSampling, SAMPLING_FIELDS } from './sampling.ts'
import { HINTS, readTool, toolUseOf } from './tools.schema.ts'

const Content = Type.Union([Type.String(), Type.Array(Type.Unknown())])

const CountBody = Type.Object({
  model: Type.String({ minLength: 1 }),
  messages: Type.Array(Type.Object({ role: Type.String(), content: Content }), { minItems: 1 }),
  system: Type.Optional(Content),
  tools: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 256 })),
  tool_choice: Type.Optional(
    Type.Object({
      type: Type.String(),
      name: Type.Optional(Type.String()),
      disable_parallel_tool_use: Type.Optional(Type.Boolean()),
    }),
  ),
  output_config: Type.Optional(Type.Object({})),
})

const MessagesBody = Type.Object({
  ...CountBody.properties,
  max_tokens: Type.Integer({ minimum: 1 }),
  stream: Type.Optional(Type.Boolean()),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  top_p: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
  top_k: SAMPLING_FIELDS.top_k,
  stop_sequences: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 1000 }), { maxItems: 16 })),
})

type CountBody = Static<typeof CountBody>

const readCountBody = bodyReader(CountBody)
const readMessagesBody = bodyReader(MessagesBody)

/** Fields that agents send and that have no effect here, except that `thinking` can turn reasoning off. */
const FOREIGN = {
  metadata: anything,
  cache_control: anything,
  thinking: anything,
  context_management: anything,
  diagnostics: anything,
  inference_geo: anything,
  service_tier: is('auto', 'standard_only'),
  container: never,
  mcp_servers: empty,
}

/** True for thinking blocks, which are never passed to a model. */
const isThought = (block: unknown): boolean =>
  isObject(block) && (block.type === 'thinking' || block.type === 'redacted_thinking')

const readCall = (block: Readonly<Record<string, unknown>>, at: string): ToolCall => {
  const { id, name, input } = block
  if (typeof id !== 'string' || id === '') throw invalid(`${at}.id is required: a non-empty string.`, `${at}.id`)
  if (typeof name !== 'string' || name === '')
    throw invalid(`${at}.name is required: a non-empty string.`, `${at}.name`)
  if (!isObject(input)) throw invalid(`${at}.input is required: an object.`, `${at}.input`)
  return { id, name, arguments: input }
}

const readResult = (block: Readonly<Record<string, unknown>>, at: string): ChatMessage => {
  const { tool_use_id: toolCallId, content = '', is_error: failed } = block
  if (typeof toolCallId !== 'string') throw invalid(`${at}.tool_use_id is required: a string.`, `${at}.tool_use_id`)
  const text = readTexts(content ?? '', `${at}.content`)
  return { role: 'tool', content: failed === true ? `The tool failed: ${text}` : text, toolCallId }
}

const readMessage = (message: CountBody['messages'][number], index: number): readonly ChatMessage[] => {
  const { role, content } = message
  const at = `messages[${index}]`
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw invalid(`${at}.role must be one of user and assistant, got '${role.slice(0, 100)}'.`, `${at}.role`)
  assertOnly(message, at, ['role', 'content'])
  if (typeof content === 'string') return [{ role, content: readTexts(content, `${at}.content`) }]
  const calls: ToolCall[] = []
  const results: ChatMessage[] = []
  const texts: string[] = []
  for (const [position, block] of content.entries()) {
    const place = `${at}.content[${position}]`
    const type = isObject(block) ? block.type : null
    if (isObject(block) && type === 'tool_use' && role === 'assistant') calls.push(readCall(block, place))
    else if (isObject(block) && type === 'tool_result' && role === 'user') results.push(readResult(block, place))
    else if (!isThought(block)) texts.push(readPart(block, place))
  }
  const text = wellFormed(texts.join(''))
  if (calls.length > 0) return [{ role, content: text, toolCalls: calls }]
  return text === '' && results.length > 0 ? results : [...results, { role, content: text }]
}

const readMessages = ({ system, messages }: CountBody): readonly ChatMessage[] => {
  const read = messages.map(readMessage)
  const places = read.flatMap((each, index) => each.map(() => `messages[${index}].content`))
  checkResults(read.flat(), (index) => places[index]!)
  const first = system === undefined ? '' : Array.isArray(system) ? systemText(system) : readTexts(system, 'system')
  return withOneSystem(first, read.flat())
}

/** Joins the system prompt's blocks as paragraphs. */
const systemText = (blocks: readonly unknown[]): string =>
  wellFormed(blocks.map((block, index) => readPart(block, `system[${index}]`)).join('\n\n'))

const CHOICES = { auto: 'auto', any: 'required', none: 'none' } as const

const readToolUse = ({ tools = [], tool_choice: choice }: CountBody): ToolUse | null => {
  const read = tools.map((tool, index) => {
    const at = `tools[${index}]`
    const { type = 'custom', input_schema: schema = null } = isObject(tool) ? tool : {}
    if (type === 'custom' || type === null) {
      const read = readTool(isObject(tool) ? tool : {}, at, 'input_schema', ['type', ...HINTS])
      if (schema === null) throw invalid(`${at}.input_schema is required: a JSON schema.`, `${at}.input_schema`)
      return read
    }
    throw unsupported(`${at}: tools of type '${String(type).slice(0, 100)}' are not supported.`, `${at}.type`)
  })
  assertOnly(choice, 'tool_choice', ['type', 'name', 'disable_parallel_tool_use'])
  const parallel = choice?.disable_parallel_tool_use !== true
  if (choice === undefined) return toolUseOf(read, 'auto', parallel)
  if (choice.type === 'tool' && choice.name !== undefined) return toolUseOf(read, { name: choice.name }, parallel)
  if (Object.hasOwn(CHOICES, choice.type))
    return toolUseOf(read, CHOICES[choice.type as keyof typeof CHOICES], parallel)
  throw invalid('tool_choice.type must be one of auto, any, tool (with a name), and none.', 'tool_choice')
}

const readFormat = ({ output_config: config }: CountBody): RequestedFormat | undefined => {
  const { format } = (config ?? {}) as Readonly<Record<string, unknown>>
  // effort and task_budget are hints about how long to think.
  assertOnly(config, 'output_config', ['format', 'effort', 'task_budget'])
  if ((format ?? null) === null) return undefined
  if (!isObject(format)) throw invalid('output_config.format must be an object.', 'output_config.format')
  assertOnly(format, 'output_config.format', ['type', 'schema'])
  const { type, schema } = format
  if (type === 'json_schema')
    return readFormatAt('output_config.format', { type, json_schema: { name: 'output', schema, strict: true } } as {
      type: string
    })
  throw unsupported("output_config.format.type must be 'json_schema'.", 'output_config')
}

/** Reads the prompt of a request to Anthropic's API. @throws InferenceError with the field as `param` */
export const readCountRequest = (
  body: unknown,
  defaultFormat: RequestedFormat = { type: 'text' },
): Pick<ChatCompletionRequest, 'model' | 'messages' | 'toolUse' | 'responseFormat'> => {
  const read = readCountBody(body)
  refuseForeign(read, MessagesBody, FOREIGN)
  const toolUse = readToolUse(read)
  const responseFormat = formatBeside(toolUse, readFormat(read), defaultFormat)
  return { model: read.model, messages: readMessages(read), toolUse, responseFormat }
}

/** Reads a request to Anthropic's Messages API. @throws InferenceError with the field as `param` */
export const readMessagesRequest = (body: unknown, defaultFormat: RequestedFormat): ChatCompletionRequest => {
  const read = readMessagesBody(body)
  const { thinking, thread = null } = read as { readonly thinking?: unknown; readonly thread?: unknown }
  // The tool runners of Anthropic's clients ask for one, and go on without it after this error.
  if (thread !== null)
    throw new InferenceError('unsupported', 'thread is not supported. Send the whole conversation without it.', {
      param: 'thread',
      anthropicDetails: { error_code: 'thread_unsupported_request' },
    })
  return {
    ...readCountRequest(read, defaultFormat),
    stream: read.stream ?? false,
    includeUsage: true,
    temperature: read.temperature ?? 0.7,
    topP: read.top_p ?? 0.9,
    maxTokens: read.max_tokens,
    stop: read.stop_sequences ?? [],
    choices: 1,
    seed: null,
    sampling: readSampling(read),
    reasoning: isObject(thinking) && thinking.type === 'disabled' ? { isOff: true } : {},
  }
}
