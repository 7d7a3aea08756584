// Operators that move, select, and reduce elements.
import { badRequest } from '../../domain/errors.ts'
import { padsOf, permutationOf, sliceRanges, splitSizes } from '../onnx/shape-rules-arrangement.ts'
import { axesOf } from '../onnx/shape-values.ts'
import { requireConstant, weightsOf } from './network.ts'
import { transposed } from './products.ts'
import { layerOf, type Rule, reshaped, type Step } from './step.ts'

/** Sizes are known in advance, so every operator that keeps the order of elements is a reshape. */
const reshape: Rule = (step) => void reshaped(step, step.value(0), step.result, step.output)

const slice: Rule = (step) => {
  const ranges = sliceRanges(step.context)
  // A slice that runs backward through the first element ends before it, which the mask expresses.
  const ends = ranges.map(({ start, step: by, count }) => start + by * count)
  if (ranges.some(({ count }) => count === 0)) throw badRequest('Its result is empty.')
  const params = {
    beginIds: ranges.map(({ start }) => start),
    beginMasks: ranges.map(() => false),
    endIds: ends.map((end) => Math.max(0, end)),
    endMasks: ends.map((end) => end < 0),
    strides: ranges.map(({ step: by }) => by),
    squeezeMasks: ranges.map(() => false),
  }
  step.emit('sliceStatic', params, [step.value(0)])
}

const split: Rule = (step) => {
  const sizes = splitSizes(step.context)
  const { outputs, net, context } = step
  const axis = context.axis('axis', 0)
  net.addMany('splitND', { axis, numSplits: outputs.length, splitSizes: sizes }, [step.value(0)], outputs)
}

const concat: Rule = (step) => {
  const inputs = step.context.node.inputs.map((_, at) => step.value(at))
  step.emit('concatND', { axis: step.context.axis('axis', 1) }, inputs)
}

/** A table of rows becomes an embedding; anything else is gathered. */
const gather: Rule = (step) => {
  const { context, net } = step
  const axis = context.axis('axis', 0)
  const data = context.input(0).shape
  const table = data.length === 2 && axis === 0 ? context.constant(0) : undefined
  const indices = step.shape(1)
  if (table === undefined || context.constant(1) !== undefined || indices.length > 4) {
    const shape = [...data.slice(0, axis), ...indices, ...data.slice(axis + 1)]
    const taken = net.add('gather', { axis }, [step.value(0), step.value(1)], shape)
    return void reshaped(step, taken, step.result, step.output)
  }
  const [rows, width] = data as [number, number]
  const places = reshaped(step, step.value(1), [...indices, 1])
  const params = { vocabSize: rows, embeddingSize: width, hasBias: false, weights: weightsOf(transposed(table)) }
  const found = net.add('embeddingND', params, [places], [...indices, width])
  reshaped(step, found, step.result, step.output)
}

const pad: Rule = (step) => {
  const { context } = step
  const pads = padsOf(context)
  if (pads.flat().some((size) => size < 0)) throw badRequest('Negative pads have no layer in Core ML; use Slice.')
  const mode = context.text('mode', 'constant')
  if (mode === 'constant') {
    const value = context.has(2)
      ? requireConstant(context.constant(2), 'The value of a Pad').values[0]!
      : context.float('value', 0)
    return step.emit('constantPad', { value: Number(value), padAmounts: pads.flat() }, [step.value(0)])
  }
  const others = pads.slice(0, -2).flat()
  if (pads.length < 3 || others.some((size) => size > 0) || mode === 'wrap') {
    throw badRequest(
      `The mode '${mode}' is not supported here: only reflect and edge are, for the last two of at least three dimensions.`,
    )
  }
  const borderAmounts = pads.slice(-2).map(([startEdgeSize, endEdgeSize]) => ({ startEdgeSize, endEdgeSize }))
  const kind = mode === 'edge' ? 'replication' : 'reflection'
  step.emit('padding', { [kind]: {}, paddingAmounts: { borderAmounts } }, [step.value(0)])
}

const reduce =
  (kind: string): Rule =>
  (step) => {
    const { context, net } = step
    const shape = step.shape(0)
    const given = axesOf(context, shape.length)
    const isEmpty = given === undefined || given.length === 0
    if (isEmpty && context.int('noop_with_empty_axes') !== 0) return reshape(step)
    const axes = isEmpty ? shape.map((_, axis) => axis) : given
    const kept = shape.map((size, axis) => (axes.includes(axis) ? 1 : size))
    const reduced = net.add(kind, { axes, keepDims: true }, [step.value(0)], kept)
    reshaped(step, reduced, step.result, step.output)
  }

const argument =
  (kind: 'argMax' | 'argMin'): Rule =>
  (step) => {
    const { context, net } = step
    if (context.int('select_last_index') !== 0) throw badRequest('select_last_index=1 has no layer in Core ML.')
    const axis = context.axis('axis', 0)
    const kept = step.shape(0).map((size, at) => (at === axis ? 1 : size))
    const found = net.add(kind, { axis, removeDim: false }, [step.value(0)], kept)
    reshaped(step, found, step.result, step.output)
  }

const topK: Rule = (step) => {
  const { context, net, outputs } = step
  const axis = context.axis('axis', -1)
  const K = context.has(1) ? context.numbers(1)[0]! : context.int('k')
  const shape = step.shape(0).map((size, at) => (at === axis ? K : size))
  const named = [0, 1].map((at) => [outputs[at]?.[0] || net.name(`${step.output}_${at}`), shape] as const)
  net.addMany('topK', { axis, K, useBottomK: context.int('largest', 1) === 0 }, [step.value(0)], named)
}

const depthToSpace =
  (mode: (step: Step) => number): Rule =>
  (step) => {
    if (step.shape(0).length !== 4) throw badRequest('It needs four dimensions.')
    step.emit('reorganizeData', { mode: mode(step), blockSize: step.context.int('blocksize') }, [step.value(0)])
  }

export const REARRANGING: Readonly<Record<string, Rule>> = {
  Reshape: reshape,
  Flatten: reshape,
  Squeeze: reshape,
  Unsqueeze: reshape,
  Slice: slice,
  Split: split,
  Concat: concat,
  Gather: gather,
  GatherElements: (step) =>
    step.emit('gatherAlongAxis', { axis: step.context.axis('axis', 0) }, [step.value(0), step.value(1)]),
  Transpose: layerOf('transpose', ({ context }) => ({ axes: [...permutationOf(context)] })),
  Expand: layerOf('broadcastToStatic', ({ result }) => ({ targetShape: [...result] })),
  Tile: layerOf('tile', ({ context }) => ({ reps: context.numbers(1) })),
  Pad: pad,
  ArgMax: argument('argMax'),
  ArgMin: argument('argMin'),
  TopK: topK,
  CumSum: layerOf('cumSum', ({ context }) => ({
    axis: context.numbers(1)[0]!,
    excludeFinalSum: context.int('exclusive') !== 0,
    reverse: context.int('reverse') !== 0,
  })),
  DepthToSpace: depthToSpace(({ context }) => (context.text('mode', 'DCR') === 'CRD' ? 2 : 1)),
  SpaceToDepth: depthToSpace(({ context }) => {
    if (context.text('mode', 'DCR') !== 'DCR') throw badRequest('Only the mode DCR is supported.')
    return 0
  }),
  ...Object.fromEntries(
    'ReduceL1 ReduceL2 ReduceMax ReduceMin ReduceSum ReduceProd ReduceMean ReduceLogSum ReduceSumSquare ReduceLogSumExp'
      .split(' ')
      .map((name) => [name, reduce(`r${name.slice(1)}`)]),
  ),
}
