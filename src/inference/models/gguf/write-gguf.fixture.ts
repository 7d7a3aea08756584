/** GGUF files for tests, from typed values and tensor shapes. Nothing is checked. */
const NUMBERS = { u8: 0, i32: 5, u32: 4, f32: 6, bool: 7, string: 8, array: 9, u64: 10 } as const

export type MadeValue =
  | readonly ['u32' | 'i32' | 'f32' | 'u64' | 'u8', number]
  | readonly ['bool', boolean]
  | readonly ['string', string]
  | readonly ['array', 'u32' | 'i32' | 'f32' | 'string', readonly (number | string)[]]

export interface MadeTensor {
  readonly name: string
  readonly shape: readonly number[]
  /** The type's number; F32 is 0. */
  readonly type?: number
  readonly offset?: number
}

export interface MadeFile {
  readonly version?: number
  readonly metadata: Readonly<Record<string, MadeValue>>
  readonly tensors: readonly MadeTensor[]
}

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}
const u64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
const string = (value: string): Buffer => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)])

const scalar = (type: string, value: number | string | boolean): Buffer => {
  if (type === 'string') return string(String(value))
  if (type === 'bool' || type === 'u8') return Buffer.from([Number(value)])
  if (type === 'u64') return u64(Number(value))
  if (type !== 'f32') return u32(Number(value))
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(Number(value))
  return bytes
}

const valueBytes = (value: MadeValue): Buffer => {
  if (value[0] !== 'array') return Buffer.concat([u32(NUMBERS[value[0]]), scalar(value[0], value[1])])
  const [, type, items] = value
  return Buffer.concat([u32(9), u32(NUMBERS[type]), u64(items.length), ...items.map((item) => scalar(type, item))])
}

/** Creates a file with tensors of zeros, in the size of F32 even if they name another type. */
export const makeGguf = ({ version = 3, metadata, tensors }: MadeFile): Buffer => {
  const pieces = [Buffer.from('GGUF'), u32(version), u64(tensors.length), u64(Object.keys(metadata).length)]
  for (const [key, value] of Object.entries(metadata)) pieces.push(string(key), valueBytes(value))
  let offset = 0
  for (const tensor of tensors) {
    pieces.push(string(tensor.name), u32(tensor.shape.length), ...tensor.shape.map(u64))
    pieces.push(u32(tensor.type ?? 0), u64(tensor.offset ?? offset))
    offset += Math.ceil(tensor.shape.reduce((product, size) => product * size, 4) / 32) * 32
  }
  const head = Buffer.concat(pieces)
  return Buffer.concat([head, Buffer.alloc(Math.ceil(head.length / 32) * 32 - head.length + offset)])
}

const EMBEDDING = 32
const FORWARD = 64

/** A llama model with two blocks, two heads, one key-value head, and a vocabulary of eight tokens. */
export const tinyLlama = (): { metadata: Record<string, MadeValue>; tensors: MadeTensor[] } => ({
  metadata: {
    'general.architecture': ['string', 'llama'],
    'llama.block_count': ['u32', 2],
    'llama.context_length': ['u32', 128],
    'llama.embedding_length': ['u32', EMBEDDING],
    'llama.feed_forward_length': ['array', 'u32', [FORWARD, FORWARD]],
    'llama.attention.head_count': ['u32', 2],
    'llama.attention.head_count_kv': ['u32', 1],
    'llama.attention.layer_norm_rms_epsilon': ['f32', 1e-5],
    'tokenizer.ggml.model': ['string', 'llama'],
    'tokenizer.ggml.tokens': ['array', 'string', ['<unk>', '<s>', '</s>', '<0x0A>', 'a', 'b', 'c', 'd']],
    'tokenizer.ggml.scores': ['array', 'f32', [0, 0, 0, 0, -1, -2, -3, -4]],
    'tokenizer.ggml.token_type': ['array', 'i32', [2, 3, 3, 6, 1, 1, 1, 1]],
  },
  tensors: [
    { name: 'token_embd.weight', shape: [EMBEDDING, 8] },
    ...[0, 1].flatMap((block) => [
      { name: `blk.${block}.attn_norm.weight`, shape: [EMBEDDING] },
      { name: `blk.${block}.attn_q.weight`, shape: [EMBEDDING, EMBEDDING] },
      { name: `blk.${block}.attn_k.weight`, shape: [EMBEDDING, EMBEDDING / 2] },
      { name: `blk.${block}.attn_v.weight`, shape: [EMBEDDING, EMBEDDING / 2] },
      { name: `blk.${block}.attn_output.weight`, shape: [EMBEDDING, EMBEDDING] },
      { name: `blk.${block}.ffn_norm.weight`, shape: [EMBEDDING] },
      { name: `blk.${block}.ffn_gate.weight`, shape: [EMBEDDING, FORWARD] },
      { name: `blk.${block}.ffn_up.weight`, shape: [EMBEDDING, FORWARD] },
      { name: `blk.${block}.ffn_down.weight`, shape: [FORWARD, EMBEDDING] },
    ]),
    { name: 'output_norm.weight', shape: [EMBEDDING] },
  ],
})
