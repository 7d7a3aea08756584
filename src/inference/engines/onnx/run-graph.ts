import { fork } from 'node:child_process'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { threadEntry } from '../../../platform/threads/thread-entry.ts'
import { InferenceError } from '../../errors.ts'
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

/** What the process is told, and what it answers. */
export interface GraphCommand {
  readonly runtime: string
  readonly model: string | Uint8Array
  readonly samples: readonly GraphTensors[]
  readonly threads: number
}
export type GraphAnswer = ({ readonly ok: true } & GraphRun) | { readonly ok: false; readonly message: string }

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
  signal?.throwIfAborted()
  const command: GraphCommand = { runtime, model, samples, threads: threads ?? Math.max(1, availableParallelism() - 1) }
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(threadEntry(import.meta.url, 'run-graph.process')), [], {
      serialization: 'advanced',
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const end = (settle: () => void): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      child.kill('SIGKILL')
      settle()
    }
    const fail = (error: unknown): void => end(() => reject(error))
    const failed = (why: string): void => fail(new InferenceError('engine_failed', `onnxruntime ${why}.`))
    const abort = (): void => fail(signal?.reason)
    const timer = setTimeout(() => failed(`was stopped after ${Math.round(timeoutMs / 1000)} s`), timeoutMs)
    signal?.addEventListener('abort', abort, { once: true })
    child.once('error', (error) => failed(`could not be started: ${error.message}`))
    child.once('exit', (code, by) => failed(by === null ? `ended with code ${code}` : `was ended by ${by}`))
    child.once('message', (answer: GraphAnswer) =>
      answer.ok
        ? end(() => resolve({ outputs: answer.outputs, milliseconds: answer.milliseconds }))
        : fail(new InferenceError('invalid_model', answer.message)),
    )
    child.send(command)
  })
}
