import { anySignal } from '../../domain/any-signal.ts'
import type { ChatRequest, Engine, ToolUse } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'
import type { Admissions } from '../runtime/queue/admission.ts'
import type { SchemaCompiler } from '../structured-output/schema-compiler.ts'
import type { ToolGrammarRequest } from '../structured-output/tool-grammar.ts'
import type { ToolSyntax } from '../structured-output/tool-syntax.ts'
import type { AvailableModels, Compress, Lease, Route } from './available-models.ts'
import type { ChatCompletionRequest } from './chat.schema.ts'
import { type ChoiceEvent, requestsOf, runChoices } from './choices.ts'
import { isFarTooLong } from './prompt-size.ts'

export const AUTO = 'auto'

export interface ChatDeps {
  readonly models: AvailableModels
  /** With null, `auto` is an ordinary model name, which does not exist. */
  readonly route: Route | null
  readonly compress: Compress | null
  readonly admissions: Admissions
  /** For counting tokens. */
  readonly counts: Admissions
  readonly schemas: SchemaCompiler
}

/** A chat with a loaded model. It holds its slots or waits for them in the queue. */
export interface ChatRun {
  readonly model: string
  /** Why this model was chosen; null if the client named it. */
  readonly routed: string | null
  /** Prompt tokens that compression removed; null if it changed nothing. */
  readonly removedTokens: number | null
  readonly events: AsyncIterable<ChoiceEvent>
}

const assertAble = (engine: Engine, { toolUse, messages }: ChatCompletionRequest): void => {
  const { name } = engine.model
  if (engine.chat === undefined)
    throw new InferenceError('unsupported', `The model '${name}' is not a chat model.`, { param: 'model' })
  if (engine.tools !== undefined) return
  const calls = messages.some(({ role, toolCalls }) => role === 'tool' || toolCalls !== undefined)
  if (toolUse === null && !calls) return
  throw new InferenceError(
    'unsupported',
    `The model '${name}' cannot call functions: ${engine.name} cannot enforce their parameters. Use a GGUF model, which llama.cpp runs.`,
    { param: toolUse === null ? 'messages' : 'tools' },
  )
}

/** Refuses prompts that would block the engine only to be found too long. @throws InferenceError context_length_exceeded */
export const assertMayFit = (
  { messages, toolUse }: Pick<ChatCompletionRequest, 'messages' | 'toolUse'>,
  engine: Engine,
): void => {
  const { contextTokens } = engine.model
  // Every message becomes at least one token.
  const tooMany = contextTokens > 0 && messages.length > contextTokens
  const characters = messages.reduce(
    (sum, { content, toolCalls }) =>
      sum + content.length + (toolCalls === undefined ? 0 : JSON.stringify(toolCalls).length),
    toolUse === null ? 0 : JSON.stringify(toolUse.tools).length,
  )
  if (!tooMany && !isFarTooLong(characters, engine)) return
  const size = tooMany
    ? `There are ${messages.length} messages, more`
    : `The messages have ${characters} characters, far more`
  throw new InferenceError(
    'context_length_exceeded',
    `${size} than a context of ${contextTokens} tokens holds. Shorten them.`,
    { param: 'messages' },
  )
}

/** Compiles the schemas before the request waits for a slot, so that an unsupported schema is refused at once. */
const compileSchemas = async (
  { schemas }: ChatDeps,
  { responseFormat, toolUse }: ChatCompletionRequest,
  { followsGrammars = false, tools: syntax }: Engine,
): Promise<Pick<ChatRequest, 'responseFormat' | 'toolUse'>> => ({
  responseFormat:
    responseFormat.type === 'json_schema'
      ? { ...responseFormat, compiled: followsGrammars ? await schemas.compile(responseFormat.schema) : null }
      : responseFormat,
  toolUse: toolUse && {
    ...toolUse,
    compiled: typeof syntax === 'object' ? await schemas.compileTools(grammarRequestOf(toolUse, syntax)) : null,
  },
})

const grammarRequestOf = ({ tools, choice, parallel }: ToolUse, syntax: ToolSyntax): ToolGrammarRequest => ({
  syntax,
  tools: tools
    .filter(({ name }) => typeof choice === 'string' || name === choice.name)
    .map(({ name, parameters, strict }) => ({ name, parameters, strict })),
  required: choice !== 'auto',
  parallel: parallel && typeof choice === 'string',
})

/** Opens the named model, or the one that routing chooses for `auto`. */
export const openModel = async (
  { models, route }: Pick<ChatDeps, 'models' | 'route'>,
  request: Pick<ChatCompletionRequest, 'model' | 'messages' | 'responseFormat' | 'toolUse'>,
  signal: AbortSignal,
) => {
  if (request.model !== AUTO || route === null) {
    return { lease: await models.open(request.model, signal), routed: null }
  }
  const { messages, responseFormat, toolUse } = request
  const { model, reason } = route({ messages, responseFormat, tools: toolUse?.tools ?? [] })
  return { lease: await models.open(model, signal), routed: reason }
}

/** Engines do nothing else while they count tokens: one request at a time does, so that replies continue in between. */
export const whileCounting = async <T>(
  { counts }: Pick<ChatDeps, 'counts'>,
  engine: Engine,
  signal: AbortSignal,
  use: () => Promise<T>,
): Promise<T> => {
  const slot = await counts.of(engine).enter(1, signal)[0]!
  try {
    return await use()
  } finally {
    slot.release()
  }
}

/** Leaves chats with functions unchanged, because calls and their results belong together. */
const compressed = async (
  deps: ChatDeps,
  { messages, toolUse }: ChatCompletionRequest,
  { engine }: Lease,
  signal: AbortSignal,
) => {
  const { compress } = deps
  const { countTokens } = engine
  const calls = toolUse !== null || messages.some(({ role }) => role === 'tool')
  if (compress === null || countTokens === undefined || calls) return { messages, removedTokens: null }
  const shorter = await whileCounting(deps, engine, signal, () => compress(messages, countTokens))
  return shorter ?? { messages, removedTokens: null }
}

/**
 * Opens the model, enters the queue of its engine, and passes the running chat to `use`. Afterward releases everything held for
 * the chat.
 * @throws InferenceError model_not_found, unsupported, queue_full, or the engine's error
 */
export const runChat = async <T>(
  deps: ChatDeps,
  request: ChatCompletionRequest,
  signal: AbortSignal,
  use: (run: ChatRun) => Promise<T>,
): Promise<T> => {
  const { lease, routed } = await openModel(deps, request, signal)
  try {
    const { engine } = lease
    assertAble(engine, request)
    assertMayFit(request, engine)
    const constraint = await compileSchemas(deps, request, engine)
    const { messages, removedTokens } = await compressed(deps, request, lease, signal)
    const requests = requestsOf(request, constraint, messages, engine)
    const ending = new AbortController()
    const end = anySignal(signal, ending.signal)
    const slots = deps.admissions.of(engine).enter(requests.length, end)
    const events = runChoices(engine, requests, slots, { ending, end })
    return await use({ model: engine.model.name, routed, removedTokens, events })
  } finally {
    lease.release()
  }
}
