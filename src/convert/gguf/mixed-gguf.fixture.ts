import { writeFileSync } from 'node:fs'
import { type MadeValue, makeGguf } from '../../inference/models/gguf/write-gguf.fixture.ts'

/** Weights with tails, empty and flat blocks, tiny values, and blocks of one sign: the same in every run. */
const weights = (count: number, columns: number): Float32Array => {
  let state = 12345
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32 - 0.5
  }
  return Float32Array.from({ length: count }, (_, at) => {
    const value = next() * next() * next()
    const row = Math.floor(at / columns) % 16
    if (row === 1) return at % columns < 64 ? 0 : value
    if (row === 2) return at % columns < 64 ? 0.5 : -0.25
    if (row === 3) return value * 1e-5
    if (row === 4) return value * 1e-9
    if (row === 5) return Math.abs(value)
    return row === 6 ? -Math.abs(value) : value
  })
}

/**
 * Writes a model that covers every path of the quantization: rows of whole and partial super-blocks, F32, F16, and BF16, joined
 * projections (Q5_K), more important blocks (Q6_K), norms. `edit` may change the weights of its first matrix.
 */
export const writeMixedGguf = (path: string, edit: (values: Float32Array) => void = () => undefined): void => {
  const tensors = Array.from({ length: 9 }, (_, block) => [
    { name: `blk.${block}.attn_norm.weight`, shape: [256], type: 0 },
    { name: `blk.${block}.attn_qkv.weight`, shape: [256, 18], type: 1 },
    { name: `blk.${block}.attn_output.weight`, shape: [288, 17], type: 30 },
    { name: `blk.${block}.ffn_down.weight`, shape: [512, 17], type: 0 },
    { name: `blk.${block}.ffn_up.weight`, shape: [256, 17], type: 0 },
  ]).flat()
  const all = [{ name: 'token_embd.weight', shape: [256, 40], type: 0 }, ...tensors]
  const metadata: Record<string, MadeValue> = {
    'general.architecture': ['string', 'phi3'],
    'general.file_type': ['u32', 0],
    'phi3.block_count': ['u32', 9],
    'phi3.context_length': ['u32', 128],
    'phi3.embedding_length': ['u32', 256],
    'phi3.feed_forward_length': ['u32', 512],
    'phi3.attention.head_count': ['u32', 8],
    'phi3.attention.head_count_kv': ['u32', 8],
    'phi3.attention.layer_norm_rms_epsilon': ['f32', 1e-5],
    'phi3.attention.sliding_window': ['u32', 0],
    'phi3.rope.dimension_count': ['u32', 32],
    'phi3.vocab_size': ['u32', 40],
    'tokenizer.ggml.model': ['string', 'none'],
  }
  let offset = 0
  const placed = all.map((tensor) => {
    const elements = tensor.shape.reduce((product, size) => product * size, 1)
    const here = offset
    offset += Math.ceil((elements * (tensor.type === 0 ? 4 : 2)) / 32) * 32
    return { ...tensor, offset: here, elements }
  })
  // The fixture reserves space for F32 everywhere; the excess is cut off.
  const file = makeGguf({ metadata, tensors: placed })
  const start = file.length - placed.reduce((sum, { elements }) => sum + Math.ceil((elements * 4) / 32) * 32, 0)
  for (const [index, { shape, elements, type, offset: at }] of placed.entries()) {
    const values = weights(elements, shape[0]!)
    if (index === 0) edit(values)
    for (const [i, value] of values.entries()) {
      if (type === 0) file.writeFloatLE(value, start + at + i * 4)
      // The upper half of an F32 is its BF16; for F16, the bits of any small numbers are fine.
      else
        file.writeUInt16LE(
          type === 30 ? new Uint32Array(Float32Array.of(value).buffer)[0]! >>> 16 : (i * 7) % 15_000,
          start + at + i * 2,
        )
    }
  }
  writeFileSync(path, file.subarray(0, start + offset))
}
