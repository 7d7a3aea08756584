// Operators that select from a tensor.
import { elementCount, int } from '../../onnx/model.ts'
import type { SizeArgument } from '../exported-program.ts'
import type { Lowering, Operator } from '../lowering.ts'
import type { Shape } from '../node-arguments.ts'
import { INT64_END, index, indexPut, sliced } from './indexing.ts'
import { named } from './operands.ts'
import { SCATTERING } from './scattering.ts'

const split: Operator = (node) => {
  const axis = node.axis('dim', 0)
  const count = node.resultNames().length
  const sizes = Array.from({ length: count }, (_, at) => node.result(at).shape[axis]!)
  if (count === 1) return [node.emit('Identity', [node.input()])]
  return node.emitSeveral('Split', [node.input(), node.sizeList(sizes)], count, { axis: int(axis) })
}

const select = (node: Lowering, axis: number, index: SizeArgument): string =>
  typeof index === 'number'
    ? node.gather(node.input(), node.scalar('i64', index), axis)
    : node.squeeze(node.gather(node.input(), node.sizeValue(index), axis), [axis])

const unbind: Operator = (node) => {
  const axis = node.axis('dim', 0)
  return node.resultNames().map((_, at) => select(node, axis, at))
}

const slice: Operator = (node) => {
  const at = (name: string, absent: number) => (node.has(name) ? node.sizeArguments(name)[0]! : absent)
  const axis = node.axis('dim', 0)
  return sliced(node, axis, at('start', 0), at('end', INT64_END), node.number('step', 1))
}

const narrow: Operator = (node) => {
  const start = node.number('start')
  return sliced(node, node.axis('dim'), start, start + node.number('length'), 1)
}

const flip: Operator = (node) => {
  const axes = node.axes('dims')
  const each = (value: number) => node.integers(axes.map(() => value))
  return node.emit('Slice', [node.input(), each(-1), each(-INT64_END), node.integers(axes), each(-1)])
}

const roll: Operator = (node) => {
  const shifts = node.numbers('shifts')
  const rolled = (x: string, shape: Shape, axis: number, shift: number): string => {
    const [size] = node.fixed([shape[axis]!], 'the size of the dimension')
    const places = node.indices([size!], (at) => (((at - shift) % size!) + size!) % size!)
    return node.gather(x, places, axis)
  }
  const shape = node.shape()
  const dims = node.numbers('dims', [])
  if (dims.length > 0) {
    return dims.reduce((x, dim, at) => rolled(x, shape, node.fromFront(dim, shape.length), shifts[at]!), node.input())
  }
  const count = elementCount(node.fixedShape())
  return node.reshapeTo(rolled(node.reshape(node.input(), [-1]), [count], 0, shifts[0]!), [], shape)
}

const gather: Operator = (node) =>
  node.emit('GatherElements', [node.input(), node.input(node.has('index') ? 'index' : 'indices')], {
    axis: int(node.axis('dim')),
  })

/** Bags of equal length: the indices are [bags, length], which torch flattens and delimits by a range. */
const embeddingBag: Operator = (node) => {
  const reduction = ['ReduceSum', 'ReduceMean', 'ReduceMax'][node.number('mode', 0)]
  const range = node.madeBy('offsets')
  const hasPadding = node.has('padding_idx') && node.number('padding_idx') >= 0
  if (range?.operator !== 'arange' || reduction === undefined || hasPadding) {
    throw node.refuse(
      'its bags are given by offsets, or leave out padding; give it indices [bags, length], without padding_idx.',
    )
  }
  const bags = node.reshape(node.input('indices'), [-1, range.number('step', 1)])
  const rows = node.emit('Gather', [node.input('weight'), bags])
  const weights =
    node.has('per_sample_weights') && node.reshape(node.input('per_sample_weights'), [-1, range.number('step', 1), 1])
  const scaled = weights ? node.emit('Mul', [rows, weights]) : rows
  return node.emit(reduction, [scaled, node.integers([1])], { keepdims: int(0) })
}

export const SELECTION: Readonly<Record<string, Operator>> = {
  ...SCATTERING,
  ...named('split split_with_sizes chunk tensor_split', split),
  unbind,
  select: (node) => select(node, node.axis('dim'), node.sizeArguments('index')[0]!),
  slice,
  narrow,
  flip,
  roll,
  ...named('index _unsafe_index', index),
  ...named('index_put _unsafe_index_put', indexPut),
  index_select: (node) => node.gather(node.input(), node.input('index'), node.axis('dim')),
  take: (node) => node.emit('Gather', [node.reshape(node.input(), [-1]), node.input('index')]),
  ...named('gather take_along_dim', gather),
  ...named('embedding_bag _embedding_bag', embeddingBag),
  embedding: (node) => node.gather(node.input('weight'), node.input('indices'), 0),
}
