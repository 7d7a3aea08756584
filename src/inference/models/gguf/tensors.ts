import { PLAIN_ARCHITECTURES } from './architectures.ts'
import type { GgufContainer, GgufTensor } from './container.ts'
import type { Dimensions } from './dimensions.ts'
import { NEVER_WEIGHTS } from './ggml-types.ts'
import { invalidModel, quoted } from './invalid-model.ts'

const BLOCK = /^blk\.(\d+)\./

/** The block that a tensor belongs to, or null. */
export const blockOf = (tensorName: string): number | null => {
  const match = BLOCK.exec(tensorName)
  return match === null ? null : Number(match[1])
}

/**
 * Checks that the tensors are those of `architecture` with these dimensions: for all of them the embedding and that each
 * block is there, for the plain ones each tensor and its shape.
 */
export const checkTensors = (
  path: string,
  architecture: string,
  { tensors }: GgufContainer,
  dimensions: Dimensions,
  vocabulary: number,
): void => {
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]))
  const found = (name: string, shape: readonly number[]): GgufTensor | undefined => {
    const tensor = byName.get(name)
    if (tensor !== undefined && !sameShape(tensor.shape, shape))
      throw invalidModel(
        path,
        `has the tensor '${name}' with shape ${tensor.shape.join(' x ')}; its metadata asks for ${shape.join(' x ')}.`,
      )
    return tensor
  }
  const need = (name: string, shape: readonly number[]): void => {
    if (found(name, shape) === undefined)
      throw invalidModel(path, `lacks the tensor '${name}'. It is incomplete: fetch or convert it again.`)
  }
  for (const tensor of tensors) checkType(path, tensor)
  need('token_embd.weight', [dimensions.embedding, vocabulary])
  checkBlocks(path, architecture, tensors, dimensions.blocks)
  if (!PLAIN_ARCHITECTURES.has(architecture)) return
  need('output_norm.weight', [dimensions.embedding])
  found('output.weight', [dimensions.embedding, vocabulary])
  for (let block = 0; block < dimensions.blocks; block++) checkPlainBlock(block, dimensions, found, need)
}

type Check<Result> = (name: string, shape: readonly number[]) => Result

const checkPlainBlock = (
  block: number,
  { embedding, heads, keyValueHeads, keyLength, valueLength, feedForward, experts }: Dimensions,
  found: Check<GgufTensor | undefined>,
  need: Check<void>,
): void => {
  const name = (part: string) => `blk.${block}.${part}.weight`
  const queries = heads[block]! * keyLength
  const keys = keyValueHeads[block]! * keyLength
  const values = keyValueHeads[block]! * valueLength
  need(name('attn_norm'), [embedding])
  if (found(name('attn_qkv'), [embedding, queries + keys + values]) === undefined) {
    need(name('attn_q'), [embedding, queries])
    need(name('attn_k'), [embedding, keys])
    need(name('attn_v'), [embedding, values])
  }
  need(name('attn_output'), [queries, embedding])
  need(name('ffn_norm'), [embedding])
  if (experts > 0) return
  need(name('ffn_gate'), [embedding, feedForward[block]!])
  need(name('ffn_up'), [embedding, feedForward[block]!])
  need(name('ffn_down'), [feedForward[block]!, embedding])
}

const checkBlocks = (path: string, architecture: string, tensors: readonly GgufTensor[], blocks: number): void => {
  const present = new Set(tensors.map(({ name }) => blockOf(name)))
  for (let block = 0; block < blocks; block++)
    if (!present.has(block))
      throw invalidModel(
        path,
        `has no tensors of block ${block}, but '${architecture}.block_count' says ${blocks}. It is incomplete: fetch or convert it again.`,
      )
  for (const block of present)
    if (block !== null && block >= blocks)
      throw invalidModel(path, `has tensors of block ${block}, but '${architecture}.block_count' says ${blocks}.`)
}

/** What is added or multiplied element by element aborts in another type than F32, and no weight is made of whole numbers. */
const checkType = (path: string, { name, type, shape }: GgufTensor): void => {
  const elementwise = /(_norm\.weight|\.bias)$/.test(name) && shape.length === 1
  if (
    (elementwise && type !== 'F32') ||
    (/^(token_embd|output|blk\.\d+\.(attn|ffn)_\w+)\.weight$/.test(name) && NEVER_WEIGHTS.has(type))
  )
    throw invalidModel(path, `has the tensor ${quoted(name)} as ${type}, which cannot be computed with.`)
}

const sameShape = (shape: readonly number[], wanted: readonly number[]): boolean =>
  shape.every((size, i) => size === (wanted[i] ?? 1)) && wanted.every((size, i) => size === (shape[i] ?? 1))
