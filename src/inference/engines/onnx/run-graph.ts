import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { runOnce } from '../child/run-once.ts'
import { engineState } from '../optional/installed-engine.ts'
import { installLine, LITERT, ONNXRUNTIME, type OptionalEngine } from '../optional/optional-engine.ts'

/** An input or output tensor: `float32`, `int64` (as BigInt64Array), `bool` (as Uint8Array), `string`. */
export interface GraphTensor {
  readonly type: string
  readonly dims: readonly number[]
  readonly data: Exclude<NodeJS.TypedArray, Uint8ClampedArray> | readonly string[]
}

export type GraphTensors = Readonly<Record<string, GraphTensor>>

export type GraphFormat = 'onnx' | 'tflite'

interface GraphEngine {
  readonly title: string
  readonly part: OptionalEngine
  /** The process file that runs models, next to this file. */
  readonly file: string
  /** The module it loads, given the imported file of the optional engine. */
  moduleOf(path: string): string
}

const GRAPH_ENGINES: Readonly<Record<GraphFormat, GraphEngine>> = {
  onnx: {
    title: 'ONNX',
    part: ONNXRUNTIME,
    file: 'run-graph.process',
    moduleOf: (path) => createRequire(path).resolve('onnxruntime-node'),
  },
  tflite: {
    title: 'TensorFlow Lite',
    part: LITERT,
    file: 'run-tflite.process',
    moduleOf: (path) => path,
  },
}

export interface RunGraphOptions {
  readonly format?: GraphFormat
  /** The folder of optional engines. */
  readonly engines: string
  readonly threads?: number
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

export interface GraphRun {
  /** The outputs of each sample, by name. */
  readonly outputs: readonly GraphTensors[]
  /** The time of each sample. */
  readonly milliseconds: readonly number[]
}

/** The command for the process. */
export interface GraphCommand {
  readonly runtime: string
  readonly model: string | Uint8Array
  readonly samples: readonly GraphTensors[]
  readonly threads: number
}

const TIMEOUT_MS = 5 * 60 * 1000

/**
 * Runs a model (a path or bytes) on each sample in a separate process on the CPU: ONNX with onnxruntime, TFLite with LiteRT.
 * Returns `{ notRun }` if the engine is not installed.
 * @throws InferenceError invalid_model with the engine's error about the model or its inputs; engine_failed if the process dies
 * or times out; the signal's reason on abort
 */
export const runGraph = async (
  model: string | Uint8Array,
  samples: readonly GraphTensors[],
  { format = 'onnx', engines, threads, signal, timeoutMs = TIMEOUT_MS }: RunGraphOptions,
): Promise<GraphRun | { readonly notRun: string }> => {
  const engine = GRAPH_ENGINES[format]
  const part = await engineState(engine.part, engines)
  if (part.state !== 'installed')
    return { notRun: `no engine for ${engine.title} is installed (${installLine(engine.part)})` }
  const runtime = engine.moduleOf(part.modulePath)
  const command: GraphCommand = { runtime, model, samples, threads: threads ?? Math.max(1, availableParallelism() - 1) }
  const entry = { importMetaUrl: import.meta.url, file: engine.file }
  return runOnce(entry, command, { name: engine.part.names[0]!, timeoutMs, ...(signal && { signal }) })
}
