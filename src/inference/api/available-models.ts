import type { ChatMessage, Engine, RequestedFormat, Tool } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'

/** A model that a request may name, loaded or not. */
export interface ListedModel {
  readonly name: string
  /** The file's modification time in seconds since the epoch. */
  readonly created: number
}

/** A loaded model that stays open until `release`, which may be called more than once. */
export interface Lease {
  readonly engine: Engine
  release(): void
}

/** The models that requests may name: one that is always loaded, or a pool that loads them on demand. */
export interface AvailableModels {
  list(): readonly ListedModel[]
  /**
   * Loads the model if necessary. Aborting `signal` stops the wait for it.
   * @throws InferenceError model_not_found, out_of_memory, or the reason that it could not be loaded
   */
  open(name: string, signal: AbortSignal): Promise<Lease>
  /** The models in memory now, for /metrics. */
  loaded(): readonly Engine[]
}

/** What is known about a request for `auto` when its model is chosen. */
export interface RouteQuestion {
  readonly messages: readonly ChatMessage[]
  readonly responseFormat: RequestedFormat
  readonly tools: readonly Tool[]
}

/** Chooses the model for requests that name `auto`, with a short reason for the log. */
export type Route = (question: RouteQuestion) => { readonly model: string; readonly reason: string }

/** Removes redundant context from a long prompt. Returns null if nothing changed. */
export type Compress = (
  messages: readonly ChatMessage[],
  countTokens: (messages: readonly ChatMessage[]) => Promise<number>,
) => Promise<readonly ChatMessage[] | null>

export const modelNotFound = (name: string, existing: readonly string[]): InferenceError =>
  new InferenceError(
    'model_not_found',
    `There is no model '${name.slice(0, 100)}' here. ${existing.length === 1 ? 'The only one is' : 'Available models:'} ${existing.join(', ')}.`,
    { param: 'model' },
  )

/** Serves only this engine's model. The caller closes the engine. */
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
