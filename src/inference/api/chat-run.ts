import {
  type ChatMessage,
  type ChatRequest,
  type Engine,
  isFarTooLong,
  type RequestedFormat,
  type ToolUse,
  withOwnReasoning,
} from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'
import { type Admissions, withSlot } from '../runtime/queue/admission.ts'
import type { SchemaCompiler } from '../structured-output/schema-compiler.ts'
import type { Schema } from '../structured-output/schema-fault.ts'
import type { ToolGrammarRequest } from '../structured-output/tool-grammar.ts'
import type { ToolSyntax } from '../structured-output/tool-syntax.ts'
import type { AvailableModels, Compress, Route } from './available-models.ts'
import type { ChatCompletionRequest } from './chat.schema.ts'
import { type ChoiceEvent, requestsOf, runChoices } from './choices.ts'

export const AUTO = 'auto'

export interface ChatDeps {
  readonly models: AvailableModels
  /** With null, `auto` is an ordinary model name, which does not exist. */
  readonly route: Route | null
  readonly compress: Compress | null
  readonly admissions: Admissions
  /** For counting tokens. Engines do nothing else meanwhile: one request at a time does, so that replies continue in between. */
  readonly countAdmissions: Admissions
  readonly schemas: SchemaCompiler
}

/** A chat with a loaded model. It holds its slots or waits for them in the queue. */
export interface ChatRun {
  readonly model: string
  /** Why this model was chosen; null if the client named it. */
  readonly routed: string | null
  /** Whether compression changed the prompt. */
  readonly compressed: boolean
  /** How many replies there will be. */
  readonly choices: number
  readonly events: AsyncIterable<ChoiceEvent>
  /** Releases the model. */
  release(): void
}

const assertAble = (engine: Engine, { toolUse, messages, reasoning }: ChatCompletionRequest): void => {
  const { name } = engine.model
  if (engine.chat === undefined)
    throw new InferenceError('unsupported', `The model '${name}' is not a chat model.`, { param: 'model' })
  const { reasoning_effort: effort } = reasoning
  if (effort !== undefined && effort !== 'none' && engine.tools !== 'passed')
    throw new InferenceError(
      'unsupported',
      `reasoning_effort must be 'none', or left out: '${name}' runs here, and decides itself how long it reasons.`,
      { param: 'reasoning_effort' },
    )
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
  { messages, toolUse, completions }: Pick<ChatCompletionRequest, 'messages' | 'toolUse' | 'completions'>,
  engine: Engine,
): void => {
  const { contextTokens } = engine.model
  // Every message becomes at least one token.
  const tooMany = contextTokens > 0 && messages.length > contextTokens
  const characters = withOwnReasoning(messages).reduce(
    (sum, { content, reasoning = '', toolCalls }) =>
      sum + content.length + reasoning.length + (toolCalls === undefined ? 0 : JSON.stringify(toolCalls).length),
    toolUse === null ? 0 : JSON.stringify(toolUse.tools).length,
  )
  if (!tooMany && !isFarTooLong(characters, engine)) return
  const size = tooMany
    ? `There are ${messages.length} messages, more`
    : `The ${completions ? 'prompt has' : 'messages have'} ${characters} characters, far more`
  throw new InferenceError(
    'context_length_exceeded',
    `${size} than a context of ${contextTokens} tokens holds. Shorten ${completions ? 'it' : 'them'}.`,
    { param: completions ? 'prompt' : 'messages' },
  )
}

/** Compiles the schemas before the request waits for a slot, so that an unsupported schema is refused at once. */
const compileSchemas = async (
  { schemas }: ChatDeps,
  { responseFormat, toolUse }: ChatCompletionRequest,
  { followsGrammars = false, tools: syntax }: Engine,
): Promise<Pick<ChatRequest, 'responseFormat' | 'toolUse'>> => ({
  // Also beside functions, whose grammar includes it, so that a fault in it names the format.
  responseFormat:
    responseFormat.type === 'json_schema'
      ? { ...responseFormat, compiled: followsGrammars ? await schemas.compile(responseFormat.schema) : null }
      : responseFormat,
  toolUse: toolUse && {
    ...toolUse,
    compiled:
      typeof syntax === 'object' ? await schemas.compileTools(grammarRequestOf(toolUse, syntax, responseFormat)) : null,
  },
})

/** The format of a reply without calls. @throws InferenceError unsupported if it cannot be told from a call */
const formatOf = (format: RequestedFormat, { anywhere }: ToolSyntax): Schema | null => {
  if (format.type === 'text') return null
  if (anywhere) return format.type === 'json_schema' ? format.schema : { type: 'object' }
  throw new InferenceError(
    'unsupported',
    'This model writes function calls as JSON objects, which could be replies in the format, too: send tools without a format, or set tool_choice to required or none.',
    { param: 'tools' },
  )
}

const grammarRequestOf = (
  { tools, choice, parallel }: ToolUse,
  syntax: ToolSyntax,
  format: RequestedFormat,
): ToolGrammarRequest => ({
  syntax,
  tools: tools
    .filter(({ name }) => typeof choice === 'string' || name === choice.name)
    .map(({ name, parameters, strict }) => ({ name, parameters, strict })),
  required: choice !== 'auto',
  parallel: parallel && typeof choice === 'string',
  format: formatOf(format, syntax),
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

/** Returns null if nothing changes. Chats with functions stay unchanged, because calls and their results belong together. */
const compressed = async (
  { compress, countAdmissions }: ChatDeps,
  { messages, toolUse, completions }: ChatCompletionRequest,
  engine: Engine,
  signal: AbortSignal,
): Promise<readonly ChatMessage[] | null> => {
  const { countTokens } = engine
  const calls = toolUse !== null || messages.some(({ role }) => role === 'tool')
  if (compress === null || countTokens === undefined || calls || completions !== undefined) return null
  return withSlot(countAdmissions.of(engine), signal, () => compress(messages, countTokens))
}

/**
 * Opens the model and enters the queue of its engine. The caller releases the model.
 * @throws InferenceError model_not_found, unsupported, queue_full, or the engine's error
 */
export const startChat = async (
  deps: ChatDeps,
  request: ChatCompletionRequest,
  signal: AbortSignal,
): Promise<ChatRun> => {
  const { lease, routed } = await openModel(deps, request, signal)
  try {
    const { engine } = lease
    assertAble(engine, request)
    // Each text to continue must fit alone.
    for (const prompt of request.completions ? request.messages.map((each) => [each]) : [request.messages])
      assertMayFit({ ...request, messages: prompt }, engine)
    const constraint = await compileSchemas(deps, request, engine)
    const shorter = await compressed(deps, request, engine, signal)
    const requests = requestsOf(request, constraint, shorter ?? request.messages, engine)
    const events = runChoices(engine, requests, deps.admissions.of(engine), signal, request.choices)
    const { length: choices } = requests
    return { model: engine.model.name, routed, compressed: shorter !== null, choices, events, release: lease.release }
  } catch (error) {
    lease.release()
    throw error
  }
}
