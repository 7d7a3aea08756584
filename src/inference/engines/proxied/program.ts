import type { ModelFile } from '../../models/model-file.ts'
import type { ChatRequest, EngineName } from '../engine.ts'

/** A program that serves a model over an OpenAI-style API, and how ours differs from it. */
export interface ProxiedProgram {
  readonly name: EngineName
  /** What it is called on PATH. */
  readonly program: string
  /** The line that installs it. */
  readonly install: string
  readonly arguments: (model: ModelFile, host: string, port: number) => readonly string[]
  /** Choices that it computes side by side. */
  readonly slots: number
  /** The file of the model folder, and the key in it, that say how long a context may be. */
  readonly contextIn: { readonly file: string; readonly key: string }
  /** What it takes of `response_format`, in its own spelling; absent when it cannot force a format. */
  readonly responseFormat?: (format: ChatRequest['responseFormat']) => unknown
  /** It ends a reply at max_tokens by itself. Otherwise we end it there, by what a stream's pieces amount to. */
  readonly keepsMaxTokens: boolean
  /** It stops at stop sequences by itself. Otherwise we look for them. */
  readonly keepsStops: boolean
}
