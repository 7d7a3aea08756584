import type { TargetType } from './block-kernel.ts'
import { ggmlType } from './ggml-sizes.ts'

/** Kinds of quantized files: the number in `general.file_type` (llama.h, enum llama_ftype) and the type of most tensors. */
export const FILE_KINDS = {
  f16: { number: 1, type: 'F16' },
  q4_0: { number: 2, type: 'Q4_0' },
  q8_0: { number: 7, type: 'Q8_0' },
  q4_k_m: { number: 15, type: 'Q4_K' },
} as const satisfies Record<string, { number: number; type: TargetType }>

export type FileKind = keyof typeof FILE_KINDS

export const isFileKind = (text: string): text is FileKind => Object.hasOwn(FILE_KINDS, text)

interface MixTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly type: string
}

export interface MixModel {
  readonly architecture: string
  readonly blocks: number
  readonly experts: number
  /** Several heads share one value projection. */
  readonly sharesValues: boolean
}

/** Parts of the names of matrices that stay unchanged: small, or not used for multiplication. */
const KEPT = [
  ...['_norm.weight', 'ffn_gate_inp.weight', 'ffn_gate_tid2eid.weight', 'altup', 'laurel', 'per_layer_model_proj'],
  ...['ssm_conv1d', 'shortconv.conv.weight', 'indexer.k_proj.weight', 'indexer.q_proj.weight', 'attn_rel_b.weight'],
  ...['time_mix_first.weight', 'time_mix_lerp_fused.weight', 'time_mix_decay_w1.weight', 'time_mix_decay_w2.weight'],
  ...['w0', 'w1', 'w2', 'v0', 'v1', 'v2', 'a0', 'a1', 'a2', 'g1', 'g2'].map((name) => `time_mix_${name}.weight`),
  ...['.position_embd', 'sam.pos_embd', 'sam.neck.', 'sam.net_', '.rel_pos', '.patch_embd', '.patch_merger'],
  ...['a.rvq.codebook', 'mm.a.code_embd'],
]
const KEPT_WHOLE: ReadonlySet<string> = new Set(['position_embd.weight', 'token_types.weight'])

/** True for the weight matrices that llama-quantize changes; false for norms, biases, and those that stay unchanged. */
export const isQuantizable = ({ name, shape }: Pick<MixTensor, 'name' | 'shape'>): boolean =>
  shape.findLastIndex((size) => size > 1) >= 1 &&
  name.endsWith('weight') &&
  !KEPT_WHOLE.has(name) &&
  !KEPT.some((part) => name.includes(part))

/** For rows that are not a multiple of 256 long (llama-quantize's fallback). */
const FALLBACK: Partial<Record<TargetType, TargetType>> = { Q4_K: 'Q5_0', Q5_K: 'Q5_1', Q6_K: 'Q8_0' }

/** True for the first and last eighth of the blocks and every third one between them. */
const needsMoreBits = (block: number, blocks: number): boolean => {
  const eighth = Math.floor(blocks / 8)
  return block < eighth || block >= Math.floor((7 * blocks) / 8) || (block - eighth) % 3 === 2
}

const isValueLike = (name: string): boolean => /attn_(v|qkv|kv_b)\.weight/.test(name)

/**
 * The type of each tensor in a file of this kind, for tensors in llama-quantize's order (see `inOrder`): the mix of
 * llama-quantize without an importance matrix (llama.cpp, src/llama-quant.cpp).
 */
export const typesOf = (kind: FileKind, model: MixModel, tensors: readonly MixTensor[]): readonly string[] => {
  const isTied = !tensors.some(({ name }) => name === 'output.weight')
  const values = tensors.filter(({ name }) => isValueLike(name)).length
  const base = FILE_KINDS[kind].type
  let valueIndex = 0
  let downIndex = 0
  const mixed = ({ name, shape }: MixTensor): TargetType => {
    const eight = model.experts === 8
    const isEmbedding = name === 'token_embd.weight' || name === 'per_layer_token_embd.weight'
    if (name === 'output.weight' || (isTied && isEmbedding)) {
      if (model.architecture === 'falcon' || shape[0]! % ggmlType(base).elements !== 0) return 'Q8_0'
      return base === 'Q8_0' ? base : 'Q6_K'
    }
    if (isValueLike(name)) {
      const more = kind === 'q4_k_m' && needsMoreBits(valueIndex, values)
      valueIndex++
      if (eight) return 'Q8_0'
      if (more) return 'Q6_K'
      // In the 70B model, eight heads share one value projection, which is small and important.
      const is70B = model.architecture === 'llama' && model.blocks === 80 && model.sharesValues
      return is70B && base === 'Q4_K' ? 'Q5_K' : base
    }
    if (name.includes('attn_k.weight') && eight) return 'Q8_0'
    if (name.includes('ffn_down')) {
      const block = model.experts > 1 ? Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? 0) : downIndex
      downIndex++
      if (kind !== 'q4_k_m') return base
      if (model.architecture === 'falcon') {
        if (block < Math.floor(model.blocks / 16)) return 'Q6_K'
        return needsMoreBits(block, model.blocks) ? 'Q5_K' : base
      }
      return needsMoreBits(block, model.blocks) ? 'Q6_K' : base
    }
    if (name.includes('attn_output.weight') && eight && kind === 'q4_k_m' && model.architecture !== 'falcon')
      return 'Q5_K'
    return base
  }
  return tensors.map((tensor) => {
    if (!isQuantizable(tensor)) return tensor.type
    if (base === 'F16') return base
    const wanted = mixed(tensor)
    const fits = (type: TargetType): boolean => tensor.shape[0]! % ggmlType(type).elements === 0
    if (fits(wanted)) return wanted
    const smaller = FALLBACK[wanted]
    return smaller !== undefined && fits(smaller) ? smaller : 'F16'
  })
}

const blockOf = (name: string): number => Number(/^blk\.(-?\d+)\./.exec(name)?.[1] ?? -1)

/** Sorts tensors like llama-quantize: by block, then by the bytes of the name. */
export const inOrder = <Tensor extends { readonly name: string }>(tensors: readonly Tensor[]): Tensor[] =>
  [...tensors].sort(
    (a, b) => blockOf(a.name) - blockOf(b.name) || Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)),
  )
