import { type Static, Type } from 'typebox'
import { isObject } from '../../domain/is-object.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { jsonOrNull } from '../../domain/parse-json.ts'
import type { ChatMessage, ToolCall } from '../engines/engine.ts'
import { assertOnly, invalid, unsupported } from './request-body.ts'

export const Message = Type.Object({
  role: Type.String(),
  content: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Unknown()), Type.Null()])),
})

type Given = Static<typeof Message> & Readonly<Record<string, unknown>>

const ROLES: Readonly<Record<string, ChatMessage['role']>> = {
  system: 'system',
  // OpenAI's name for the system role of its newer models.
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
}

/** Replaces unpaired surrogates, which UTF-8 cannot encode, so that the same text is used everywhere. */
export const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd')

const TEXT_PARTS: readonly string[] = ['text', 'input_text', 'output_text']

/** Reads one text part. Its surrogates may be paired with those of the next part, so only the joined text is made well-formed. */
export const readPart = (part: unknown, at: string): string => {
  if (!isObject(part) || typeof part.type !== 'string') {
    throw invalid(`${at} must be an object such as {"type": "text", "text": "..."}.`, at)
  }
  if (!TEXT_PARTS.includes(part.type)) {
    throw unsupported(`${at}: parts of type '${part.type.slice(0, 100)}' are not supported, only 'text'.`, at)
  }
  if (typeof part.text !== 'string') throw invalid(`${at}.text must be a string.`, `${at}.text`)
  return part.text
}

/** Reads a string, or joins the texts of an array of parts. */
export const readTexts = (content: unknown, where: string): string => {
  if (typeof content === 'string') return wellFormed(content)
  if (!Array.isArray(content)) throw invalid(`${where} is required: a string or an array of text parts.`, where)
  return wellFormed(content.map((part: unknown, index) => readPart(part, `${where}[${index}]`)).join(''))
}

/** Reads arguments as OpenAI writes them: JSON in a string, '' for none. */
export const readArguments = (given: unknown, where: string): ToolCall['arguments'] => {
  if (typeof given === 'string') {
    const value = given.trim() === '' ? {} : jsonOrNull(wellFormed(given))
    if (isObject(value)) return value
  }
  throw invalid(`${where} must be a JSON object as text, such as "{\\"city\\": \\"Rome\\"}".`, where)
}

const readCalls = (given: unknown, where: string): readonly ToolCall[] => {
  if ((given ?? null) === null) return []
  if (!Array.isArray(given)) throw invalid(`${where} must be an array of calls.`, where)
  return given.map((call: unknown, index) => {
    const at = `${where}[${index}]`
    const { id, type = 'function', function: called } = isObject(call) ? call : {}
    if (type !== 'function') throw unsupported(`${at}.type must be 'function'; others are not supported.`, `${at}.type`)
    if (typeof id !== 'string' || id === '') throw invalid(`${at}.id is required: a non-empty string.`, `${at}.id`)
    if (!isObject(called) || typeof called.name !== 'string')
      throw invalid(`${at}.function.name is required: a string.`, `${at}.function.name`)
    return { id, name: called.name, arguments: readArguments(called.arguments, `${at}.function.arguments`) }
  })
}

const UNDERSTOOD: Readonly<Record<string, readonly string[]>> = {
  assistant: ['role', 'content', 'name', 'tool_calls', 'reasoning_content'],
  // Many clients repeat the function's name here, although the call already contains it.
  tool: ['role', 'content', 'tool_call_id', 'name'],
}

/** As in OpenAI's API. */
const MAX_NAME_LENGTH = 64

const readName = (name: unknown, at: string): string | null => {
  if ((name ?? null) === null) return null
  if (typeof name === 'string' && name !== '' && name.length <= MAX_NAME_LENGTH) return wellFormed(name)
  throw invalid(`${at} must be a string of 1 to ${MAX_NAME_LENGTH} characters.`, at)
}

const readReasoning = (reasoning: unknown, at: string): string | null => {
  if ((reasoning ?? null) === null) return null
  if (typeof reasoning === 'string') return wellFormed(reasoning)
  throw invalid(`${at} must be a string.`, at)
}

const readMessage = (message: Given, index: number): ChatMessage => {
  const at = `messages[${index}]`
  const role = ownEntry(ROLES, message.role) ?? null
  if (role === null) {
    const known = Object.keys(ROLES).join(', ')
    throw invalid(`${at}.role must be one of ${known}, got '${message.role.slice(0, 100)}'.`, `${at}.role`)
  }
  assertOnly(message, at, UNDERSTOOD[role] ?? ['role', 'content', 'name'])
  const toolCalls = role === 'assistant' ? readCalls(message.tool_calls, `${at}.tool_calls`) : []
  const content = role === 'assistant' && (message.content ?? null) === null ? '' : message.content
  if (role !== 'tool') {
    const name = readName(message.name, `${at}.name`)
    const reasoning = readReasoning(message.reasoning_content, `${at}.reasoning_content`)
    return {
      role,
      content: readTexts(content, `${at}.content`),
      ...(name !== null && { name }),
      ...(reasoning !== null && { reasoning }),
      ...(toolCalls.length > 0 && { toolCalls }),
    }
  }
  const { tool_call_id: toolCallId } = message
  if (typeof toolCallId !== 'string')
    throw invalid(`${at}.tool_call_id is required: the id of the call that produced this result.`, `${at}.tool_call_id`)
  return { role, content: readTexts(content, `${at}.content`), toolCallId }
}

/** @throws InferenceError invalid_request for a result of a call that is in no earlier message */
export const checkResults = (messages: readonly ChatMessage[], fieldOf: (index: number) => string): void => {
  const called = new Set<string>()
  for (const [index, { toolCalls = [], toolCallId }] of messages.entries()) {
    for (const { id } of toolCalls) called.add(id)
    if (toolCallId === undefined || called.has(toolCallId)) continue
    throw invalid(
      `${fieldOf(index)} '${toolCallId.slice(0, 100)}' matches no call in an earlier message.`,
      fieldOf(index),
    )
  }
}

export const readMessages = (given: readonly Static<typeof Message>[]): readonly ChatMessage[] => {
  const messages = given.map((message, index) => readMessage(message as Given, index))
  checkResults(messages, (index) => `messages[${index}].tool_call_id`)
  return messages
}

/** Joins all system messages into one at the beginning: templates take only one, but agents send several, even later on. */
export const withOneSystem = (instructions: string, messages: readonly ChatMessage[]): readonly ChatMessage[] => {
  const isSystem = ({ role }: ChatMessage): boolean => role === 'system'
  const texts = [instructions, ...messages.filter(isSystem).map(({ content }) => content)].filter(Boolean)
  const rest = messages.filter((message) => !isSystem(message))
  return texts.length === 0 ? rest : [{ role: 'system', content: texts.join('\n\n') }, ...rest]
}
