import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { runOnce } from '../child/run-once.ts'
import { partState } from '../parts/installed-part.ts'
import { installLine, ONNXRUNTIME } from '../parts/part.ts'

/** A tensor as onnxruntime takes and gives it: `float32`, `int64` (as BigInt64Array), `bool` (as Uint8Array), `string`. */
export interface GraphTensor {
  readonly type: string
  readonly dims: readonly number[]
  readonly data: Exclude<NodeJS.TypedArray, Uint8ClampedArray> | readonly string[]
}

export type GraphTensors = Readonly<Record<string, GraphTensor>>

export interface RunGraphOptions {
  /** The folder of optional parts, in which onnxruntime is looked for. */
  readonly engines: string
  readonly threads?: number
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

export interface GraphRun {
  /** Of each sample, by name. */
  readonly outputs: readonly GraphTensors[]
  /** What each sample took. */
  readonly milliseconds: readonly number[]
}

/** What the process is told. */
export interface GraphCommand {
  readonly runtime: string
  readonly model: string | Uint8Array
  readonly samples: readonly GraphTensors[]
  readonly threads: number
}

const TIMEOUT_MS = 5 * 60 * 1000

/** The module of onnxruntime for Node; null where the part is not installed. */
const runtimeIn = async (engines: string): Promise<string | null> => {
  const part = await partState(ONNXRUNTIME, engines)
  return part.state === 'installed' ? createRequire(part.modulePath).resolve('onnxruntime-node') : null
}

/** Where no engine is: why nothing was run, with the command that installs it. */
export const NO_ENGINE = `no engine for ONNX is installed (${installLine(ONNXRUNTIME)})`

/**
 * Runs an ONNX model (a path or bytes) on each sample in a process of its own, on the processor. `{ notRun }` where
 * onnxruntime is not installed. Throws InferenceError invalid_model with what onnxruntime says of the model or its inputs;
 * engine_failed where the process dies or the time is over; the signal's reason when it aborts.
 */
export const runGraph = async (
  model: string | Uint8Array,
  samples: readonly GraphTensors[],
  { engines, threads, signal, timeoutMs = TIMEOUT_MS }: RunGraphOptions,
): Promise<GraphRun | { readonly notRun: string }> => {
  const runtime = await runtimeIn(engines)
  if (runtime === null) return { notRun: NO_ENGINE }
  const command: GraphCommand = { runtime, model, samples, threads: threads ?? Math.max(1, availableParallelism() - 1) }
  const entry = { importMetaUrl: import.meta.url, file: 'run-graph.process' }
  return runOnce(entry, command, { name: 'onnxruntime', timeoutMs, ...(signal && { signal }) })
}
