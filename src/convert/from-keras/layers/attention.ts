// MultiHeadAttention, as Keras computes it: products of heads, a softmax over the values, and a product that joins the heads.
import { int, ints, type OnnxTensor } from '../../onnx/model.ts'
import { numbersOf, tensorOf } from '../../onnx/tensors.ts'
import { type Layer, LayerCall, type Size, type Value } from '../layer-call.ts'

/** What Keras adds where a mask is false. */
const HIDDEN = -1e9

interface Projection {
  readonly kernel: OnnxTensor
  readonly apply: (x: string, rows: number, columns: number) => string
}

/** One of the four products, whose weights Keras has in a layer of their own. */
const projection = (call: LayerCall, name: string, nameInH5: string, number: number): Projection => {
  const { path, names, before } = call.place
  const hasBias = call.flag('use_bias', true)
  const place = {
    path: `${path}/${name}_dense`,
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

/** What is added to the scores [batch, heads, queries, values]; null: nothing. */
const hiddenOf = (call: LayerCall, query: Value, value: Value): string | null => {
  const parts: string[] = []
  const axes = (at: readonly number[]) => call.integers(at)
  if (query.mask !== null) parts.push(call.emit('Unsqueeze', [query.mask, axes([1, 3])]))
  if (value.mask !== null) parts.push(call.emit('Unsqueeze', [value.mask, axes([1, 2])]))
  if (call.isCausal) {
    const sizes: readonly Size[] = [query.shape[1]!, value.shape[1]!]
    const [rows, columns] = call.fixed(sizes, 'the number of its steps') as [number, number]
    const seen = Array.from({ length: rows * columns }, (_, at) => Number(at % columns <= Math.floor(at / columns)))
    parts.push(call.constant('causal', tensorOf('bool', [rows, columns], seen)))
  }
  if (parts.length === 0) return null
  const shown = parts.reduce((a, b) => call.emit('And', [a, b]))
  const hidden = call.emit('Cast', [call.emit('Not', [shown])], { to: int(1) })
  return call.emit('Mul', [hidden, call.scalar(HIDDEN)])
}

const multiHeadAttention: Layer = (call) => {
  const [query, value] = [call.input(0), call.input(1)]
  const key = call.inputs[2] === undefined ? value : call.input(2)
  if (call.inputs.length > 3) throw call.refuse('it is called with an attention mask.')
  if (call.flag('use_gate') || (call.config.sliding_window ?? null) !== null)
    throw call.refuse('it has a gate or a sliding window.')
  if (call.flag('return_attention_scores')) throw call.refuse('it returns its scores.')
  for (const { shape } of [query, value, key])
    if (shape.length !== 3) throw call.refuse(`an input has ${shape.length} axes, not 3.`)
  const heads = call.number('num_heads')
  const project = (name: string, number: number, x: Value) => {
    const { kernel, apply } = projection(call, name, name, number)
    const [rows, count, width] = kernel.shape as [number, number, number]
    if (count !== heads) throw call.refuse(`its weights are those of ${count} heads.`)
    const flat = apply(call.last(x), rows, count * width)
    return { name: call.emit('Reshape', [flat, call.integers([0, -1, count, width])]), width }
  }
  const turned = (name: string, perm: readonly number[]) => call.emit('Transpose', [name], { perm: ints([...perm]) })
  const q = project('query', 0, query)
  const k = project('key', 1, key)
  const v = project('value', 2, value)
  const scale = call.scalar(1 / Math.sqrt(q.width))
  const product = call.emit('MatMul', [
    turned(call.emit('Mul', [q.name, scale]), [0, 2, 1, 3]),
    turned(k.name, [0, 2, 3, 1]),
  ])
  const hidden = hiddenOf(call, query, value)
  const scores = call.emit('Softmax', [hidden === null ? product : call.emit('Add', [product, hidden])], {
    axis: int(-1),
  })
  const mixed = turned(call.emit('MatMul', [scores, turned(v.name, [0, 2, 1, 3])]), [0, 2, 1, 3])
  const output = projection(call, 'output', 'attention_output', 3)
  const width = output.kernel.shape[2]!
  const joined = call.emit('Reshape', [mixed, call.integers([0, -1, heads * v.width])])
  const name = output.apply(joined, heads * v.width, width)
  return call.result(name, [...query.shape.slice(0, 2), width], { mask: query.mask })
}

export const ATTENTION_LAYERS: Readonly<Record<string, Layer>> = { MultiHeadAttention: multiHeadAttention }
