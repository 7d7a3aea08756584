import { int, text } from '../../onnx/model.ts'
import type { Size, SizeArgument, TensorMeta } from '../exported-program.ts'
import type { Lowering, Operator } from '../lowering.ts'
import type { Shape } from '../node-arguments.ts'

export const INT64_END = 2 ** 62

export const sliced = (node: Lowering, axis: number, start: SizeArgument, end: SizeArgument, step: number): string => {
  if (start === 0 && typeof end === 'number' && end >= INT64_END && step === 1) return node.input()
  const bound = (size: SizeArgument) => node.sizeList([typeof size === 'number' ? Math.min(size, INT64_END) : size])
  return node.emit('Slice', [node.input(), bound(start), bound(end), node.integers([axis]), node.integers([step])])
}

interface Places {
  /** int64, [..., axes]: one index for each selected axis. */
  readonly places: string
  /** The order of axes with the selected ones first. */
  readonly order: readonly number[]
  /** Moves the index axes to the position of the selected axes if those are adjacent; otherwise they stay in front. */
  readonly back: readonly number[]
  readonly shape: Shape
}

const adjacent = (axes: readonly number[]): boolean => axes.every((axis, at) => axis === axes[0]! + at)

/** Broadcasts several index tensors to one shape. */
const placesOf = (node: Lowering, used: readonly { value: string; axis: number; meta: TensorMeta }[]): Places => {
  const rank = Math.max(...used.map(({ meta }) => meta.shape.length))
  const common = Array.from({ length: rank }, (_, at): Size => {
    const sizes = used.map(({ meta }) => meta.shape[at - rank + meta.shape.length] ?? 1)
    return sizes.find((size) => size !== 1) ?? 1
  })
  const each = used.map(({ value, meta }) =>
    node.unsqueeze(node.expand(node.cast(value, meta.type, 'i64'), meta.shape, common), [rank]),
  )
  const axes = used.map(({ axis }) => axis)
  const rest = [...node.shape().keys()].filter((axis) => !axes.includes(axis))
  const places = each.length === 1 ? each[0]! : node.concat(each, rank)
  const before = adjacent(axes) ? axes[0]! : 0
  const back = Array.from({ length: rank + rest.length }, (_, at) =>
    at < before ? rank + at : at < before + rank ? at - before : at,
  )
  const shape = [...common, ...rest.map((axis) => node.shape()[axis]!)]
  return { places, order: [...axes, ...rest], back, shape }
}

const indicesOf = (node: Lowering) => {
  const metas = node.metas('indices')
  return node.tensors('indices').flatMap((value, axis) => {
    const meta = metas[axis]
    return value === null || meta == null ? [] : [{ value, axis, meta }]
  })
}

/** x[:, i], x[i, :, j], and similar. */
export const index: Operator = (node) => {
  const used = indicesOf(node)
  if (used.some(({ meta }) => meta.type === 'bool'))
    throw node.refuse('it selects by a mask, whose result has no fixed shape; use torch.where.')
  if (used.length === 1) return node.emit('Gather', [node.input(), used[0]!.value], { axis: int(used[0]!.axis) })
  const { places, order, back } = placesOf(node, used)
  return node.transpose(node.emit('GatherND', [node.transpose(node.input(), order), places]), back)
}

/** x[mask] = value and x[i, j] = values. */
export const indexPut: Operator = (node) => {
  const used = indicesOf(node)
  const type = node.type()
  const values = node.operand('values', type)
  const [only] = used
  if (used.length === 1 && only!.meta.type === 'bool' && only!.axis === 0) {
    if (node.shape('values').some((size) => size !== 1)) {
      throw node.refuse('it writes several values by a mask; use torch.where with a value for every element.')
    }
    const rest = [...node.shape().keys()].slice(only!.meta.shape.length)
    const mask = node.unsqueeze(only!.value, rest)
    const added = node.flag('accumulate') ? node.emit('Add', [node.input(), values]) : values
    return node.emit('Where', [mask, added, node.input()])
  }
  if (used.some(({ meta }) => meta.type === 'bool'))
    throw node.refuse('it writes values by a mask combined with other indices.')
  const { places, order, back, shape } = placesOf(node, used)
  const inverse = (axes: readonly number[]) => axes.map((_, axis) => axes.indexOf(axis))
  const to = back.map((axis) => shape[axis]!)
  const spread = node.transpose(node.expand(values, node.shape('values'), to), inverse(back))
  const reduction = text(node.flag('accumulate') ? 'add' : 'none')
  const put = node.emit('ScatterND', [node.transpose(node.input(), order), places, spread], { reduction })
  return node.transpose(put, inverse(order))
}
