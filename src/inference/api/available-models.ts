import type { ChatMessage, Engine, RequestedFormat } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'

/** A model that a request may name; it need not be loaded. */
export interface ListedModel {
  readonly name: string
  /** When its file was last changed, in seconds since the epoch. */
  readonly created: number
}

/** A loaded model that is not closed before `release`, which may be called more than once. */
export interface Lease {
  readonly engine: Engine
  release(): void
}

/** The models that requests may name: one that is always loaded, or a pool that loads them on demand. */
export interface AvailableModels {
  list(): readonly ListedModel[]
  /**
   * Loads the model where that is needed. Aborting `signal` gives up the wait for it.
   * @throws InferenceError model_not_found, out_of_memory, or why it could not be loaded.
   */
  open(name: string, signal: AbortSignal): Promise<Lease>
  /** Those in memory now, for /metrics. */
  loaded(): readonly Engine[]
}

/** What is known of a request for the model `auto` when its model is chosen. */
export interface RouteQuestion {
  readonly messages: readonly ChatMessage[]
  readonly responseFormat: RequestedFormat
}

/** Chooses the model for requests that name `auto`, and says why in a few words for the log. */
export type Route = (question: RouteQuestion) => { readonly model: string; readonly reason: string }

/** Takes redundant context out of a long prompt; null when it left everything as it was. */
export type Compress = (
  messages: readonly ChatMessage[],
  countTokens: (messages: readonly ChatMessage[]) => Promise<number>,
) => Promise<{ readonly messages: readonly ChatMessage[]; readonly removedTokens: number } | null>

export const modelNotFound = (name: string, existing: readonly string[]): InferenceError =>
  new InferenceError(
    'model_not_found',
    `There is no model '${name.slice(0, 100)}' here. ${existing.length === 1 ? 'The only one is' : 'There are'} ${existing.join(', ')}.`,
    { param: 'model' },
  )

/** This engine's model and no other. It stays open until whoever opened it closes it. */
export const singleModel = (engine: Engine, created: number): AvailableModels => {
  const { name } = engine.model
  return {
    list: () => [{ name, created }],
    loaded: () => [engine],
    async open(requested) {
      if (requested !== name) throw modelNotFound(requested, [name])
      return { engine, release: () => undefined }
    },
  }
}
