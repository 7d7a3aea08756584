import { availableParallelism } from 'node:os'
import { requireEngine } from '../optional/installed-engine.ts'
import { ONNXRUNTIME } from '../optional/optional-engine.ts'

export interface OnnxOptions {
  /** As the user named it. */
  readonly name: string
  /** A folder in Hugging Face's layout, or one .onnx file in it. */
  readonly path: string
  /** By default all cores but one, which is left to the server. */
  readonly threads?: number
  /** The folder of optional engines, which contains onnxruntime. */
  readonly engines: string
  readonly log: (line: string) => void
}

/** The settings sent to the model's process when it starts. */
export interface Settings {
  readonly path: string
  readonly threads: number
  /** The file of transformers.js to import. */
  readonly modulePath: string
}

export type ModelKind = 'embeddings' | 'speech' | 'chat'

/** The model's properties that the process reports after loading. */
export interface ModelFacts {
  readonly kind: ModelKind
  readonly contextTokens: number
  readonly memoryBytes: number
  /** Audio samples per window; 0 if the model does not take audio. */
  readonly windowSamples: number
}

/** @throws InferenceError engine_missing */
export const settingsOf = async ({ path, threads, engines }: OnnxOptions): Promise<Settings> => ({
  path,
  threads: threads ?? Math.max(1, availableParallelism() - 1),
  modulePath: await requireEngine(ONNXRUNTIME, engines),
})
