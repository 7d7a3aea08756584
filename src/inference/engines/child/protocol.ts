import { errorMessage } from '../../../domain/error-message.ts'
import { InferenceError, type InferenceErrorCode } from '../../errors.ts'
import type { ChatEvent, ChatMessage, ChatRequest, Embeddings, Tool } from '../engine.ts'

/** The requests to a model's process. It answers `failed` if its model cannot do what is requested. */
export type EngineRequest =
  | { readonly type: 'chat'; readonly request: ChatRequest }
  | { readonly type: 'count'; readonly messages: readonly ChatMessage[]; readonly tools?: readonly Tool[] }
  | { readonly type: 'embed'; readonly inputs: readonly string[] }
  | { readonly type: 'transcribe'; readonly window: Float32Array; readonly language: string | null }

/** Messages from the service to that process. */
export type Command<Settings> =
  | { readonly type: 'open'; readonly settings: Settings }
  | { readonly type: 'cancel'; readonly id: number }
  | (EngineRequest & { readonly id: number })

export interface Failure {
  readonly code: InferenceErrorCode
  readonly message: string
  readonly param: string | null
}

/** The transcript of one audio window; times are in seconds from its start. */
export interface Transcribed {
  readonly language: string
  readonly segments: readonly { readonly start: number; readonly end: number; readonly text: string }[]
  /** The start of the next window, because the last segment may have been cut off. */
  readonly nextStart: number
}

/** Responses to one request: a chat's events, or a single response. */
export type EngineResponse =
  | ChatEvent
  | { readonly type: 'counted'; readonly tokens: number }
  | { readonly type: 'embedded'; readonly embeddings: Embeddings }
  | { readonly type: 'transcribed'; readonly transcribed: Transcribed }
  | { readonly type: 'failed'; readonly failure: Failure }

/** One message carries all events of a step, because a message costs more than its content. */
export type EngineEvent = EngineResponse & { readonly id: number }

/** Messages from that process to the service. */
export type Message<Facts> =
  | { readonly type: 'ready'; readonly facts: Facts }
  | { readonly type: 'refused'; readonly failure: Failure }
  | { readonly type: 'step'; readonly events: readonly EngineEvent[] }
  | { readonly type: 'figures'; readonly figures: Readonly<Record<string, number>> }
  /** For the log. */
  | { readonly type: 'warning'; readonly message: string }

/** Errors lose their class between processes. A failure has what the other side needs to recreate the error. */
export const failureOf = (error: unknown): Failure =>
  error instanceof InferenceError
    ? { code: error.code, message: error.message, param: error.param }
    : { code: 'engine_failed', message: errorMessage(error), param: null }

export const errorOf = ({ code, message, param }: Failure): InferenceError =>
  new InferenceError(code, message, param === null ? {} : { param })
