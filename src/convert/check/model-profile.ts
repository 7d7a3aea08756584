import type { Runtime } from './device-profiles.ts'

/** What a language model needs for each token of context. */
export interface LanguageModel {
  readonly architecture: string
  /** That it was trained for. */
  readonly contextTokens: number
  /** Bytes of keys and values for one token, as F16. */
  readonly cacheBytesPerToken: number
  /** Bytes of weights that are read for each token: of a mixture, those of the experts that answer. */
  readonly bytesPerToken: number
}

export interface RuntimeSupport {
  readonly runtime: Runtime
  readonly isSupported: boolean
  /** Operators that it does not have, by name. */
  readonly unsupportedOperators: readonly string[]
  /** Why not, or what it takes. */
  readonly note: string | null
}

/** What a model's file says of what it takes to run it. */
export interface ModelProfile {
  /** With its article: 'an ONNX model'. */
  readonly title: string
  readonly parameters: number
  readonly weightBytes: number
  /** How many there are of each; null where the file holds weights alone. */
  readonly operators: Readonly<Record<string, number>> | null
  /** Most bytes of values between operators at one time; null where the file says too little. */
  readonly activationBytes: number | null
  /** Multiplications for one input (of a language model: for one token); null where the file says too little. */
  readonly multiplications: number | null
  readonly languageModel: LanguageModel | null
  readonly runtimes: readonly RuntimeSupport[]
  readonly notes: readonly string[]
}

/** Values that are alive from the step that makes them to the last one that uses them. */
export interface Lifetime {
  readonly bytes: number
  readonly from: number
  readonly to: number
}

/** The most that is alive at one step. */
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
