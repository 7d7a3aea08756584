import { Type } from 'typebox'
import type { Completion } from '../engines/engine.ts'
import { type ChatCompletionRequest, COMMON_FIELDS, readCommon } from './chat.schema.ts'
import { wellFormed } from './chat-messages.ts'
import { bodyReader, invalid, refuseForeign, unsupported } from './request-body.ts'

/** As in OpenAI's API. */
const DEFAULT_MAX_TOKENS = 16
const MAX_COMPLETIONS = 64

const CompletionBody = Type.Object({
  ...COMMON_FIELDS,
  prompt: Type.Union([Type.String(), Type.Array(Type.Unknown(), { minItems: 1 })]),
  suffix: Type.Optional(Type.String()),
  echo: Type.Optional(Type.Boolean()),
  max_tokens: Type.Optional(Type.Integer({ minimum: 0 })),
  logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 5 })),
})

const readBody = bodyReader(CompletionBody)

const isToken = (value: unknown): value is number => Number.isSafeInteger(value)
const isPrompt = (value: unknown): value is Completion['prompt'] =>
  typeof value === 'string' || (Array.isArray(value) && value.every(isToken))

const readPrompts = (prompt: string | unknown[]): readonly Completion['prompt'][] => {
  const prompts = isPrompt(prompt) ? [prompt] : prompt
  if (prompts.every(isPrompt)) return prompts.map((each) => (typeof each === 'string' ? wellFormed(each) : each))
  throw invalid('prompt must be a string, an array of token numbers, or an array of either.', 'prompt')
}

/**
 * Reads a request for completions.
 * @throws InferenceError invalid_request or unsupported, with the field as `param`
 */
export const readCompletionRequest = (body: unknown): ChatCompletionRequest => {
  const read = readBody(body)
  refuseForeign(read, CompletionBody)
  const common = readCommon(read)
  const { echo = false } = read
  // Editors send an empty one at the end of a file.
  const suffix = read.suffix || null
  const prompts = readPrompts(read.prompt)
  const count = prompts.length * common.choices
  if (count > MAX_COMPLETIONS)
    throw invalid(`prompt and n ask for ${count} completions. Ask for at most ${MAX_COMPLETIONS} at a time.`, 'prompt')
  if (suffix !== null && echo)
    throw unsupported('echo together with suffix is not supported. Send only one of them.', 'echo')
  return {
    ...common,
    messages: prompts.map((prompt) => ({
      role: 'user',
      content: (typeof prompt === 'string' ? prompt : '') + (suffix ?? ''),
    })),
    completions: { prompts, suffix: suffix === null ? null : wellFormed(suffix), echo },
    maxTokens: read.max_tokens ?? DEFAULT_MAX_TOKENS,
    responseFormat: { type: 'text' },
    toolUse: null,
    ...(read.logprobs !== undefined && { logprobs: read.logprobs }),
    reasoning: {},
  }
}
