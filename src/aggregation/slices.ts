import { BYTES_OF, elementCount, type Tensor } from '../tensors/weight-file.ts'

/** A part of a tensor that is a tensor itself: elements [start, start + its count) in row-major order. */
export interface Slice {
  readonly tensor: Tensor
  readonly start: number
}

/** Cuts a tensor of any strides into parts of at most `most` elements, in row-major order. Nothing for no elements. */
export function* slicesOf(tensor: Tensor, most: number): Generator<Slice> {
  const count = elementCount(tensor.shape)
  if (count <= most) {
    if (count > 0) yield { tensor, start: 0 }
    return
  }
  const [size, ...innerShape] = tensor.shape
  const [stride, ...innerStrides] = tensor.strides
  const step = stride! * BYTES_OF[tensor.dtype]
  const inner = count / size!
  const group = Math.floor(most / inner)
  for (let at = 0; at < size!; at += Math.max(group, 1)) {
    const byteOffset = tensor.byteOffset + at * step
    if (group > 0)
      yield {
        tensor: { ...tensor, byteOffset, shape: [Math.min(group, size! - at), ...innerShape] },
        start: at * inner,
      }
    else
      for (const { tensor: part, start } of slicesOf(
        { ...tensor, byteOffset, shape: innerShape, strides: innerStrides },
        most,
      ))
        yield { tensor: part, start: at * inner + start }
  }
}
