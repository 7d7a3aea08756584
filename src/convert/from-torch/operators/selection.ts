// Operators that select from a tensor.
import { int } from '../../onnx/model.ts'
import type { SizeArgument } from '../exported-program.ts'
import type { Lowering, Operator } from '../lowering.ts'

const INT64_END = 2 ** 62

export const split: Operator = (node) => {
  const axis = node.axis('dim', node.shape().length, 0)
  const count = node.resultNames().length
  const sizes = Array.from({ length: count }, (_, at) => node.result(at).shape[axis]!)
  if (count === 1) return [node.emit('Identity', [node.input()])]
  return node.emitSeveral('Split', [node.input(), node.shapeValue(sizes)], count, { axis: int(axis) })
}

export const select = (node: Lowering, axis: number, index: SizeArgument): string =>
  typeof index === 'number'
    ? node.emit('Gather', [node.input(), node.scalar('i64', index)], { axis: int(axis) })
    : node.squeeze(node.emit('Gather', [node.input(), node.sizeValue(index)], { axis: int(axis) }), [axis])

export const unbind: Operator = (node) => {
  const axis = node.axis('dim', node.shape().length, 0)
  return node.resultNames().map((_, at) => select(node, axis, at))
}

const sliced = (node: Lowering, axis: number, start: SizeArgument, end: SizeArgument, step: number): string => {
  if (start === 0 && typeof end === 'number' && end >= INT64_END && step === 1) return node.input()
  const bound = (size: SizeArgument) => node.sizeList([typeof size === 'number' ? Math.min(size, INT64_END) : size])
  return node.emit('Slice', [node.input(), bound(start), bound(end), node.integers([axis]), node.integers([step])])
}

export const slice: Operator = (node) => {
  const at = (name: string, absent: number) => (node.has(name) ? node.sizeArguments(name)[0]! : absent)
  const axis = node.axis('dim', node.shape().length, 0)
  return sliced(node, axis, at('start', 0), at('end', INT64_END), node.number('step', 1))
}

export const narrow: Operator = (node) => {
  const start = node.number('start')
  return sliced(node, node.axis('dim', node.shape().length), start, start + node.number('length'), 1)
}

export const flip: Operator = (node) => {
  const axes = node.numbers('dims').map((axis) => node.fromFront(axis, node.shape().length))
  const each = (value: number) => node.integers(axes.map(() => value))
  return node.emit('Slice', [node.input(), each(-1), each(-INT64_END), node.integers(axes), each(-1)])
}

export const roll: Operator = (node) => {
  const dims = node.has('dims') ? node.numbers('dims') : []
  if (dims.length === 0) throw node.refuse('it rolls over all dimensions at once; name them.')
  const shifts = node.numbers('shifts')
  return dims.reduce((x, dim, at) => {
    const axis = node.integers([node.fromFront(dim, node.shape().length)])
    const shift = node
      .fixed([node.shape().at(dim)!], 'the size of the dimension')
      .map((size) => size - (((shifts[at]! % size) + size) % size))
    const cut = (from: number, to: number) => node.emit('Slice', [x, node.integers([from]), node.integers([to]), axis])
    const parts = [cut(shift[0]!, INT64_END), cut(0, shift[0]!)]
    return node.emit('Concat', parts, { axis: int(node.fromFront(dim, node.shape().length)) })
  }, node.input())
}

/** x[:, index] and its like: one tensor of positions, or several that stand for the first axes. */
export const index: Operator = (node) => {
  const indices = node.tensors('indices')
  const metas = node.metas('indices')
  if (metas.some((meta) => meta?.type === 'bool'))
    throw node.refuse('it selects by a mask, whose result has no fixed shape.')
  const used = indices.flatMap((value, axis) => (value === null ? [] : [{ value, axis }]))
  if (used.length === 1) return node.emit('Gather', [node.input(), used[0]!.value], { axis: int(used[0]!.axis) })
  const rank = Math.max(...metas.map((meta) => meta?.shape.length ?? 0))
  const shapes = new Set(metas.map((meta) => JSON.stringify(meta?.shape)))
  if (used.some(({ axis }, at) => axis !== at) || shapes.size !== 1) {
    throw node.refuse('it selects by several tensors that differ in shape or are not for the first axes.')
  }
  const positions = node.emit(
    'Concat',
    used.map(({ value }) => node.unsqueeze(value, [rank])),
    { axis: int(rank) },
  )
  return node.emit('GatherND', [node.input(), positions])
}

export const gather: Operator = (node) =>
  node.emit('GatherElements', [node.input(), node.input('index')], { axis: int(node.axis('dim', node.shape().length)) })
