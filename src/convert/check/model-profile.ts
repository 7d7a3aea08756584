import type { Runtime } from './device-profiles.ts'

/** What a language model needs per token. */
export interface LanguageModel {
  readonly architecture: string
  /** The context that it was trained for. */
  readonly contextTokens: number
  /** Bytes of keys and values per token, as F16. */
  readonly cacheBytesPerToken: number
  /** Bytes of weights read per token: for a mixture of experts, those of the active experts. */
  readonly bytesPerToken: number
}

export interface RuntimeSupport {
  readonly runtime: Runtime
  readonly isSupported: boolean
  /** The names of operators that the runtime lacks. */
  readonly unsupportedOperators: readonly string[]
  /** Why it is not supported, or what is required. */
  readonly note: string | null
}

/** What is needed to run a model, according to its file. */
export interface ModelProfile {
  /** With its article: 'an ONNX model'. */
  readonly title: string
  readonly parameters: number
  readonly weightBytes: number
  /** The number of each operator; null if the file holds only weights. */
  readonly operators: Readonly<Record<string, number>> | null
  /** Peak bytes of intermediate values; null if unknown. */
  readonly activationBytes: number | null
  /** Multiplications per input (for a language model: per token); null if unknown. */
  readonly multiplications: number | null
  readonly languageModel: LanguageModel | null
  readonly runtimes: readonly RuntimeSupport[]
  readonly notes: readonly string[]
}

/** What a graph, or one of its steps, reads and computes. */
interface Ends<Value> {
  readonly inputs: readonly Value[]
  readonly outputs: readonly Value[]
}

/** The maximum number of bytes of the values that are alive at one step: from their creation to their last use. */
export const peakBytes = <Value>(
  graph: Ends<Value>,
  steps: readonly Ends<Value>[],
  bytesOf: (value: Value) => number,
): number => {
  const ends = new Map(graph.outputs.map((value) => [value, steps.length]))
  const begins = new Map(graph.inputs.map((value) => [value, 0]))
  for (const [step, { inputs, outputs }] of steps.entries()) {
    for (const value of inputs) ends.set(value, Math.max(ends.get(value) ?? 0, step))
    for (const value of outputs) begins.set(value, step)
  }
  const changes = [...begins].flatMap(([value, from]) => {
    const bytes = bytesOf(value)
    return [
      { step: from, bytes },
      { step: Math.max(from, ends.get(value) ?? from) + 1, bytes: -bytes },
    ]
  })
  changes.sort((a, b) => a.step - b.step || a.bytes - b.bytes)
  let now = 0
  let most = 0
  for (const { bytes } of changes) {
    now += bytes
    most = Math.max(most, now)
  }
  return most
}
