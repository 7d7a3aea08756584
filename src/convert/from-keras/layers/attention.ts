// Attention as in Keras: scores of queries and keys, a softmax over the values, and their weighted mean.
import { int, type OnnxTensor } from '../../onnx/model.ts'
import { numbersOf, tensorOf } from '../../onnx/tensors.ts'
import { type Layer, LayerCall, type Size, type Value } from '../layer-call.ts'
import { elementsOf } from './dense.ts'

/** The number that Keras adds where a mask is false. */
const HIDDEN = -1e9

interface Projection {
  readonly kernel: OnnxTensor
  readonly apply: (x: string, rows: number, columns: number) => string
}

/** One of the four products, whose weights are in their own layer in Keras. */
const projection = (call: LayerCall, name: string, nameInH5: string, number: number): Projection => {
  const { path, names, before } = call.place
  const hasBias = call.flag('use_bias', true)
  const place = {
    path: `${path}/${call.layer.className === 'MultiHeadAttention' ? '' : '_'}${name}_dense`,
    names: [...names, nameInH5],
    before: before + number * (hasBias ? 2 : 1),
  }
  const layer = { className: 'EinsumDense', name: `${call.layer.name}/${name}`, config: { use_bias: hasBias } }
  const inner = new LayerCall(call.scope, layer, place, [])
  const kernel = inner.weightOfRank('kernel', 3)
  return {
    kernel,
    apply: (x, rows, columns) => {
      const matrix = inner.constant('kernel', tensorOf('f32', [rows, columns], numbersOf(kernel)))
      const product = inner.emit('MatMul', [x, matrix])
      return hasBias ? inner.emit('Add', [product, inner.vector('bias', numbersOf(inner.weight('bias')))]) : product
    },
  }
}

/** The valid scores [batch, …, queries, values]; null for all. Masks get `added` axes between batch and queries. */
const validScores = (
  call: LayerCall,
  query: Value,
  value: Value,
  added: readonly number[],
  key = value,
): string | null => {
  const withAxes = (mask: string, axes: readonly number[]) => call.unsqueeze(mask, axes)
  const behind = added.map((axis) => axis + 1)
  const parts: string[] = []
  if (query.mask !== null && added.length > 0) parts.push(withAxes(query.mask, [...added, added.length + 2]))
  for (const mask of new Set([value.mask, key.mask])) if (mask !== null) parts.push(withAxes(mask, [1, ...behind]))
  if (call.isSet('use_causal_mask')) {
    const sizes: readonly Size[] = [query.shape[1]!, value.shape[1]!]
    const [rows, columns] = call.fixed(sizes, 'the number of its steps') as [number, number]
    const seen = Array.from({ length: rows * columns }, (_, at) => Number(at % columns <= Math.floor(at / columns)))
    parts.push(call.constant('causal', tensorOf('bool', [rows, columns], seen)))
  }
  const given = call.attentionMask
  if (given !== undefined) {
    const { name, shape } = call.cast(given, 'bool')
    parts.push(shape.length === 3 ? withAxes(name, added) : name)
  }
  return parts.length === 0 ? null : parts.reduce((a, b) => call.emit('And', [a, b]))
}

/** The softmax over the valid scores. */
const softmaxOf = (call: LayerCall, scores: string, shown: string | null): string => {
  const hide = (mask: string) => call.emit('Mul', [call.castTo(call.emit('Not', [mask]), 'f32'), call.scalar(HIDDEN)])
  return call.emit('Softmax', [shown === null ? scores : call.emit('Add', [scores, hide(shown)])], { axis: int(-1) })
}

/** Merges the attended axes into one, and the axes before them into the batch. */
const flattened = (call: LayerCall, value: Value): Value => {
  const rank = value.shape.length
  if (rank < 3) throw call.refuse(`an input has ${rank} axes, not 3.`)
  const plain = { ...value, name: call.last(value), channelsFirst: false }
  if (rank === 3) return plain
  const middle = call.fixed(value.shape.slice(1), 'its shape')
  const axes =
    (call.config.attention_axes ?? null) === null
      ? middle.slice(1).map((_, at) => at + 1)
      : call.axes('attention_axes', rank)
  if (axes.some((axis, at) => axis !== rank - 1 - axes.length + at))
    throw call.refuse('its attention_axes are not the last ones before the channels.')
  const steps = elementsOf(middle.slice(-1 - axes.length, -1)) as number
  const shape = [rank - 2 === axes.length ? value.shape[0]! : 'batch_steps', steps, middle.at(-1)!]
  return call.result(call.reshape(plain.name, [-1, steps, middle.at(-1)!]), shape)
}

const heads = (call: LayerCall, name: string) =>
  call.number(call.layer.className === 'MultiHeadAttention' ? 'num_heads' : name)

/** MultiHeadAttention. In GroupQueryAttention, several query heads share one head of keys and values. */
const multiHeadAttention: Layer = (call) => {
  const inputs = [call.input(0), call.input(1), call.inputs[2] === undefined ? call.input(1) : call.input(2)]
  const [query, value, key] = inputs.map((input) => flattened(call, input)) as [Value, Value, Value]
  if (call.inputs.length > 3)
    throw call.refuse('it is called with more than query, value, and key; name the mask (attention_mask=).')
  if (call.flag('use_gate') || (call.config.sliding_window ?? null) !== null)
    throw call.refuse('it has a gate or a sliding window.')
  const count = heads(call, 'num_query_heads')
  const shared = count / heads(call, 'num_key_value_heads')
  const project = (name: string, number: number, x: Value) => {
    const { kernel, apply } = projection(call, name, name, number)
    const [rows, its, width] = kernel.shape as [number, number, number]
    if (its !== (name === 'query' ? count : count / shared)) throw call.refuse(`its weights are those of ${its} heads.`)
    const split = call.reshape(apply(x.name, rows, its * width), [0, -1, its, width])
    const index = Array.from({ length: count }, (_, head) => Math.floor(head / shared))
    const all = its === count ? split : call.emit('Gather', [split, call.integers(index)], { axis: int(2) })
    return { name: all, width }
  }
  const q = project('query', 0, query)
  const k = project('key', 1, key)
  const v = project('value', 2, value)
  const scaled = call.emit('Mul', [q.name, call.scalar(1 / Math.sqrt(q.width))])
  const product = call.emit('MatMul', [call.transpose(scaled, [0, 2, 1, 3]), call.transpose(k.name, [0, 2, 3, 1])])
  const scores = softmaxOf(call, product, validScores(call, query, value, [1], key))
  const mixed = call.transpose(call.emit('MatMul', [scores, call.transpose(v.name, [0, 2, 1, 3])]), [0, 2, 1, 3])
  const output = projection(call, 'output', 'attention_output', 3)
  const width = output.kernel.shape.at(-1)!
  const flat = output.apply(call.reshape(mixed, [0, -1, count * v.width]), count * v.width, width)
  const shape = [...inputs[0]!.shape.slice(0, -1), width]
  const name = shape.length === 3 ? flat : call.reshape(flat, [-1, ...call.fixed(shape.slice(1), 'its shape')])
  const result = call.result(name, shape, { mask: query.mask })
  if (!call.isSet('return_attention_scores')) return result
  return [result, call.result(scores, [shape[0]!, count, query.shape[1]!, value.shape[1]!])]
}

/** Attention and AdditiveAttention: scores are products of queries and keys, or a scaled sum of tanh(query + key). */
const attention: Layer = (call) => {
  const [query, value] = [call.inputOfRank(3), call.input(1)]
  const key = call.inputs[2] === undefined ? value : call.input(2)
  if (call.text('score_mode', 'dot') !== 'dot')
    throw call.refuse("its score_mode is 'concat'; use 'dot' or AdditiveAttention.")
  const [q, k] = [call.last(query), call.last(key)]
  const weight = call.optionalWeight('scale')
  const scaled = (x: string) =>
    weight === undefined
      ? x
      : call.emit('Mul', [x, call.constant('scale', tensorOf('f32', weight.shape, numbersOf(weight)))])
  const sums = () => scaled(call.emit('Tanh', [call.emit('Add', [call.unsqueeze(q, [2]), call.unsqueeze(k, [1])])]))
  const scores =
    call.layer.className === 'Attention'
      ? scaled(call.emit('MatMul', [q, call.transpose(k, [0, 2, 1])]))
      : call.emit('ReduceSum', [sums(), call.integers([-1])], { keepdims: int(0) })
  const weights = softmaxOf(call, scores, validScores(call, query, value, []))
  const mixed = call.emit('MatMul', [weights, call.last(value)])
  const kept = (mask: string) => call.emit('Mul', [mixed, call.unsqueeze(call.castTo(mask, 'f32'), [2])])
  const shape = [...query.shape.slice(0, 2), value.shape[2]!]
  const result = call.result(query.mask === null ? mixed : kept(query.mask), shape, { mask: query.mask })
  return call.isSet('return_attention_scores')
    ? [result, call.result(weights, [...shape.slice(0, 2), value.shape[1]!])]
    : result
}

export const ATTENTION_LAYERS: Readonly<Record<string, Layer>> = {
  MultiHeadAttention: multiHeadAttention,
  GroupQueryAttention: multiHeadAttention,
  // Its name in HDF5 files.
  GroupedQueryAttention: multiHeadAttention,
  Attention: attention,
  AdditiveAttention: attention,
}
