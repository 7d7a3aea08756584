import type { GgufTensor } from './container.ts'
import { NEVER_WEIGHTS } from './ggml-types.ts'
import { invalidModel, quoted } from './invalid-model.ts'

const BLOCK = /^blk\.(\d+)\./

/** The block that a tensor belongs to, or null. */
export const blockOf = (tensorName: string): number | null => {
  const match = BLOCK.exec(tensorName)
  return match === null ? null : Number(match[1])
}

/** What is added or multiplied element by element aborts in another type than F32, and no weight is made of whole numbers. */
export const checkType = (path: string, { name, type, shape }: GgufTensor): void => {
  const elementwise = /(_norm\.weight|\.bias)$/.test(name) && shape.length === 1
  if (
    (elementwise && type !== 'F32') ||
    (/^(token_embd|output|blk\.\d+\.(attn|ffn)_\w+)\.weight$/.test(name) && NEVER_WEIGHTS.has(type))
  )
    throw invalidModel(path, `has the tensor ${quoted(name)} as ${type}, which is not supported for computation.`)
}
