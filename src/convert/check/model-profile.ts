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

/** The steps during which a value is alive: from its creation to its last use. */
export interface Lifetime {
  readonly bytes: number
  readonly from: number
  readonly to: number
}

/** The maximum number of bytes that are alive at one step. */
export const peakBytes = (lifetimes: readonly Lifetime[]): number => {
  const changes = lifetimes.flatMap(({ bytes, from, to }) => [
    { step: from, bytes },
    { step: to + 1, bytes: -bytes },
  ])
  changes.sort((a, b) => a.step - b.step || a.bytes - b.bytes)
  let now = 0
  let most = 0
  for (const { bytes } of changes) {
    now += bytes
    most = Math.max(most, now)
  }
  return most
}

export const countsOf = (names: Iterable<string>): Record<string, number> => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return Object.fromEntries([...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)))
}
