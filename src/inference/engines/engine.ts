import { randomUUID } from 'node:crypto'
import type { CompiledSchema } from '../structured-output/compile-schema.ts'
import type { ToolSyntax } from '../structured-output/tool-syntax.ts'

/** The programs that can run a model, by their names for users. */
export const ENGINE_NAMES = ['llama.cpp', 'onnxruntime', 'mlx-lm', 'mlc-llm', 'mnn', 'vllm'] as const

/** `openai` is any server that is given by its address. */
export type EngineName = (typeof ENGINE_NAMES)[number] | 'openai'

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  /** The participant's name, for templates that show it. Not for the tool role. */
  readonly name?: string
  /** Only for the assistant role: what the model wrote to work out the message, which it needs until its turn is over. */
  readonly reasoning?: string
  /** Only for the assistant role. */
  readonly toolCalls?: readonly ToolCall[]
  /** Only for the tool role: the call that this is the result of. */
  readonly toolCallId?: string
}

/** Returns messages with the reasoning of the turn that is not over: models need it, and were trained without that of others. */
export const withOwnReasoning = (messages: readonly ChatMessage[]): readonly ChatMessage[] => {
  const question = messages.findLastIndex(({ role }) => role === 'user')
  return messages.map((message, index) => {
    if (index > question || message.reasoning === undefined) return message
    const { reasoning: _, ...rest } = message
    return rest
  })
}

/** A function call that a model requests from the client. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
}

/** Returns an id in the style of OpenAI. */
export const newCallId = (): string => `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`

/** A function that a model may call. */
export interface Tool {
  readonly name: string
  readonly description: string | null
  /** The schema of the arguments object. */
  readonly parameters: JsonSchema
  /** The arguments must always be valid. */
  readonly strict: boolean
}

/** The functions of a request, and how they may be called. */
export interface ToolUse {
  readonly tools: readonly Tool[]
  /** With `auto` the model decides. Otherwise each reply calls any function, or the named one. */
  readonly choice: 'auto' | 'required' | { readonly name: string }
  /** Whether one reply may contain several calls. */
  readonly parallel: boolean
}

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | (SchemaFormat & { /** Where the engine follows grammars. */ readonly compiled: CompiledSchema | null })

export type JsonSchema = Readonly<Record<string, unknown>>

export interface SchemaFormat {
  readonly type: 'json_schema'
  readonly schema: JsonSchema
  /** As the client sent them, for servers that get the schema. */
  readonly name?: string
  readonly strict?: boolean
}

/** The requested format, before its schema is compiled. */
export type RequestedFormat = Exclude<ResponseFormat, SchemaFormat> | SchemaFormat

/**
 * Further options of how tokens are chosen, under their names in requests; those that change nothing are absent. Penalties count
 * the tokens of the reply. The last two are names of one option.
 */
export type Sampling = Readonly<
  Partial<
    Record<
      'top_k' | 'min_p' | 'presence_penalty' | 'frequency_penalty' | 'repeat_penalty' | 'repetition_penalty',
      number
    >
  >
>

/** How a request turns reasoning on or off, under the names in requests; empty if it leaves that to the model. */
export interface ReasoningSwitch {
  /** Only 'none' has a meaning for a model that runs here. */
  readonly reasoning_effort?: string
  readonly chat_template_kwargs?: { readonly enable_thinking?: boolean }
  /** Turned off as in another API, which has no field for this one's servers. */
  readonly isOff?: true
}

/** A text that a model continues as it is, without a chat template. */
export interface Completion {
  /** A text, in which the words of special tokens become those tokens; or tokens of the model. */
  readonly prompt: string | readonly number[]
  /** What follows the gap that the model fills; null if it only continues the prompt. */
  readonly suffix: string | null
  /** Whether the reply begins with the prompt. */
  readonly echo: boolean
}

/** A token and its log probability (base e) in the model's own distribution, before temperature, penalties, and grammars. */
export interface TokenProbability {
  readonly token: string
  /** null if another server does not send them. */
  readonly bytes: readonly number[] | null
  /** null for the first token of a prompt. */
  readonly logprob: number | null
}

export interface TokenLogprob extends TokenProbability {
  /** How many characters (code points) it adds to the text. */
  readonly characters: number
  /** The most likely tokens in its place, most likely first. */
  readonly top: readonly TokenProbability[]
}

/** One choice of one completion. A request for `n` choices becomes `n` of these with different seeds. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[]
  /** Continues this text instead of replying to messages, of which there are none. */
  readonly completion?: Completion
  /** Requests log probabilities of the tokens in the text, with those of this many of the most likely tokens. */
  readonly logprobs?: number
  /** null allows as many as the context can still hold; 0 is only for a completion, which then computes just the prompt. */
  readonly maxTokens: number | null
  /** 0 is greedy. */
  readonly temperature: number
  /** In (0, 1]. */
  readonly topP: number
  /** Unsigned, 32 bits. Always set: engines would default to the current time, and choices would be the same. */
  readonly seed: number
  readonly stop: readonly string[]
  readonly responseFormat: ResponseFormat
  /** Absent or null if the model may call nothing. `compiled` is set if the engine follows grammars. */
  readonly toolUse?: (ToolUse & { readonly compiled: CompiledSchema | null }) | null
  readonly sampling?: Sampling
  readonly reasoning?: ReasoningSwitch
}

export type ChatEvent =
  /** The prompt is in the engine. `cachedTokens` of its tokens did not need to be computed. */
  | { readonly type: 'started'; readonly promptTokens: number; readonly cachedTokens: number }
  /** Whole characters, and nothing that could still become part of a stop sequence. */
  | { readonly type: 'text'; readonly text: string; readonly logprobs?: readonly TokenLogprob[] }
  /** What the model wrote to work out its answer, before the text; it is not part of the reply. */
  | { readonly type: 'reasoning'; readonly text: string }
  /** The model calls a function. The arguments follow as pieces of JSON. */
  | { readonly type: 'call'; readonly callId: string; readonly name: string }
  | { readonly type: 'arguments'; readonly text: string }
  | { readonly type: 'finished'; readonly result: Finished }

export interface Finished {
  /** `content_filter`: only of a server that is used as an engine. */
  readonly reason: 'stop' | 'length' | 'content_filter'
  /** The stop sequence that ended it, if the engine reports it. */
  readonly stopSequence?: string
  readonly completionTokens: number
  /** How many of them are reasoning, if the engine knows. */
  readonly reasoningTokens?: number
  /** The results of speculation for this choice; null if it was not used. */
  readonly speculation: Speculation | null
  /** Replaces the estimate in 'started', for engines that count the prompt only at the end. */
  readonly prompt?: { readonly tokens: number; readonly cachedTokens: number }
}

export interface Speculation {
  readonly kind: 'draft-model' | 'prompt-lookup' | 'first-layers'
  /** The number of proposed tokens, and of those that the full model confirmed. */
  readonly drafted: number
  readonly confirmed: number
}

export interface Embeddings {
  /** One vector per input, of length 1 (L2) if the model runs here. */
  readonly vectors: readonly Float32Array[]
  readonly tokens: number
}

export interface Transcription {
  readonly text: string
  /** ISO 639-1 code, detected by the model if not given. */
  readonly language: string
  readonly segments: readonly { readonly start: number; readonly end: number; readonly text: string }[]
}

/** The properties of a loaded model. */
export interface LoadedModel {
  /** As the user named it. */
  readonly name: string
  readonly path: string
  /** null if the container does not say. */
  readonly parameters: number | null
  /** 0 if unknown. */
  readonly contextTokens: number
  /** For weights and context, as far as the engine knows. */
  readonly memoryBytes: number
}

/**
 * A loaded model: the only interface between the server and an engine. A method is missing if the model lacks the ability.
 * Methods throw InferenceError for errors that the user can fix. When `signal` is aborted, they end at once and release
 * everything.
 */
export interface Engine {
  readonly name: EngineName
  readonly model: LoadedModel
  /** How many choices run at the same time; others wait in the server's queue. */
  readonly slots: number
  /** It enforces JSON schemas with compiled grammars. Other engines get the schema as it is. */
  readonly followsGrammars?: boolean
  /** Its model can call functions: in this syntax, or `passed` if another server handles the syntax. */
  readonly tools?: ToolSyntax | 'passed'
  chat?(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatEvent>
  /** Counts the prompt tokens of these messages and functions. */
  countTokens?(messages: readonly ChatMessage[], tools?: readonly Tool[]): Promise<number>
  embed?(inputs: readonly string[], signal: AbortSignal): Promise<Embeddings>
  /** `samples` are mono at 16 kHz in -1..1. With null, the model detects the language. */
  transcribe?(samples: Float32Array, language: string | null, signal: AbortSignal): Promise<Transcription>
  /** Figures for /metrics by name, without prefix: gauges, or counters if they end in _total. */
  figures(): Readonly<Record<string, number>>
  close(): Promise<void>
}

/** No vocabulary comes close to this as an average over a whole prompt. */
const MAX_CHARACTERS_PER_TOKEN = 64

/** True if the length alone shows that a text cannot fit. Counting tokens of megabytes would block the engine for seconds. */
export const isFarTooLong = (characters: number, { model: { contextTokens } }: Engine): boolean =>
  contextTokens > 0 && characters > contextTokens * MAX_CHARACTERS_PER_TOKEN
