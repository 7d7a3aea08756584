import { badRequest } from '../../../domain/errors.ts'
import { ownEntry } from '../../../domain/own-entry.ts'
import type { MetadataValue } from '../metadata-bytes.ts'
import { isJson, type Json } from './model-folder.ts'

/** The parts of config.json that the conversion needs. */
export interface ModelConfig {
  /** llama.cpp's name. */
  readonly architecture: 'llama' | 'qwen2' | 'qwen3'
  readonly blocks: number
  readonly contextTokens: number
  readonly embedding: number
  readonly feedForward: number
  readonly heads: number
  readonly keyValueHeads: number
  readonly headSize: number
  readonly epsilon: number
  readonly vocabulary: number
  readonly tied: boolean
  readonly rope: Rope
}

interface Rope {
  readonly base: number
  readonly type: 'default' | 'linear' | 'yarn' | 'llama3'
  readonly factor: number
  readonly originalContext: number
  readonly lowFactor: number
  readonly highFactor: number
}

const ARCHITECTURES: Readonly<Record<string, ModelConfig['architecture']>> = {
  llama: 'llama',
  mistral: 'llama',
  qwen2: 'qwen2',
  qwen3: 'qwen3',
}

/** Throws bad_request naming a field that is missing or cannot be converted. */
export const readModelConfig = (config: Json): ModelConfig => {
  const type = String(config.model_type)
  const architecture = ownEntry(ARCHITECTURES, type)
  if (architecture === undefined)
    throw badRequest(
      `Models of the type '${type}' ('model_type' in config.json) are not converted; ${Object.keys(ARCHITECTURES).join(', ')} are.`,
    )
  const count = (field: string, fallback?: number): number => {
    const value = config[field] ?? fallback
    if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 2 ** 31) return value
    throw badRequest(
      `'${field}' in config.json is ${JSON.stringify(value) ?? 'missing'}; it must be a whole number above 0.`,
    )
  }
  const windowed = typeof config.sliding_window === 'number' && config.use_sliding_window !== false
  if (windowed)
    throw badRequest("'sliding_window' in config.json is set; models with a sliding window are not converted.")
  if (config.quantization_config !== undefined)
    throw badRequest(
      "'quantization_config' in config.json is set: convert the model with its original weights instead.",
    )
  const [embedding, heads] = [count('hidden_size'), count('num_attention_heads')]
  const keyValueHeads = count('num_key_value_heads', heads)
  const headSize = count('head_dim', embedding / heads)
  if (headSize % 2 !== 0 || heads % keyValueHeads !== 0)
    throw badRequest(
      `config.json has ${heads} heads of ${headSize} for ${keyValueHeads} key-value heads, which is impossible.`,
    )
  const epsilon = config.rms_norm_eps
  if (typeof epsilon !== 'number') throw badRequest("'rms_norm_eps' in config.json is missing; it must be a number.")
  return {
    architecture,
    blocks: count('num_hidden_layers'),
    contextTokens: count('max_position_embeddings'),
    embedding,
    feedForward: count('intermediate_size'),
    heads,
    keyValueHeads,
    headSize,
    epsilon,
    vocabulary: count('vocab_size'),
    tied: config.tie_word_embeddings === true,
    rope: readRope(config),
  }
}

/** transformers 5 uses `rope_parameters`; earlier versions use `rope_theta` and `rope_scaling`. */
const readRope = (config: Json): Rope => {
  const found = config.rope_parameters ?? config.rope_scaling
  const scaling = isJson(found) ? found : {}
  const type = String(scaling.rope_type ?? scaling.type ?? 'default')
  if (type !== 'default' && type !== 'linear' && type !== 'yarn' && type !== 'llama3')
    throw badRequest(`The rope type '${type}' in config.json is not converted; default, linear, yarn, and llama3 are.`)
  const number = (field: string, fallback: unknown): number => {
    const value = scaling[field] ?? fallback
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
    throw badRequest(
      `'${field}' of the rope parameters in config.json is ${JSON.stringify(value) ?? 'missing'}; it must be a number above 0.`,
    )
  }
  return {
    base: number('rope_theta', config.rope_theta ?? 10_000),
    type,
    factor: number('factor', type === 'default' ? 1 : undefined),
    originalContext: number('original_max_position_embeddings', config.max_position_embeddings),
    lowFactor: number('low_freq_factor', type === 'llama3' ? undefined : 1),
    highFactor: number('high_freq_factor', type === 'llama3' ? undefined : 4),
  }
}

/** The metadata from which llama.cpp builds the model. */
export const configMetadata = (config: ModelConfig): Readonly<Record<string, MetadataValue>> => {
  const { architecture, rope } = config
  return {
    [`${architecture}.block_count`]: ['u32', config.blocks],
    [`${architecture}.context_length`]: ['u32', config.contextTokens],
    [`${architecture}.embedding_length`]: ['u32', config.embedding],
    [`${architecture}.feed_forward_length`]: ['u32', config.feedForward],
    [`${architecture}.attention.head_count`]: ['u32', config.heads],
    [`${architecture}.attention.head_count_kv`]: ['u32', config.keyValueHeads],
    [`${architecture}.attention.key_length`]: ['u32', config.headSize],
    [`${architecture}.attention.value_length`]: ['u32', config.headSize],
    [`${architecture}.attention.layer_norm_rms_epsilon`]: ['f32', config.epsilon],
    [`${architecture}.rope.dimension_count`]: ['u32', config.headSize],
    [`${architecture}.rope.freq_base`]: ['f32', rope.base],
    [`${architecture}.vocab_size`]: ['u32', config.vocabulary],
    ...((rope.type === 'linear' || rope.type === 'yarn') && {
      [`${architecture}.rope.scaling.type`]: ['string', rope.type],
      [`${architecture}.rope.scaling.factor`]: ['f32', rope.factor],
    }),
    ...(rope.type === 'yarn' && {
      [`${architecture}.rope.scaling.original_context_length`]: ['u32', rope.originalContext],
    }),
  }
}

/**
 * The divisors of Llama 3.1's frequencies in llama.cpp (`rope_freqs.weight`), or null for other models: `factor` for long
 * wavelengths, 1 for short ones, and a smooth transition between (transformers, _compute_llama3_parameters).
 */
export const ropeFactors = ({ rope, headSize }: ModelConfig): Float32Array | null => {
  if (rope.type !== 'llama3') return null
  return Float32Array.from({ length: headSize / 2 }, (_, pair) => {
    const wavelength = 2 * Math.PI * rope.base ** ((2 * pair) / headSize)
    if (wavelength < rope.originalContext / rope.highFactor) return 1
    if (wavelength > rope.originalContext / rope.lowFactor) return rope.factor
    const smooth = (rope.originalContext / wavelength - rope.lowFactor) / (rope.highFactor - rope.lowFactor)
    return 1 / ((1 - smooth) / rope.factor + smooth)
  })
}
