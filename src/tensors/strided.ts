import { reach } from './shape.ts'
import { BYTES_OF, rowMajorStrides, type Tensor } from './weight-file.ts'

/** Part of a strided tensor, compact enough to be read at once. */
export interface Block {
  readonly shape: readonly number[]
  /** Steps in the file, in elements. */
  readonly strides: readonly number[]
  readonly byteOffset: number
  /** Elements from the block's first to its last one. */
  readonly span: number
  /** The offset of the block's element 0 in the row-major result and the strides there, in elements. */
  readonly at: number
  readonly steps: readonly number[]
}

/** The maximum bytes per read, except for single elements; avoids reading a huge column-major tensor at once. */
const MAX_SPAN_BYTES = 8 * 1024 * 1024

function* split(block: Block, itemBytes: number): Generator<Block> {
  if (block.span * itemBytes <= MAX_SPAN_BYTES) {
    yield block
    return
  }
  // Cutting along the axis with the largest stride yields the most compact parts.
  const axis = block.strides.reduce((widest, stride, i) => (stride > block.strides[widest]! ? i : widest), 0)
  const stride = block.strides[axis]!
  const rest = reach(block.shape.with(axis, 1), block.strides)
  const group = Math.max(1, Math.floor((MAX_SPAN_BYTES / itemBytes - rest) / stride) + 1)
  for (let first = 0; first < block.shape[axis]!; first += group) {
    const shape = block.shape.with(axis, Math.min(group, block.shape[axis]! - first))
    const byteOffset = block.byteOffset + first * stride * itemBytes
    const part = { ...block, shape, byteOffset, at: block.at + first * block.steps[axis]! }
    yield* split({ ...part, span: reach(shape, block.strides) }, itemBytes)
  }
}

/** Splits a tensor that is not deflated into blocks of bounded span that cover all its elements. */
export const blocksOf = (tensor: Tensor): Iterable<Block> => {
  const { shape, strides, byteOffset } = tensor
  const span = reach(shape, strides)
  if (span === 0) return []
  return split({ shape, strides, byteOffset, span, at: 0, steps: rowMajorStrides(shape) }, BYTES_OF[tensor.dtype])
}

type Words = Uint8Array | Uint16Array | Uint32Array

/** Views the bytes as words of 1, 2, or 4 bytes; an 8-byte element is two words. Copies only if they are not aligned. */
const wordsOf = (bytes: Uint8Array, wordBytes: number): Words => {
  if (wordBytes === 1) return bytes
  const { buffer, byteOffset, length } = bytes.byteOffset % wordBytes === 0 ? bytes : new Uint8Array(bytes)
  return wordBytes === 2
    ? new Uint16Array(buffer, byteOffset, length / 2)
    : new Uint32Array(buffer, byteOffset, length / 4)
}

/** One axis of a copy, with the strides of both sides in words. */
interface Axis {
  readonly size: number
  readonly from: number
  readonly to: number
}

/** Drops axes of size 1 and merges adjacent axes that are contiguous on both sides. */
const simplify = (axes: readonly Axis[]): Axis[] => {
  const kept: Axis[] = []
  for (const axis of axes) {
    const outer = kept.at(-1)
    if (axis.size === 1) continue
    if (outer?.from === axis.from * axis.size && outer.to === axis.to * axis.size)
      kept[kept.length - 1] = { ...axis, size: outer.size * axis.size }
    else kept.push(axis)
  }
  return kept.length > 0 ? kept : [{ size: 1, from: 1, to: 1 }]
}

const copyAxes = (axes: readonly Axis[], depth: number, from: Words, fromAt: number, to: Words, toAt: number): void => {
  const axis = axes[depth]!
  if (depth < axes.length - 1)
    for (let i = 0; i < axis.size; i++) copyAxes(axes, depth + 1, from, fromAt + i * axis.from, to, toAt + i * axis.to)
  else if (axis.from === 1 && axis.to === 1) to.set(from.subarray(fromAt, fromAt + axis.size), toAt)
  else for (let i = 0; i < axis.size; i++) to[toAt + i * axis.to] = from[fromAt + i * axis.from]!
}

/** One side of a copy: the bytes, the first element, and the strides in elements. */
export interface StridedBytes {
  readonly bytes: Uint8Array
  readonly at: number
  readonly strides: readonly number[]
}

/** Copies the elements of `shape` between two strided arrangements. `to` must be aligned to 4 bytes. */
export const copyStrided = (
  itemBytes: number,
  shape: readonly number[],
  from: StridedBytes,
  to: StridedBytes,
): void => {
  const wordBytes = Math.min(itemBytes, 4)
  const perItem = itemBytes / wordBytes
  const axes = shape.map((size, i) => ({ size, from: from.strides[i]! * perItem, to: to.strides[i]! * perItem }))
  copyAxes(
    simplify([...axes, { size: perItem, from: 1, to: 1 }]),
    0,
    wordsOf(from.bytes, wordBytes),
    from.at * perItem,
    wordsOf(to.bytes, wordBytes),
    to.at * perItem,
  )
}

/** Reverses the bytes of every element in place. */
export const swapBytes = (bytes: Uint8Array, itemBytes: number): void => {
  for (let at = 0; at < bytes.length; at += itemBytes) bytes.subarray(at, at + itemBytes).reverse()
}
