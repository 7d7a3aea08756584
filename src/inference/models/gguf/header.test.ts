import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { InferenceError } from '../../errors.ts'
import {
  CHAT_ARCHITECTURES,
  EMBEDDING_ARCHITECTURES,
  OTHER_ARCHITECTURES,
  RECURRENT_ARCHITECTURES,
} from './architectures.ts'
import { GGML_TYPES } from './ggml-types.ts'
import { readGgufHeader } from './header.ts'
import { type MadeFile, makeGguf, tinyLlama } from './write-gguf.fixture.ts'

const root = join(import.meta.dirname, '../../../..')
const STARTER = join(root, 'models/starter.gguf')
const folder = mkdtempSync(join(tmpdir(), 'gguf-header-'))
afterAll(() => rmSync(folder, { recursive: true }))

const refusal = async (bytes: Buffer): Promise<string> => {
  const path = join(folder, 'model.gguf')
  writeFileSync(path, bytes)
  const error = await readGgufHeader(path).catch((caught: unknown) => caught)
  if (!(error instanceof InferenceError)) throw new Error('It was not refused.', { cause: error })
  expect(error.code).toBe('invalid_model')
  expect(error.message).toMatch(/^The model file 'model.gguf' /)
  return error.message.replace("The model file 'model.gguf' ", '')
}

it('reads the starter model', async () => {
  const { metadata, tensors, chatTemplate, ...header } = await readGgufHeader(STARTER)
  expect(header).toEqual({
    version: 3,
    alignment: 32,
    dataStart: 30_080,
    blocks: 4,
    contextTokens: 2048,
    embedding: 256,
    heads: [4, 4, 4, 4],
    keyValueHeads: [2, 2, 2, 2],
    feedForward: [512, 512, 512, 512],
    keyLength: 64,
    valueLength: 64,
    path: STARTER,
    architecture: 'llama',
    modelName: 'Tributary starter',
    parameters: 2_623_744,
    vocabulary: 1024,
    recurrent: false,
    embeds: false,
    files: 1,
  })
  expect(chatTemplate).toContain('<|im_start|>')
  expect(metadata.get('llama.rope.freq_base')).toMatchObject({ type: 'f32', value: 10_000 })
  expect(tensors).toHaveLength(38)
  expect(tensors[0]).toEqual({
    name: 'token_embd.weight',
    shape: [256, 1024],
    typeNumber: 2,
    type: 'Q4_0',
    elements: 262_144,
    bytes: 147_456,
    offset: 0,
  })
})

it('also reads version 2, and the model that the other tests in this file break', async () => {
  const path = join(folder, 'v2.gguf')
  writeFileSync(path, makeGguf({ ...tinyLlama(), version: 2 }))
  expect(await readGgufHeader(path)).toMatchObject({ version: 2, blocks: 2, vocabulary: 8 })
})

it('knows the architectures and types of the bundled llama.cpp', () => {
  const program = join(import.meta.dirname, '../../engines/llama/llama-process.fixture.ts')
  const response = execFileSync(process.execPath, ['--import', 'tsx', program], { input: 'facts\n', encoding: 'utf8' })
  expect({
    names: [...CHAT_ARCHITECTURES, ...EMBEDDING_ARCHITECTURES, ...Object.keys(OTHER_ARCHITECTURES)].sort(),
    keepState: [...RECURRENT_ARCHITECTURES].sort(),
    types: Array.from({ length: 64 }, (_, type) => [GGML_TYPES[type]?.elements ?? 0, GGML_TYPES[type]?.bytes ?? 0]),
  }).toEqual(JSON.parse(response))
})

it('refuses the starter model truncated anywhere, and reports where', async () => {
  const whole = readFileSync(STARTER)
  const lengths = [0, 3, 7, 20, 40, 500, 27_000, 28_500, 30_079, 30_081, 700_000, whole.length - 33]
  for (const length of lengths) expect(await refusal(whole.subarray(0, length))).toMatch(/ends at byte \d+/)
})

const changed = (change: (file: ReturnType<typeof tinyLlama>) => void, file: Partial<MadeFile> = {}): Buffer => {
  const made = tinyLlama()
  change(made)
  return makeGguf({ ...made, ...file })
}

it.each<readonly [string, (file: ReturnType<typeof tinyLlama>) => void]>([
  ["lacks the metadata key 'general.architecture'", ({ metadata }) => delete metadata['general.architecture']],
  [
    "has the architecture 'llamma', which this",
    ({ metadata }) => (metadata['general.architecture'] = ['string', 'llamma']),
  ],
  [
    "has the architecture 't5encoder': it is an encoder",
    ({ metadata }) => (metadata['general.architecture'] = ['string', 't5encoder']),
  ],
  ['is a LoRA adapter', ({ metadata }) => (metadata['general.type'] = ['string', 'adapter'])],
  [
    "has the metadata key 'general.architecture' as u32",
    ({ metadata }) => (metadata['general.architecture'] = ['u32', 1]),
  ],
  ["lacks the metadata key 'llama.block_count'", ({ metadata }) => delete metadata['llama.block_count']],
  ["says 0 for 'llama.block_count'", ({ metadata }) => (metadata['llama.block_count'] = ['u32', 0])],
  ["says 600 for 'llama.block_count'", ({ metadata }) => (metadata['llama.block_count'] = ['u32', 600])],
  ["has 2 u32 in 'llama.feed_forward_length'", ({ metadata }) => (metadata['llama.block_count'] = ['u32', 3])],
  [
    "lacks the metadata key 'llama.feed_forward_length'",
    ({ metadata }) => delete metadata['llama.feed_forward_length'],
  ],
  [
    "lacks the metadata key 'llama.attention.head_count'",
    ({ metadata }) => delete metadata['llama.attention.head_count'],
  ],
  ["lacks the metadata key 'llama.embedding_length'", ({ metadata }) => delete metadata['llama.embedding_length']],
  ["says 0 for 'llama.context_length'", ({ metadata }) => (metadata['llama.context_length'] = ['u32', 0])],
  [
    'has 0 heads and 1 key-value heads in block 0',
    ({ metadata }) => (metadata['llama.attention.head_count'] = ['u32', 0]),
  ],
  [
    'has 2 heads and 3 key-value heads in block 0',
    ({ metadata }) => (metadata['llama.attention.head_count_kv'] = ['u32', 3]),
  ],
  ["says 7 for 'llama.rope.dimension_count'", ({ metadata }) => (metadata['llama.rope.dimension_count'] = ['u32', 7])],
  [
    "says 'spline' for 'llama.rope.scaling.type'",
    ({ metadata }) => (metadata['llama.rope.scaling.type'] = ['string', 'spline']),
  ],
  [
    'has 4 experts of which 5 are used',
    ({ metadata }) => {
      metadata['llama.expert_count'] = ['u32', 4]
      metadata['llama.expert_used_count'] = ['u32', 5]
    },
  ],
  [
    "in 'tokenizer.ggml.merges', which its tokenizer needs",
    ({ metadata }) => (metadata['tokenizer.ggml.model'] = ['string', 'gpt2']),
  ],
  [
    "has 3 f32 in 'tokenizer.ggml.scores'",
    ({ metadata }) => (metadata['tokenizer.ggml.scores'] = ['array', 'f32', [0, 0, 0]]),
  ],
  [
    "has the token 'a' twice, as 4 and as 7",
    ({ metadata }) =>
      (metadata['tokenizer.ggml.tokens'] = ['array', 'string', ['<unk>', '<s>', '</s>', '<0x0A>', 'a', 'b', 'c', 'a']]),
  ],
  [
    "has the alignment 33 as u32 in 'general.alignment'",
    ({ metadata }) => (metadata['general.alignment'] = ['u32', 33]),
  ],
  [
    "has the tensor 'output_norm.weight' twice",
    ({ tensors }) => tensors.push({ name: 'output_norm.weight', shape: [32] }),
  ],
  [
    "has tensor 'output_norm.weight' of type 4",
    ({ tensors }) => (tensors[19] = { name: 'output_norm.weight', shape: [32], type: 4 }),
  ],
  [
    "has the tensor 'output_norm.weight' as F16",
    ({ tensors }) => (tensors[19] = { name: 'output_norm.weight', shape: [32], type: 1 }),
  ],
  [
    "has tensor 'output_norm.weight' of shape 31, which cannot be stored as Q4_0",
    ({ tensors }) => (tensors[19] = { name: 'output_norm.weight', shape: [31], type: 2 }),
  ],
  [
    "has tensor 'output_norm.weight' at offset 5 where",
    ({ tensors }) => (tensors[19] = { name: 'output_norm.weight', shape: [32], offset: 5 }),
  ],
  ['has 5 dimensions', ({ tensors }) => (tensors[19] = { name: 'output_norm.weight', shape: [32, 1, 1, 1, 1] })],
  ['has 64 bytes in the name of tensor 20', ({ tensors }) => (tensors[19] = { name: 'x'.repeat(64), shape: [32] })],
  [
    'is part 2 of 3',
    ({ metadata }) => {
      metadata['split.count'] = ['u32', 3]
      metadata['split.no'] = ['u32', 1]
    },
  ],
])('says that a broken file %s', async (message, change) => {
  expect(await refusal(changed(change))).toContain(message)
})

it('refuses rerankers and unknown pooling types, on which llama.cpp aborts', async () => {
  const bytes = readFileSync(join(root, 'test/fixtures/models/tiny-embed/tiny-embed.gguf'))
  const key = 'bert.pooling_type'
  const withPooling = (type: number): Promise<string> => {
    bytes.writeUInt32LE(type, bytes.indexOf(key) + key.length + 4)
    return refusal(bytes)
  }
  expect([await withPooling(4), await withPooling(9)]).toEqual([
    "is a reranker (4 for 'bert.pooling_type'), which is not supported: it computes no embeddings.",
    "says 9 for 'bert.pooling_type'; it must be 0 to 4.",
  ])
})

it.each([
  ['begins with', Buffer.from('PK\u0003\u0004 and so on, for long enough to be a header of something')],
  ['is GGUF version 1', makeGguf({ ...tinyLlama(), version: 1 })],
  ['is a GGUF file for big-endian machines', makeGguf({ ...tinyLlama(), version: 0x0300_0000 })],
])('says that another kind of file %s', async (message, bytes) => {
  expect(await refusal(bytes)).toContain(message)
})

it('refuses impossible counts and lengths', async () => {
  const whole = readFileSync(STARTER)
  const at = (offset: number, value: bigint) => {
    const bytes = Buffer.from(whole)
    bytes.writeBigUInt64LE(value, offset)
    return bytes
  }
  expect(await refusal(at(8, 2n ** 40n))).toContain('1099511627776 tensors')
  expect(await refusal(at(16, 2n ** 63n))).toContain('9223372036854775808 for the number of metadata keys')
  expect(await refusal(at(24, 2n ** 30n))).toContain('bytes in metadata key 1')
})

it('reports a path without a file as not found', async () => {
  await expect(readGgufHeader(join(folder, 'none.gguf'))).rejects.toMatchObject({ code: 'model_not_found' })
  await expect(readGgufHeader(folder)).rejects.toMatchObject({ code: 'invalid_model' })
})
