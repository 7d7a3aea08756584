import { InferenceError } from '../../../errors.ts'

/**
 * What this program uses of node-llama-cpp's insides. Its public sequences evaluate one prompt after another and reach a third
 * of llama.cpp's own server at 16 streams; the native addon below them takes whole batches. The version is pinned exactly,
 * and loadAddon says so when these are not there.
 */
export interface Addon {
  readonly AddonModel: new (path: string, options: object) => AddonModel
  readonly AddonContext: new (model: AddonModel, options: object) => AddonContext
  readonly AddonContextSequenceCheckpoint: new () => AddonCheckpoint
  readonly AddonGrammar: new (grammar: string, options: object) => object
  readonly AddonGrammarEvaluationState: new (model: AddonModel, grammar: object) => object
  readonly AddonSampler: new (model: AddonModel) => AddonSampler
  getIsArchRecurrent(architecture: string): boolean | undefined
  getIsArchHybrid(architecture: string): boolean | undefined
  getSupportsMmap(): boolean
}

export interface AddonModel {
  init(): Promise<boolean>
  dispose(): Promise<void>
  tokenize(text: string, special: boolean): Uint32Array
  detokenize(tokens: Uint32Array, special?: boolean): string
  getTrainContextSize(): number
  getTotalParameters(): number
  getMemoryBreakdown(): { readonly cpuRam: number; readonly gpuVram: number }
  tokenBos(): number
  shouldPrependBosToken(): boolean
  isEogToken(token: number): boolean
}

export interface AddonContext {
  init(): Promise<boolean>
  dispose(): Promise<void>
  getContextSize(): number
  initBatch(size: number): void
  addToBatch(sequence: number, position: number, tokens: Uint32Array, logits: Uint32Array): Uint32Array
  decodeBatch(): Promise<void>
  sampleToken(logit: number, sampler: AddonSampler): Promise<number>
  disposeSequence(sequence: number): void
  removeTokenCellsFromSequence(sequence: number, from: number, to: number): boolean
  copySequenceStateFromOtherSequence(target: number, source: number): Promise<number>
  getSequenceKvCacheMaxPosition(sequence: number): number
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

/** Every name that `Addon` promises, for the check at the start. */
const METHODS: Readonly<Record<string, readonly string[]>> = {
  AddonModel: [
    'init',
    'dispose',
    'tokenize',
    'detokenize',
    'getTrainContextSize',
    'getTotalParameters',
    'getMemoryBreakdown',
    'tokenBos',
    'shouldPrependBosToken',
    'isEogToken',
  ],
  AddonContext: [
    'init',
    'dispose',
    'getContextSize',
    'initBatch',
    'addToBatch',
    'decodeBatch',
    'sampleToken',
    'disposeSequence',
    'removeTokenCellsFromSequence',
    'copySequenceStateFromOtherSequence',
    'getSequenceKvCacheMaxPosition',
    'restoreCheckpoint',
    'getMemoryBreakdown',
  ],
  AddonContextSequenceCheckpoint: ['init', 'dispose'],
  AddonGrammar: [],
  AddonGrammarEvaluationState: [],
  AddonSampler: ['applyConfig', 'dispose'],
}

const FUNCTIONS = ['getIsArchRecurrent', 'getIsArchHybrid', 'getSupportsMmap']

/** What of the addon this program needs and `bindings` lacks. */
export const missingFromAddon = (bindings: unknown): string[] => {
  if (typeof bindings !== 'object' || bindings === null) return ['the addon itself']
  const addon = bindings as Readonly<Record<string, unknown>>
  const missing = FUNCTIONS.filter((name) => typeof addon[name] !== 'function')
  for (const [name, methods] of Object.entries(METHODS)) {
    const constructor = addon[name]
    if (typeof constructor !== 'function') missing.push(name)
    else
      missing.push(
        ...methods.filter((method) => !(method in constructor.prototype)).map((method) => `${name}.${method}`),
      )
  }
  return missing
}

/** Loads llama.cpp. Its own builds are used only: nothing is compiled or fetched. */
export const loadAddon = async (threads: number): Promise<Addon> => {
  const { getLlama, LlamaLogLevel } = await import('node-llama-cpp').catch((error: unknown) => {
    throw new InferenceError('engine_missing', 'llama.cpp is not installed: run npm install node-llama-cpp@3.22.1.', {
      cause: error,
    })
  })
  // Apple's builds know no other way than Metal.
  const gpu = process.platform === 'darwin' && process.arch === 'arm64' ? 'metal' : false
  const llama = await getLlama({
    gpu,
    build: 'never',
    skipDownload: true,
    maxThreads: threads,
    logLevel: LlamaLogLevel.error,
    logger: (_level, message) => process.stderr.write(`${message}\n`),
  }).catch((error: unknown) => {
    throw new InferenceError(
      'engine_missing',
      `node-llama-cpp has no build of llama.cpp for ${process.platform} on ${process.arch}: ${String(error)}`,
      { cause: error },
    )
  })
  const bindings: unknown = '_bindings' in llama ? llama._bindings : undefined
  const missing = missingFromAddon(bindings)
  if (missing.length > 0) {
    throw new InferenceError(
      'engine_missing',
      `node-llama-cpp 3.22.1 is needed; the one that is installed lacks ${missing.join(', ')}. Run npm ci.`,
    )
  }
  return bindings as Addon
}
