import { type Static, Type } from 'typebox'
import { isObject } from '../../domain/is-object.ts'
import type { ChatMessage, RequestedFormat, Tool, ToolCall } from '../engines/engine.ts'
import { type ChatCompletionRequest, formatBeside, readFormatAt } from './chat.schema.ts'
import { checkResults, readArguments, readTexts, withOneSystem } from './chat-messages.ts'
import { anything, assertOnly, bodyReader, invalid, is, never, refuseForeign, unsupported } from './request-body.ts'
import { HINTS, readTool, TOOL_FIELDS, toolUseOf } from './tools.schema.ts'

const ResponsesBody = Type.Object({
  model: Type.String({ minLength: 1 }),
  input: Type.Union([Type.String(), Type.Array(Type.Unknown(), { minItems: 1 })]),
  instructions: Type.Optional(Type.String()),
  stream: Type.Optional(Type.Boolean()),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
  max_output_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
  metadata: Type.Optional(Type.Object({})),
  text: Type.Optional(Type.Object({ format: Type.Optional(Type.Object({ type: Type.String() })) })),
  ...TOOL_FIELDS,
})

export type ResponsesBody = Static<typeof ResponsesBody>

const readBody = bodyReader(ResponsesBody)

/** Fields that agents send and that have no effect here, except that `reasoning` can turn reasoning off. Nothing is stored. */
const FOREIGN = {
  include: (value: unknown) => Array.isArray(value) && value.every((one) => one === 'reasoning.encrypted_content'),
  reasoning: anything,
  stream_options: (value: unknown) =>
    isObject(value) && Object.keys(value).every((name) => name === 'include_obfuscation'),
  client_metadata: anything,
  truncation: is('disabled'),
  background: is(false),
  previous_response_id: never,
  conversation: never,
  prompt: never,
  max_tool_calls: never,
}

const ROLES: ReadonlyMap<unknown, ChatMessage['role']> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
  ['assistant', 'assistant'],
])

const textOf = (value: unknown, where: string): string => {
  if (typeof value === 'string' && value !== '') return value
  throw invalid(`${where} is required: a non-empty string.`, where)
}

const readItem = (item: unknown, index: number): ChatMessage | null => {
  const at = `input[${index}]`
  if (!isObject(item)) throw invalid(`${at} must be an object.`, at)
  const { type = 'message' } = item
  switch (type) {
    case 'message': {
      const role = ROLES.get(item.role)
      const known = [...ROLES.keys()].join(', ')
      if (role === undefined) throw invalid(`${at}.role must be one of ${known}.`, `${at}.role`)
      return { role, content: readTexts(item.content, `${at}.content`) }
    }
    case 'function_call': {
      const id = textOf(item.call_id, `${at}.call_id`)
      const own = textOf(item.name, `${at}.name`)
      const name = typeof item.namespace === 'string' ? qualified({ namespace: item.namespace, name: own }) : own
      return {
        role: 'assistant',
        content: '',
        toolCalls: [{ id, name, arguments: readArguments(item.arguments, `${at}.arguments`) }],
      }
    }
    case 'function_call_output':
      return {
        role: 'tool',
        content: readTexts(item.output, `${at}.output`),
        toolCallId: textOf(item.call_id, `${at}.call_id`),
      }
    case 'reasoning':
      return null
    default: {
      const shown = String(type).slice(0, 100)
      const advice = type === 'item_reference' ? 'Nothing is stored here: send the item itself.' : 'Leave it out.'
      throw unsupported(`${at}: items of type '${shown}' are not supported. ${advice}`, `${at}.type`)
    }
  }
}

/** In the Responses API each call is an item; in a prompt, calls belong to the assistant message before them. */
const withCallsJoined = (messages: readonly ChatMessage[]): readonly ChatMessage[] => {
  const joined: { readonly message: ChatMessage; readonly calls: ToolCall[] }[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    const { toolCalls: calls = [] } = message
    if (calls.length > 0 && last?.message.role === 'assistant') last.calls.push(...calls)
    else joined.push({ message, calls: [...calls] })
  }
  return joined.map(({ message, calls }) => (calls.length === 0 ? message : { ...message, toolCalls: calls }))
}

const readMessages = ({ input, instructions = '' }: ResponsesBody): readonly ChatMessage[] => {
  if (typeof input === 'string') return withOneSystem(instructions, [{ role: 'user', content: input }])
  const messages = input.map(readItem)
  checkResults(
    messages.map((message): ChatMessage => message ?? { role: 'user', content: '' }),
    (index) => `input[${index}].call_id`,
  )
  const present = messages.filter((message) => message !== null)
  return withOneSystem(instructions, withCallsJoined(present))
}

const readChoice = (given: string | object | undefined): Parameters<typeof toolUseOf>[1] => {
  const { type, name } = isObject(given) ? given : {}
  if (type === 'function' && typeof name === 'string') return { name }
  const choice = (['auto', 'none', 'required'] as const).find((known) => known === (given ?? 'auto'))
  if (choice !== undefined) return choice
  throw invalid(
    'tool_choice must be one of auto, none, required, or {"type": "function", "name": "..."}.',
    'tool_choice',
  )
}

/** A function in a namespace. Models see one name that combines both. */
export interface QualifiedName {
  readonly namespace: string
  readonly name: string
}

const qualified = ({ namespace, name }: QualifiedName): string => `${namespace}__${name}`

interface ReadTools {
  readonly tools: readonly Tool[]
  readonly namespaces: ReadonlyMap<string, QualifiedName>
}

/** Reads functions, including those that agents group in namespaces. */
const readTools = (given: readonly unknown[] = []): ReadTools => {
  const namespaces = new Map<string, QualifiedName>()
  const readOne = (tool: unknown, at: string, namespace: string | null): Tool => {
    const { type, name, ...given } = isObject(tool) ? tool : {}
    if (type !== 'function') {
      const shown = String(type).slice(0, 100)
      throw unsupported(`${at}: tools of type '${shown}' are not supported, only functions.`, `${at}.type`)
    }
    if (namespace === null) return readTool({ name, ...given }, at, 'parameters', HINTS)
    const whole = { namespace, name: textOf(name, `${at}.name`) }
    namespaces.set(qualified(whole), whole)
    return readTool({ name: qualified(whole), ...given }, at, 'parameters', HINTS)
  }
  const tools = given.flatMap((tool, index) => {
    const at = `tools[${index}]`
    if (!isObject(tool) || tool.type !== 'namespace') return [readOne(tool, at, null)]
    const namespace = textOf(tool.name, `${at}.name`)
    if (!Array.isArray(tool.tools)) throw invalid(`${at}.tools must be an array of functions.`, `${at}.tools`)
    return tool.tools.map((inner: unknown, position) => readOne(inner, `${at}.tools[${position}]`, namespace))
  })
  return { tools, namespaces }
}

const readFormat = ({ text }: ResponsesBody): RequestedFormat | undefined => {
  const { format } = (text ?? {}) as Readonly<Record<string, unknown>>
  // verbosity is accepted and ignored: it only suggests how long texts should be.
  assertOnly(text, 'text', ['format', 'verbosity'])
  if (!isObject(format)) return undefined
  if (format.type === 'text') return { type: 'text' }
  const { type, ...schema } = format
  return readFormatAt('text.format', { type: String(type), ...(type === 'json_schema' && { json_schema: schema }) })
}

export interface ResponsesRequest extends Pick<ReadTools, 'namespaces'> {
  readonly request: ChatCompletionRequest
  readonly body: ResponsesBody
}

/** Reads a request to the Responses API. @throws InferenceError with the field as `param` */
export const readResponsesRequest = (body: unknown, defaultFormat: RequestedFormat): ResponsesRequest => {
  const read = readBody(body)
  refuseForeign(read, ResponsesBody, FOREIGN)
  const { reasoning } = read as { readonly reasoning?: unknown }
  const { tools, namespaces } = readTools(read.tools)
  const toolUse = toolUseOf(tools, readChoice(read.tool_choice), read.parallel_tool_calls ?? true)
  return {
    body: read,
    namespaces,
    request: {
      model: read.model,
      messages: readMessages(read),
      stream: read.stream ?? false,
      includeUsage: true,
      temperature: read.temperature ?? 0.7,
      topP: read.top_p ?? 0.9,
      maxTokens: read.max_output_tokens ?? null,
      stop: [],
      responseFormat: formatBeside(toolUse, readFormat(read), defaultFormat),
      toolUse,
      choices: 1,
      seed: null,
      sampling: {},
      reasoning: isObject(reasoning) && reasoning.effort === 'none' ? { isOff: true } : {},
    },
  }
}
