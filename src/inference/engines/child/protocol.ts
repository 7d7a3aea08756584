import { InferenceError, type InferenceErrorCode } from '../../errors.ts'
import type { ChatEvent, ChatMessage, ChatRequest, Embeddings, Tool } from '../engine.ts'

/** What a process in which a model runs can be asked for. It answers `failed` to what its model cannot do. */
export type EngineRequest =
  | { readonly type: 'chat'; readonly request: ChatRequest }
  | { readonly type: 'count'; readonly messages: readonly ChatMessage[]; readonly tools?: readonly Tool[] }
  | { readonly type: 'embed'; readonly inputs: readonly string[] }
  | { readonly type: 'listen'; readonly window: Float32Array; readonly language: string | null }

/** What the service tells that process. */
export type Command<Settings> =
  | { readonly type: 'open'; readonly settings: Settings }
  | { readonly type: 'cancel'; readonly id: number }
  | (EngineRequest & { readonly id: number })

export interface Failure {
  readonly code: InferenceErrorCode
  readonly message: string
  readonly param: string | null
}

/** What was understood of one window of sound; times are seconds from its start. */
export interface Heard {
  readonly language: string
  readonly segments: readonly { readonly start: number; readonly end: number; readonly text: string }[]
  /** Where the next window begins: the last segment may have been cut. */
  readonly nextStart: number
}

/** What a process says about one request; a chat's events, or one answer. */
export type EngineResponse =
  | ChatEvent
  | { readonly type: 'counted'; readonly tokens: number }
  | { readonly type: 'embedded'; readonly embeddings: Embeddings }
  | { readonly type: 'heard'; readonly heard: Heard }
  | { readonly type: 'failed'; readonly failure: Failure }

/** Those of one step travel in one message: a message costs more than what it says. */
export type EngineEvent = EngineResponse & { readonly id: number }

/** What that process tells the service. */
export type Message<Facts> =
  | { readonly type: 'ready'; readonly facts: Facts }
  | { readonly type: 'refused'; readonly failure: Failure }
  | { readonly type: 'step'; readonly events: readonly EngineEvent[] }
  | { readonly type: 'figures'; readonly figures: Readonly<Record<string, number>> }
  /** For the log. */
  | { readonly type: 'warning'; readonly message: string }

/** Errors lose their class between processes: these carry what the other side needs to make them again. */
export const failureOf = (error: unknown): Failure =>
  error instanceof InferenceError
    ? { code: error.code, message: error.message, param: error.param }
    : { code: 'engine_failed', message: error instanceof Error ? error.message : String(error), param: null }

export const errorOf = ({ code, message, param }: Failure): InferenceError =>
  new InferenceError(code, message, param === null ? {} : { param })
