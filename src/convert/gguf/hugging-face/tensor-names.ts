import { ownEntry } from '../../../domain/own-entry.ts'
import type { ModelConfig } from './model-config.ts'

const PARTS: Readonly<Record<string, string>> = {
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  'self_attn.q_norm': 'attn_q_norm',
  'self_attn.k_norm': 'attn_k_norm',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
  input_layernorm: 'attn_norm',
  post_attention_layernorm: 'ffn_norm',
}

const WHOLE: Readonly<Record<string, string>> = {
  'model.embed_tokens.weight': 'token_embd.weight',
  'model.norm.weight': 'output_norm.weight',
  'lm_head.weight': 'output.weight',
}

/** llama.cpp's name for a tensor of transformers' Llama and Qwen models, or null. */
export const ggufName = (name: string): string | null => {
  const whole = ownEntry(WHOLE, name)
  if (whole !== undefined) return whole
  const match = /^model\.layers\.(\d{1,4})\.([\w.]+)\.(weight|bias)$/.exec(name)
  const part = match !== null && ownEntry(PARTS, match[2]!)
  return part === undefined ? null : `blk.${Number(match![1])}.${part}.${match![3]}`
}

/** Rows per head, if llama.cpp rotates neighboring rows where transformers rotates the halves of a head. */
export const headRowsOf = (architecture: string, name: string, headSize: number): number | undefined =>
  architecture === 'llama' && /^blk\.\d+\.attn_[qk]\.(weight|bias)$/.test(name) ? headSize : undefined

/** The matrices and norms of a model with this configuration: llama.cpp's names and shapes. */
export const expectedShapes = (config: ModelConfig): ReadonlyMap<string, readonly number[]> => {
  const { embedding, feedForward, heads, keyValueHeads, headSize, vocabulary, architecture } = config
  const shapes = new Map<string, readonly number[]>([
    ['token_embd.weight', [embedding, vocabulary]],
    ['output_norm.weight', [embedding]],
  ])
  if (!config.tied) shapes.set('output.weight', [embedding, vocabulary])
  for (let block = 0; block < config.blocks; block++) {
    const add = (part: string, ...shape: number[]) => shapes.set(`blk.${block}.${part}`, shape)
    add('attn_norm.weight', embedding)
    add('attn_q.weight', embedding, heads * headSize)
    add('attn_k.weight', embedding, keyValueHeads * headSize)
    add('attn_v.weight', embedding, keyValueHeads * headSize)
    add('attn_output.weight', heads * headSize, embedding)
    add('ffn_norm.weight', embedding)
    add('ffn_gate.weight', embedding, feedForward)
    add('ffn_up.weight', embedding, feedForward)
    add('ffn_down.weight', feedForward, embedding)
    if (architecture === 'qwen3') {
      add('attn_q_norm.weight', headSize)
      add('attn_k_norm.weight', headSize)
    }
    if (architecture === 'qwen2') {
      add('attn_q.bias', heads * headSize)
      add('attn_k.bias', keyValueHeads * headSize)
      add('attn_v.bias', keyValueHeads * headSize)
    }
  }
  return shapes
}
