import type { ChatMessage, ChatRequest, Finished } from '../../engine.ts'
import type { InferenceErrorCode } from '../../errors.ts'
import type { ModelFacts, Settings } from './settings.ts'

/** What the service tells the process in which the model runs. */
export type Order =
  | { readonly type: 'open'; readonly settings: Settings }
  | { readonly type: 'chat'; readonly id: number; readonly request: ChatRequest }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'count'; readonly id: number; readonly messages: readonly ChatMessage[] }

export interface Failure {
  readonly code: InferenceErrorCode
  readonly message: string
  readonly param: string | null
}

/** What happened to one request. Those of one step travel in one message: a message costs more than what it says. */
export type Happening =
  | { readonly id: number; readonly type: 'started'; readonly promptTokens: number; readonly cachedTokens: number }
  | { readonly id: number; readonly type: 'text'; readonly text: string }
  | { readonly id: number; readonly type: 'finished'; readonly result: Finished }
  | { readonly id: number; readonly type: 'counted'; readonly tokens: number }
  | { readonly id: number; readonly type: 'failed'; readonly failure: Failure }

/** What that process tells the service. */
export type News =
  | { readonly type: 'ready'; readonly facts: ModelFacts }
  | { readonly type: 'refused'; readonly failure: Failure }
  | { readonly type: 'step'; readonly happenings: readonly Happening[] }
  | { readonly type: 'figures'; readonly figures: Readonly<Record<string, number>> }
