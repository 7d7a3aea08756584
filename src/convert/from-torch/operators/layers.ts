// Products, normalization, attention, and distances.
import { float, int, text } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'
import { named, scaledBy } from './operands.ts'

const withBias = (node: Lowering, x: string): string =>
  node.has('bias') ? node.emit('Add', [x, node.input('bias')]) : x

const linear: Operator = (node) => {
  const [x, weight] = [node.input('input'), node.input('weight')]
  if (node.rank('input') === 2) return node.emit('Gemm', [x, weight, ...node.given('bias')], { transB: int(1) })
  return withBias(node, node.emit('MatMul', [x, node.transpose(weight, [1, 0])]))
}

const product =
  (other: string): Operator =>
  (node) =>
    node.emit('MatMul', [node.input(), node.input(other)])

/** beta · self + alpha · (a × b) */
const addedProduct =
  (a: string, b: string, type: 'Gemm' | 'MatMul'): Operator =>
  (node) => {
    const [alpha, beta] = [node.number('alpha', 1), node.number('beta', 1)]
    const added = node.input()
    if (type === 'Gemm') {
      return node.emit('Gemm', [node.input(a), node.input(b), added], { alpha: float(alpha), beta: float(beta) })
    }
    const multiplied = node.emit('MatMul', [node.input(a), node.input(b)])
    return node.emit('Add', [scaledBy(node, added, beta), scaledBy(node, multiplied, alpha)])
  }

/** x · weight + bias, with a number for each channel. */
const scaledByChannel = (node: Lowering, x: string, rank: number): string => {
  const channels = [-1, ...new Array<number>(Math.max(0, rank - 2)).fill(1)]
  const apply = (type: string, value: string, name: string) =>
    node.has(name) ? node.emit(type, [value, node.reshape(node.input(name), channels)]) : value
  return apply('Add', apply('Mul', x, 'weight'), 'bias')
}

/** The value of an argument; if it is omitted, a constant with the same value everywhere. */
const orFilled = (node: Lowering, name: string, shape: readonly number[], value: number): string =>
  node.has(name) ? node.input(name) : node.filled(shape, value)

/** Without running statistics, it normalizes by the batch in evaluation too; instance_norm decomposes to this. */
const batchStatistics: Operator = (node) => {
  const rank = node.rank('input')
  const others = node.integers(Array.from({ length: rank }, (_, axis) => axis).filter((axis) => axis !== 1))
  const x = node.input('input')
  const centered = node.emit('Sub', [x, node.emit('ReduceMean', [x, others])])
  const variance = node.emit('ReduceMean', [node.emit('Mul', [centered, centered]), others])
  const epsilon = node.scalar(node.type('input'), node.number('eps'))
  const even = node.emit('Div', [centered, node.emit('Sqrt', [node.emit('Add', [variance, epsilon])])])
  return scaledByChannel(node, even, rank)
}

const batchNorm: Operator = (node) => {
  if (!node.has('running_mean')) return batchStatistics(node)
  if (node.flag('training')) {
    throw node.refuse('it normalizes by the batch, as in training. Call model.eval() before torch.export.export.')
  }
  const size = node.fixedShape('running_mean')
  const [x, scale, bias] = [node.input('input'), orFilled(node, 'weight', size, 1), orFilled(node, 'bias', size, 0)]
  const inputs = [x, scale, bias, node.input('running_mean'), node.input('running_var')]
  return node.emit('BatchNormalization', inputs, { epsilon: float(node.number('eps')) })
}

const layerNorm: Operator = (node) => {
  const shape = node.numbers('normalized_shape')
  const inputs = [node.input('input'), orFilled(node, 'weight', shape, 1), ...node.given('bias')]
  const attributes = { axis: int(-shape.length), epsilon: float(node.number('eps', 1e-5)) }
  return node.emit('LayerNormalization', inputs, attributes)
}

/** x / √(mean(x²) + ε), arXiv 1910.07467. */
const rmsNorm: Operator = (node) => {
  const axes = node.numbers('normalized_shape').map((_, at) => -1 - at)
  const x = node.input('input')
  const type = node.type('input')
  const squares = node.emit('ReduceMean', [node.emit('Mul', [x, x]), node.integers(axes)])
  // torch uses the machine epsilon if none is given.
  const epsilon = node.scalar(type, node.number('eps', 1.1920928955078125e-7))
  const normal = node.emit('Div', [x, node.emit('Sqrt', [node.emit('Add', [squares, epsilon])])])
  return node.has('weight') ? node.emit('Mul', [normal, node.input('weight')]) : normal
}

/** g · v / ‖v‖, with the norm over all axes but one. */
const weightNorm: Operator = (node) => {
  const axis = node.number('dim', 0)
  const [v, g] = [node.input('v'), node.input('g')]
  const others = node.integers([...node.shape('v').keys()].filter((each) => each !== axis))
  const norm = node.emit('Sqrt', [node.emit('ReduceSum', [node.emit('Mul', [v, v]), others])])
  return node.emit('Mul', [v, node.emit('Div', [g, norm])])
}

const groupNorm: Operator = (node) => {
  const shape = node.shape('input')
  const groups = node.number(node.has('num_groups') ? 'num_groups' : 'group')
  const apart = node.reshape(node.input('input'), [0, groups, -1])
  const inputs = [apart, node.filled([groups], 1), node.filled([groups], 0)]
  const normal = node.emit('InstanceNormalization', inputs, { epsilon: float(node.number('eps', 1e-5)) })
  const back = node.reshapeTo(normal, [shape[0]!], shape)
  return scaledByChannel(node, back, shape.length)
}

const instanceNorm: Operator = (node) => {
  if (!node.flag('use_input_stats', true)) return batchNorm(node)
  const channels = node.fixed(node.shape('input').slice(1, 2), 'the number of channels')
  const [weight, bias] = [orFilled(node, 'weight', channels, 1), orFilled(node, 'bias', channels, 0)]
  const epsilon = float(node.number('eps', 1e-5))
  return node.emit('InstanceNormalization', [node.input('input'), weight, bias], { epsilon })
}

/** softmax(q·kᵀ·scale + mask)·v, arXiv 1706.03762, equation 1. */
const attention: Operator = (node) => {
  const [query, key] = [node.shape('query'), node.shape('key')]
  const type = node.type('query')
  const rank = key.length
  const width = node.fixed(query.slice(-1), 'the width of a head')[0] ?? 1
  const scale = node.scalar(type, node.number('scale', 1 / Math.sqrt(width)))
  // Query heads may share keys and values.
  const perHead = (name: string): string => {
    const shape = node.shape(name)
    const [heads, own] = [query.at(-3), shape.at(-3)]
    if (!node.flag('enable_gqa') || heads === own || typeof heads !== 'number' || typeof own !== 'number')
      return node.input(name)
    const to = shape.map((size, axis) => (axis === shape.length - 3 ? heads : size))
    return node.reshapeTo(node.repeated(node.input(name), shape.length, shape.length - 3, heads / own), [shape[0]!], to)
  }
  const keys = node.swap(perHead('key'), rank, rank - 2, rank - 1)
  let scores = node.emit('MatMul', [node.emit('Mul', [node.input('query'), scale]), keys])
  const onlyWhere = (seen: string) => node.emit('Where', [seen, scores, node.scalar(type, -Infinity)])
  if (node.flag('is_causal')) {
    const ones = node.everywhere([query.at(-2)!, key.at(-2)!], 'f32', 1)
    const seen = node.cast(node.emit('Trilu', [ones], { upper: int(0) }), 'f32', 'bool')
    scores = onlyWhere(seen)
  }
  if (node.has('attn_mask')) {
    const mask = node.input('attn_mask')
    scores =
      node.type('attn_mask') === 'bool'
        ? onlyWhere(mask)
        : node.emit('Add', [scores, node.cast(mask, node.type('attn_mask'), type)])
  }
  let weights = node.emit('Softmax', [scores], { axis: int(-1) })
  if (node.has('attn_mask')) {
    // PyTorch gives 0 if a row is entirely masked, where the softmax is NaN.
    const most = node.emit('ReduceMax', [scores, node.integers([-1])])
    const masked = node.emit('Equal', [most, node.scalar(type, -Infinity)])
    weights = node.emit('Where', [masked, node.scalar(type, 0), weights])
  }
  return node.emit('MatMul', [weights, perHead('value')])
}

const einsum: Operator = (node) => {
  const inputs = node.tensors('tensors').filter((value) => value !== null)
  return node.emit('Einsum', inputs, { equation: text(node.text('equation', '').replaceAll(' ', '')) })
}

/** x₁ᵀ·W·x₂ for each output. */
const bilinear: Operator = (node) => {
  const rank = node.rank('input1')
  const row = node.unsqueeze(node.input('input1'), [rank - 1, rank])
  const column = node.unsqueeze(node.input('input2'), [rank - 1, rank + 1])
  const products = node.emit('MatMul', [node.emit('MatMul', [row, node.input('weight')]), column])
  return withBias(node, node.squeeze(products, [rank, rank + 1]))
}

const trilinear: Operator = (node) => {
  const factors = [1, 2, 3].map((at) => node.unsqueeze(node.input(`i${at}`), node.numbers(`expand${at}`)))
  const all = factors.reduce((one, other) => node.emit('Mul', [one, other]))
  return node.emit('ReduceSum', [all, node.integers(node.numbers('sumdim'))], { keepdims: int(0) })
}

/** The distances between the rows of two tensors. */
const distances: Operator = (node) => {
  if (![1, 2].includes(node.number('p', 2))) throw node.refuse('its p is neither 1 nor 2.')
  const rank = node.rank('x1')
  const rows = [node.unsqueeze(node.input('x1'), [rank - 1]), node.unsqueeze(node.input('x2'), [rank - 2])]
  return node.emit(`ReduceL${node.number('p', 2)}`, [node.emit('Sub', rows), node.integers([-1])], { keepdims: int(0) })
}

const cosineSimilarity: Operator = (node) => {
  const axis = node.integers([node.axis('dim', 1, node.rank('x1'))])
  const least = node.scalar(node.type('x1'), node.number('eps', 1e-8))
  const [one, other] = ['x1', 'x2'].map((name) => {
    const x = node.input(name)
    return node.emit('Div', [x, node.emit('Max', [node.emit('ReduceL2', [x, axis]), least])])
  })
  return node.emit('ReduceSum', [node.emit('Mul', [one!, other!]), axis], { keepdims: int(0) })
}

const outer: Operator = (node) =>
  node.emit('Mul', [node.unsqueeze(node.input(), [1]), node.unsqueeze(node.input('vec2'), [0])])

export const LAYERS: Readonly<Record<string, Operator>> = {
  linear,
  ...named('matmul vdot', product('other')),
  ...named('mm bmm', product('mat2')),
  mv: product('vec'),
  dot: product('tensor'),
  bilinear,
  _trilinear: trilinear,
  ...named('cdist _cdist_forward', distances),
  cosine_similarity: cosineSimilarity,
  pairwise_distance: (node) => {
    const difference = node.emit('Sub', [node.input('x1'), node.input('x2')])
    const shifted = node.emit('Add', [difference, node.scalar(node.type('x1'), node.number('eps', 1e-6))])
    if (node.number('p', 2) !== 2) throw node.refuse('its p is not 2.')
    return node.emit('ReduceL2', [shifted, node.integers([-1])], { keepdims: int(Number(node.flag('keepdim'))) })
  },
  outer,
  einsum,
  addmm: addedProduct('mat1', 'mat2', 'Gemm'),
  baddbmm: addedProduct('batch1', 'batch2', 'MatMul'),
  ...named('batch_norm native_batch_norm cudnn_batch_norm', batchNorm),
  ...named('_native_batch_norm_legit _native_batch_norm_legit_no_training', batchNorm),
  ...named('layer_norm native_layer_norm', layerNorm),
  rms_norm: rmsNorm,
  _weight_norm: weightNorm,
  ...named('group_norm native_group_norm', groupNorm),
  instance_norm: instanceNorm,
  ...named('scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu', attention),
}
