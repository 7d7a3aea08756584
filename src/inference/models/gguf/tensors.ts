import type { GgufTensor } from './container.ts'
import { NEVER_WEIGHTS } from './ggml-types.ts'
import { invalidModel, quoted } from './invalid-model.ts'

const BLOCK = /^blk\.(\d+)\./

/** Returns the number of the tensor's block, or null. */
export const blockOf = (tensorName: string): number | null => {
  const match = BLOCK.exec(tensorName)
  return match === null ? null : Number(match[1])
}

/** Refuses types that llama.cpp aborts on: elementwise operands other than F32, and weights of integers. */
export const checkType = (path: string, { name, type, shape }: GgufTensor): void => {
  const elementwise = /(_norm\.weight|\.bias)$/.test(name) && shape.length === 1
  if (
    (elementwise && type !== 'F32') ||
    (/^(token_embd|output|blk\.\d+\.(attn|ffn)_\w+)\.weight$/.test(name) && NEVER_WEIGHTS.has(type))
  )
    throw invalidModel(path, `has the tensor ${quoted(name)} as ${type}, which is not supported for computation.`)
}
