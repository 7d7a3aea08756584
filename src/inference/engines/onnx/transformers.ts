import { pathToFileURL } from 'node:url'
import { InferenceError } from '../../errors.ts'
import { installLine, ONNXRUNTIME } from '../optional/optional-engine.ts'

/**
 * The parts of transformers.js 4.3.1 that are used here. It is not a dependency but imported from where the user installed it,
 * so its own types are not available.
 */
export interface Transformers {
  readonly env: { allowRemoteModels: boolean; useFSCache: boolean; logLevel: number }
  readonly AutoTokenizer: Loader<Tokenizer>
  readonly AutoFeatureExtractor: Loader<FeatureExtractor>
  readonly AutoModel: Loader<Model>
  readonly AutoModelForCausalLM: Loader<GeneratingModel>
  readonly WhisperForConditionalGeneration: Loader<GeneratingModel>
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => Tensor
  readonly LogitsProcessorList: new () => { push(processor: LogitsProcessor): void }
  readonly StoppingCriteriaList: new () => { push(criterion: StoppingCriterion): void }
}

interface Loader<Thing> {
  from_pretrained(folder: string, options: object): Promise<Thing>
}

export interface Tensor {
  readonly type: string
  readonly dims: readonly number[]
  /** For float16, the bits as Uint16Array where Node has no Float16Array. */
  readonly data: ArrayLike<number | bigint>
  /** Decodes float16, unlike conversions of `data`. */
  to(type: 'float32'): Tensor
}

/** Changes the scores of the next token in place: one row per sequence, of which there is one here. */
export type LogitsProcessor = (sequences: readonly (readonly bigint[])[], logits: LogitsRows) => LogitsRows

export interface LogitsRows {
  readonly [row: number]: { readonly data: Float32Array }
}

export type StoppingCriterion = (sequences: readonly (readonly bigint[])[]) => readonly boolean[]

export interface Tokenizer {
  (text: string, options?: object): { readonly input_ids: Tensor; readonly attention_mask: Tensor }
  encode(text: string, options: { readonly add_special_tokens: boolean }): readonly number[]
  decode(tokens: readonly number[], options: { readonly skip_special_tokens: boolean }): string
  readonly chat_template?: unknown
  readonly bos_token?: string | null
  readonly eos_token?: string | null
  readonly all_special_tokens?: readonly string[]
  readonly model_max_length?: number
}

export type FeatureExtractor = (
  samples: Float32Array,
) => Promise<{ readonly input_features: Tensor; readonly input_values?: Tensor }>

export interface Model {
  (inputs: object): Promise<Readonly<Record<string, Tensor>>>
  readonly config: Readonly<Record<string, unknown>>
  readonly sessions: Readonly<Record<string, { readonly outputNames: readonly string[] }>>
  dispose(): Promise<unknown>
}

export interface GeneratingModel extends Model {
  readonly generation_config: Readonly<Record<string, unknown>> | null
  generate(options: object): Promise<unknown>
}

const NEEDED = [
  'AutoTokenizer',
  'AutoFeatureExtractor',
  'AutoModel',
  'AutoModelForCausalLM',
  'WhisperForConditionalGeneration',
  'Tensor',
  'LogitsProcessorList',
  'StoppingCriteriaList',
] as const

const SILENT = 50

/** Imports the library, restricted to local files. @throws InferenceError engine_missing */
export const loadTransformers = async (modulePath: string): Promise<Transformers> => {
  const loaded: Partial<Transformers> = await import(pathToFileURL(modulePath).href).catch((error: unknown) => {
    throw new InferenceError(
      'engine_missing',
      `onnxruntime is installed, but cannot be loaded here: ${String(error)}. Install it again: ` +
        `svc engines remove ${ONNXRUNTIME.names[0]} && ${installLine(ONNXRUNTIME)}`,
      { cause: error },
    )
  })
  const missing = NEEDED.filter((name) => typeof loaded[name] !== 'function')
  if (missing.length > 0 || loaded.env === undefined) {
    throw new InferenceError('engine_missing', `${modulePath} lacks ${missing.join(', ')}. ${installLine(ONNXRUNTIME)}`)
  }
  loaded.env.allowRemoteModels = false
  loaded.env.useFSCache = false
  loaded.env.logLevel = SILENT
  return loaded as Transformers
}
