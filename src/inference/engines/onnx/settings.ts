import { availableParallelism } from 'node:os'
import { requireEngine } from '../optional/installed-engine.ts'
import { ONNXRUNTIME } from '../optional/optional-engine.ts'

export interface OnnxOptions {
  /** As the user named it. */
  readonly name: string
  /** A folder as Hugging Face keeps models, or one .onnx file in it. */
  readonly path: string
  /** One core is left to the server unless told otherwise. */
  readonly threads?: number
  /** The folder of optional parts, in which onnxruntime is looked for. */
  readonly engines: string
  readonly log: (line: string) => void
}

/** What the process in which the model runs is told at its start. */
export interface Settings {
  readonly path: string
  readonly threads: number
  /** The file that transformers.js is imported from. */
  readonly modulePath: string
}

export type ModelKind = 'embeddings' | 'speech' | 'chat'

/** What that process found once the model was loaded. */
export interface ModelFacts {
  readonly kind: ModelKind
  readonly contextTokens: number
  readonly memoryBytes: number
  /** Samples of sound that the model hears at a time; 0 where it hears nothing. */
  readonly windowSamples: number
}

/** @throws InferenceError engine_missing */
export const settingsOf = async ({ path, threads, engines }: OnnxOptions): Promise<Settings> => ({
  path,
  threads: threads ?? Math.max(1, availableParallelism() - 1),
  modulePath: await requireEngine(ONNXRUNTIME, engines),
})
