import type { CompiledSchema } from '../structured-output/compile-schema.ts'
import type { ToolSyntax } from '../structured-output/tool-syntax.ts'

/** The programs that can run a model, by the names that users give them. */
export const ENGINE_NAMES = ['llama.cpp', 'onnxruntime', 'mlx-lm', 'mlc-llm', 'mnn', 'vllm'] as const

/** `openai` is any server that is named by its address. */
export type EngineName = (typeof ENGINE_NAMES)[number] | 'openai'

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  /** Of the assistant. */
  readonly toolCalls?: readonly ToolCall[]
  /** Of a tool: the call that this is the result of. */
  readonly toolCallId?: string
}

/** A call of a function that a model asks its client for. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
}

/** A function that a model may call. */
export interface Tool {
  readonly name: string
  readonly description: string | null
  /** Of its arguments, which are an object. */
  readonly parameters: JsonSchema
  /** Its arguments have to be valid, whatever that takes. */
  readonly strict: boolean
}

/** The functions of a request, and how they may be called. */
export interface ToolUse {
  readonly tools: readonly Tool[]
  /** `auto` leaves it to the model; else each reply calls: any of them, or the one that is named. */
  readonly choice: 'auto' | 'required' | { readonly name: string }
  /** Several in one reply. */
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
  /** As the client sent them, for servers that are passed the schema. */
  readonly name?: string
  readonly strict?: boolean
}

/** What a request asks for, before its schema is compiled. */
export type RequestedFormat = Exclude<ResponseFormat, SchemaFormat> | SchemaFormat

/** One choice of one completion: a request for `n` choices becomes `n` of these with seeds of their own. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[]
  /** At least 1; null: as many as the context still holds. */
  readonly maxTokens: number | null
  /** 0 is greedy. */
  readonly temperature: number
  /** In (0, 1]. */
  readonly topP: number
  /** Unsigned, 32 bits. Always given: engines would take the time for it, and choices would be alike. */
  readonly seed: number
  readonly stop: readonly string[]
  readonly responseFormat: ResponseFormat
  /** Absent: the model may call nothing. `compiled` where the engine follows grammars. */
  readonly toolUse?: (ToolUse & { readonly compiled: CompiledSchema | null }) | null
}

export type ChatEvent =
  /** The prompt is in the engine. `cachedTokens` of its tokens needed no computing. */
  | { readonly type: 'started'; readonly promptTokens: number; readonly cachedTokens: number }
  /** Whole characters, and nothing that could still turn out to be part of a stop sequence. */
  | { readonly type: 'text'; readonly text: string }
  /** The model calls a function; its arguments follow, as pieces of JSON. */
  | { readonly type: 'call'; readonly callId: string; readonly name: string }
  | { readonly type: 'arguments'; readonly text: string }
  | { readonly type: 'finished'; readonly result: Finished }

export interface Finished {
  readonly reason: 'stop' | 'length'
  /** The one of `stop` that ended it, where the engine tells. */
  readonly stopSequence?: string
  readonly completionTokens: number
  /** What speculation did for this choice; null where it was not used. */
  readonly speculation: Speculation | null
  /** From engines that learn it only at the end: what holds instead of the estimate in 'started'. */
  readonly prompt?: { readonly tokens: number; readonly cachedTokens: number }
}

export interface Speculation {
  readonly kind: 'draft-model' | 'prompt-lookup' | 'first-layers'
  /** Tokens proposed, and those of them that the full model confirmed. */
  readonly drafted: number
  readonly confirmed: number
}

export interface Embeddings {
  /** One vector per input; of length 1 (L2) where the model runs here. */
  readonly vectors: readonly Float32Array[]
  readonly tokens: number
}

export interface Transcription {
  readonly text: string
  /** As ISO 639-1, found by the model where it was not given. */
  readonly language: string
  readonly segments: readonly { readonly start: number; readonly end: number; readonly text: string }[]
}

/** What is known of a model once it is loaded. */
export interface LoadedModel {
  /** As the user named it. */
  readonly name: string
  readonly path: string
  /** Where the container says so. */
  readonly parameters: number | null
  /** 0: not known. */
  readonly contextTokens: number
  /** Of the weights and the context, as far as the engine can tell. */
  readonly memoryBytes: number
}

/**
 * A loaded model: the only interface through which the server uses an engine. A model that cannot do something lacks the
 * method. Methods throw InferenceError for errors that the user can fix; when `signal` is aborted, they end at once and
 * release what they hold.
 */
export interface Engine {
  readonly name: EngineName
  readonly model: LoadedModel
  /** How many choices run at the same time; more than that wait in the server's queue. */
  readonly slots: number
  /** It holds answers to a JSON schema by a compiled grammar; others are given the schema as it is. */
  readonly followsGrammars?: boolean
  /** Its model can call functions: in this syntax, or `passed` where another server sees to that. */
  readonly tools?: ToolSyntax | 'passed'
  chat?(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatEvent>
  /** Tokens of the prompt that these messages, and the functions beside them, become. */
  countTokens?(messages: readonly ChatMessage[], tools?: readonly Tool[]): Promise<number>
  embed?(inputs: readonly string[], signal: AbortSignal): Promise<Embeddings>
  /** `samples` are mono at 16 kHz in -1..1; `language` null asks the model. */
  transcribe?(samples: Float32Array, language: string | null, signal: AbortSignal): Promise<Transcription>
  /** Figures for /metrics, by name without prefix: gauges, or counters when they end in _total. */
  figures(): Readonly<Record<string, number>>
  close(): Promise<void>
}
