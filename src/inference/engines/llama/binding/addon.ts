/**
 * The parts of node-llama-cpp that are used here: its native addon rather than its library, which evaluates sequences one after
 * another and reaches a third of the speed of llama.cpp's own server at 16 streams. These names are internals, so the version
 * is pinned exactly, and load-addon.ts reports any that are missing.
 */
export interface Addon {
  readonly AddonModel: new (path: string, options: object) => AddonModel
  readonly AddonContext: new (model: AddonModel, options: object) => AddonContext
  readonly AddonContextSequenceCheckpoint: new () => AddonCheckpoint
  readonly AddonModelLora: new (model: AddonModel, path: string) => object
  readonly AddonGrammar: new (grammar: string, options: object) => object
  readonly AddonGrammarEvaluationState: new (model: AddonModel, grammar: object) => object
  readonly AddonSampler: {
    new (model: AddonModel): AddonSampler
    acceptGrammarEvaluationStateToken(state: object, token: number): void
    canBeNextTokenForGrammarEvaluationState(state: object, token: number): boolean
  }
  getSupportsMmap(): boolean
  markLoaded(): boolean
  setLogger(log: (level: number, message: string) => void): void
  setLoggerLogLevel(level: number): void
  loadBackends(folder?: string): void
  getGpuType(): string | false | undefined
  init(): Promise<void>
}

export interface AddonModel {
  init(): Promise<boolean>
  dispose(): Promise<void>
  loadLora(lora: object): Promise<void>
  tokenize(text: string, special: boolean): Uint32Array
  detokenize(tokens: Uint32Array, special?: boolean): string
  getTotalParameters(): number
  getMemoryBreakdown(): { readonly cpuRam: number; readonly gpuVram: number }
  tokenBos(): number
  tokenEos(): number
  getTokenString(token: number): string
  getTokenAttributes(token: number): number
  shouldPrependBosToken(): boolean
  shouldAppendEosToken(): boolean
  sepToken(): number
  getVocabularyType(): number
  isEogToken(token: number): boolean
  /** Of the tokens to fill in the middle of a text; -1 if the model has none. */
  prefixToken(): number
  suffixToken(): number
  middleToken(): number
}

export interface AddonContext {
  init(): Promise<boolean>
  dispose(): Promise<void>
  initBatch(size: number): void
  addToBatch(sequence: number, position: number, tokens: Uint32Array, logits: Uint32Array): Uint32Array
  decodeBatch(): Promise<void>
  getEmbedding(tokens: number): Float64Array | readonly number[]
  sampleToken(logit: number, sampler: AddonSampler): Promise<number>
  /** Also returns the probabilities that the sampler chose from: token, probability, token, probability, … */
  sampleToken(logit: number, sampler: AddonSampler, all: true): Promise<[number, readonly number[]]>
  /** Also returns the probability of the chosen token. */
  sampleToken(logit: number, sampler: AddonSampler, all: false, chosen: true): Promise<[number, undefined, number]>
  disposeSequence(sequence: number): void
  setLoras(loras: readonly object[], scales: readonly number[]): void
  removeTokenCellsFromSequence(sequence: number, from: number, to: number): boolean
  copySequenceStateFromOtherSequence(target: number, source: number): Promise<number>
  restoreCheckpoint(checkpoint: AddonCheckpoint, lastPosition: number, sequence: number): Promise<boolean>
  getMemoryBreakdown(): { readonly cpuRam: number; readonly gpuVram: number }
}

export interface AddonCheckpoint {
  init(context: AddonContext, sequence: number): Promise<void>
  dispose(): void
  readonly size: number
}

export interface AddonSampler {
  applyConfig(config: object): void
  dispose(): void
}

/** Every name in `Addon`, for the check at startup. */
const METHODS: Readonly<Record<string, string>> = {
  AddonModel: `init dispose loadLora tokenize detokenize getTotalParameters getMemoryBreakdown tokenBos tokenEos
    getTokenString getTokenAttributes shouldPrependBosToken shouldAppendEosToken sepToken getVocabularyType isEogToken
    prefixToken suffixToken middleToken`,
  AddonContext: `init dispose initBatch addToBatch decodeBatch getEmbedding sampleToken disposeSequence setLoras
    removeTokenCellsFromSequence copySequenceStateFromOtherSequence restoreCheckpoint getMemoryBreakdown`,
  AddonContextSequenceCheckpoint: 'init dispose',
  AddonModelLora: '',
  AddonGrammar: '',
  AddonGrammarEvaluationState: '',
  AddonSampler: `applyConfig dispose acceptGrammarEvaluationStateToken canBeNextTokenForGrammarEvaluationState`,
}

const FUNCTIONS = 'getSupportsMmap markLoaded setLogger setLoggerLogLevel loadBackends getGpuType init'

const words = (text: string): string[] => text.match(/\w+/g) ?? []

/** Returns the required names that `bindings` lacks. */
export const missingFromAddon = (bindings: unknown): string[] => {
  if (typeof bindings !== 'object' || bindings === null) return ['the addon itself']
  const addon = bindings as Readonly<Record<string, unknown>>
  const missing = words(FUNCTIONS).filter((name) => typeof addon[name] !== 'function')
  for (const [name, methods] of Object.entries(METHODS)) {
    const maker = addon[name]
    if (typeof maker !== 'function') missing.push(name)
    else {
      const has = (method: string): boolean => method in maker.prototype || method in maker
      missing.push(...words(methods).flatMap((method) => (has(method) ? [] : [`${name}.${method}`])))
    }
  }
  return missing
}
