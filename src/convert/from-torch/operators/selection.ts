// Operators that select from a tensor.
import { elementCount, int, text } from '../../onnx/model.ts'
import type { Size, SizeArgument, TensorMeta } from '../exported-program.ts'
import type { Lowering, Operator } from '../lowering.ts'
import type { Shape } from '../node-arguments.ts'

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

/** The input ('self') with these elements in place of a slice of it; the rest is kept. */
export const scatterSlice = (
  node: Lowering,
  elements: string,
  axis: number,
  start = 0,
  end = INT64_END,
  step = 1,
): string => {
  const size = node.shape()[axis]!
  if (typeof size === 'number') {
    const clamp = (bound: number) => Math.max(0, Math.min(size, bound < 0 ? bound + size : bound))
    const [from, to] = [clamp(start), clamp(end)]
    const count = Math.max(0, Math.ceil((to - from) / step))
    if (count === 0 || count === size) return count === 0 ? node.input() : elements
    const both = node.emit('Concat', [node.input(), elements], { axis: int(axis) })
    const changed = (at: number) => at >= from && at < to && (at - from) % step === 0
    const positions = node.indices([size], (at) => (changed(at) ? size + (at - from) / step : at))
    return node.emit('Gather', [both, positions], { axis: int(axis) })
  }
  if (step !== 1) throw node.refuse('it changes every other element of a dynamic size; export it with a fixed size.')
  const before = start === 0 ? [] : [sliced(node, axis, 0, start, 1)]
  const after = end >= INT64_END ? [] : [sliced(node, axis, end, INT64_END, 1)]
  const parts = [...before, elements, ...after]
  return parts.length === 1 ? elements : node.emit('Concat', parts, { axis: int(axis) })
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
  const shifts = node.numbers('shifts')
  const rolled = (x: string, shape: Shape, axis: number, shift: number): string => {
    const [size] = node.fixed([shape[axis]!], 'the size of the dimension')
    const places = node.indices([size!], (at) => (((at - shift) % size!) + size!) % size!)
    return node.emit('Gather', [x, places], { axis: int(axis) })
  }
  const shape = node.shape()
  const dims = node.numbers('dims', [])
  if (dims.length > 0) {
    return dims.reduce((x, dim, at) => rolled(x, shape, node.fromFront(dim, shape.length), shifts[at]!), node.input())
  }
  const count = elementCount(node.fixedShape())
  return node.reshapeTo(rolled(node.reshape(node.input(), [-1]), [count], 0, shifts[0]!), [], shape)
}

interface Places {
  /** int64, [..., axes]: one index for each selected axis. */
  readonly places: string
  /** The axes that are selected from, before all others. */
  readonly order: readonly number[]
  /** Where the axes of the result are: those of the indices stand where the selected ones were, if these are neighbors, else in front. */
  readonly back: readonly number[]
  readonly shape: Shape
}

const adjacent = (axes: readonly number[]): boolean => axes.every((axis, at) => axis === axes[0]! + at)

/** Several tensors of positions, broadcast to one shape. */
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
  const places = each.length === 1 ? each[0]! : node.emit('Concat', each, { axis: int(rank) })
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

/** x[:, i], x[i, :, j] and their like. */
export const index: Operator = (node) => {
  const used = indicesOf(node)
  if (used.some(({ meta }) => meta.type === 'bool'))
    throw node.refuse('it selects by a mask, whose result has no fixed shape; use torch.where.')
  if (used.length === 1) return node.emit('Gather', [node.input(), used[0]!.value], { axis: int(used[0]!.axis) })
  const { places, order, back } = placesOf(node, used)
  return node.transpose(node.emit('GatherND', [node.transpose(node.input(), order), places]), back)
}

/** x[mask] = value, and x[i, j] = values. */
export const indexPut: Operator = (node) => {
  const used = indicesOf(node)
  const type = node.type()
  const values = node.operand('values', type)
  const [only] = used
  if (used.length === 1 && only!.meta.type === 'bool' && only!.axis === 0) {
    if (node.shape('values').some((size) => size !== 1)) {
      throw node.refuse('it puts several values where a mask says; use torch.where with values for all places.')
    }
    const rest = node.shape().length - only!.meta.shape.length
    const mask = node.unsqueeze(
      only!.value,
      Array.from({ length: rest }, (_, at) => only!.meta.shape.length + at),
    )
    const added = node.flag('accumulate') ? node.emit('Add', [node.input(), values]) : values
    return node.emit('Where', [mask, added, node.input()])
  }
  if (used.some(({ meta }) => meta.type === 'bool'))
    throw node.refuse('it puts values where a mask says, among other indices.')
  const { places, order, back, shape } = placesOf(node, used)
  const inverse = (axes: readonly number[]) => axes.map((_, axis) => axes.indexOf(axis))
  const to = back.map((axis) => shape[axis]!)
  const spread = node.transpose(node.expand(values, node.shape('values'), to), inverse(back))
  const reduction = text(node.flag('accumulate') ? 'add' : 'none')
  const put = node.emit('ScatterND', [node.transpose(node.input(), order), places, spread], { reduction })
  return node.transpose(put, inverse(order))
}

const REDUCTIONS: Readonly<Record<string, string>> = {
  sum: 'add',
  add: 'add',
  prod: 'mul',
  multiply: 'mul',
  amax: 'max',
  amin: 'min',
}

/** Puts values at positions along an axis. */
export const scatter =
  (fixed?: string): Operator =>
  (node) => {
    const axis = node.axis('dim', node.shape().length)
    const named = node.text('reduce', '')
    const reduction = fixed ?? (named === '' ? 'none' : REDUCTIONS[named])
    if (reduction === undefined || !node.flag('include_self', true)) {
      throw node.refuse('it reduces in a way that ONNX has not; use sum, prod, amax or amin, with include_self.')
    }
    const to = node.shape('index')
    let values: string
    if (node.isTensor('src')) {
      const from = node.shape('src')
      // Of a larger source only the part as large as the index counts.
      const larger = from.flatMap((size, at) => (size === to[at] ? [] : [at]))
      const ends = larger.map((at) => to[at]!)
      values =
        larger.length === 0
          ? node.input('src')
          : node.emit('Slice', [
              node.input('src'),
              node.integers(larger.map(() => 0)),
              node.shapeValue(ends),
              node.integers(larger),
            ])
    } else values = node.expand(node.scalar(node.type(), node.number('value')), [], to)
    return node.emit('ScatterElements', [node.input(), node.input('index'), values], {
      axis: int(axis),
      reduction: text(reduction),
    })
  }

/** index_add, index_copy and index_fill: whole slices along an axis. */
export const scatterSlices =
  (reduction: string): Operator =>
  (node) => {
    const rank = node.shape().length
    const axis = node.axis('dim', rank)
    const to = node.shape().map((size, at) => (at === axis ? node.shape('index')[0]! : size))
    if (node.has('alpha') && node.number('alpha') !== 1) throw node.refuse('its alpha is not 1.')
    const places = node.reshape(
      node.input('index'),
      Array.from({ length: rank }, (_, at) => (at === axis ? -1 : 1)),
    )
    const ones = to.map((size, at) => (at === axis ? size : 1))
    const values = node.has('source') ? node.input('source') : node.expand(node.operand('value', node.type()), [], to)
    const inputs = [node.input(), node.expand(places, ones, to), values]
    return node.emit('ScatterElements', inputs, { axis: int(axis), reduction: text(reduction) })
  }

export const gather: Operator = (node) =>
  node.emit('GatherElements', [node.input(), node.input(node.has('index') ? 'index' : 'indices')], {
    axis: int(node.axis('dim', node.shape().length)),
  })
