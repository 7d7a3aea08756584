// The output shapes of operators that rearrange and select elements.
import { badRequest } from '../../domain/errors.ts'
import { axisOf } from './constants.ts'
import { elementCount } from './model.ts'
import type { NodeContext } from './node-context.ts'
import { axesOf, everyInput, shaped } from './shape-values.ts'

export const reshape = shaped((shape, context) => {
  const requested = context.list(1, 'shape') ?? []
  const zeros = context.int('allowzero') !== 0
  const sizes = requested.map((size, at) => (size === 0 && !zeros ? (shape[at] ?? 0) : size))
  const known = elementCount(sizes.filter((size) => size !== -1))
  const rest = known === 0 ? 0 : elementCount(shape) / known
  const result = sizes.map((size) => (size === -1 ? rest : size))
  if (elementCount(result) !== elementCount(shape)) {
    throw badRequest(`[${shape.join(', ')}] cannot be made [${requested.join(', ')}]; check the input shape.`)
  }
  return result
})

export const unsqueeze = shaped((shape, context) => {
  const given = context.list(1, 'axes') ?? []
  const axes = new Set(given.map((axis) => axisOf(axis, shape.length + given.length)))
  const rest = [...shape]
  return Array.from({ length: shape.length + axes.size }, (_, at) => (axes.has(at) ? 1 : rest.shift()!))
})

export const squeeze = shaped((shape, context) => {
  const axes = axesOf(context, shape.length)
  return shape.filter((size, at) => (axes === undefined ? size !== 1 : !axes.includes(at)))
})

/** The start, step, and count of each axis of a Slice. Ends beyond the dimension are clamped as in ONNX. */
export const sliceRanges = (context: NodeContext): { start: number; step: number; count: number }[] => {
  const { shape } = context.input(0)
  const starts = context.list(1, 'starts') ?? []
  const ends = context.list(2, 'ends') ?? []
  const axes = (context.list(3, 'axes') ?? starts.map((_, at) => at)).map((axis) => axisOf(axis, shape.length))
  const steps = context.has(4) ? context.numbers(4) : starts.map(() => 1)
  const ranges = shape.map((count) => ({ start: 0, step: 1, count }))
  for (const [at, axis] of axes.entries()) {
    const size = shape[axis]!
    const step = steps[at]!
    if (!step) throw badRequest('A step is 0.')
    const clamp = (edge: number, low: number, high: number) =>
      Math.min(Math.max(edge < 0 ? edge + size : edge, low), high)
    const start = clamp(starts[at]!, 0, step < 0 ? size - 1 : size)
    const end = clamp(ends[at]!, step < 0 ? -1 : 0, size)
    ranges[axis] = { start, step, count: Math.max(0, Math.ceil((end - start) / step)) }
  }
  return ranges
}

/** The sizes of the parts of a Split. */
export const splitSizes = (context: NodeContext): number[] => {
  const size = context.input(0).shape[context.axis('axis', 0)]!
  const given = context.list(1, 'split')
  if (given !== undefined) return [...given]
  const parts = context.node.outputs.length
  const each = Math.ceil(size / parts)
  return Array.from({ length: parts }, (_, at) => Math.max(0, Math.min(each, size - at * each)))
}

export const pad = shaped((shape, context) => padsOf(context).map(([before, after], at) => shape[at]! + before + after))

/** [before, after] for each dimension of a Pad; negative ones crop. */
export const padsOf = (context: NodeContext): [number, number][] => {
  const rank = context.input(0).shape.length
  const pads = context.list(1, 'pads') ?? context.ints('paddings') ?? []
  const axes = context.has(3) ? context.numbers(3).map((axis) => axisOf(axis, rank)) : [...Array(rank).keys()]
  if (pads.length !== 2 * axes.length) throw badRequest(`${pads.length} pads for ${axes.length} dimensions.`)
  return Array.from({ length: rank }, (_, axis) => {
    const at = axes.indexOf(axis)
    return at < 0 ? [0, 0] : [pads[at]!, pads[at + axes.length]!]
  })
}

export const gather = shaped((shape, context) => {
  const axis = context.axis('axis', 0)
  return [...shape.slice(0, axis), ...context.input(1).shape, ...shape.slice(axis + 1)]
})

export const concat = shaped((first, context) => {
  const inputs = everyInput(context)
  const axis = context.axis('axis', 1)
  for (const { shape } of inputs) {
    if (shape.length !== first.length || shape.some((size, at) => at !== axis && size !== first[at])) {
      throw badRequest(`[${first.join(', ')}] and [${shape.join(', ')}] cannot be concatenated along axis ${axis}.`)
    }
  }
  const along = inputs.reduce((sum, { shape }) => sum + shape[axis]!, 0)
  return first.map((size, at) => (at === axis ? along : size))
})

export const transpose = shaped((shape, context) => permutationOf(context).map((at) => shape[at]!))

export const permutationOf = (context: NodeContext): readonly number[] => {
  const rank = context.input(0).shape.length
  const permutation = context.ints('perm') ?? [...Array(rank).keys()].reverse()
  if (
    permutation.length !== rank ||
    new Set(permutation).size !== rank ||
    permutation.some((at) => at < 0 || at >= rank)
  ) {
    throw badRequest(`perm [${permutation.join(', ')}] is not a permutation of ${rank} dimensions.`)
  }
  return permutation
}
