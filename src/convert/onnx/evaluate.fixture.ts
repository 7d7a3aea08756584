// Runs the operators written by the converters of classical models, in float64: slow and simple, for tests.
import {
  along,
  concat,
  ELEMENTWISE,
  elementwise,
  gather,
  matMul,
  numbers,
  REDUCE,
  reduced,
  size,
  softmax,
  topK,
  transpose,
  type Value,
} from './evaluate-operators.fixture.ts'
import type { Attribute, OnnxGraph, OnnxModel, OnnxNode } from './model.ts'
import { attributeOf } from './model.ts'
import { numbersOf } from './tensors.ts'

const attribute = (node: OnnxNode, name: string): readonly number[] =>
  (node.attributes[name] as Extract<Attribute, { kind: 'ints' | 'floats' }> | undefined)?.value ?? []

/** TreeEnsembleRegressor of ai.onnx.ml 3 with sums. Thresholds are float32, as in the file. */
const treeEnsemble = (node: OnnxNode, input: Value): Value => {
  const list = (name: string) => attribute(node, `nodes_${name}`)
  const [trees, ids, features, values] = [list('treeids'), list('nodeids'), list('featureids'), list('values')]
  const [whenTrue, whenFalse, missing] = [list('truenodeids'), list('falsenodeids'), list('missing_value_tracks_true')]
  const modes = attributeOf(node, 'nodes_modes', 'strings', [])
  const at = new Map(ids.map((id, i) => [`${trees[i]} ${id}`, i]))
  const leaves = new Map<string, [number, number][]>()
  for (const [i, id] of attribute(node, 'target_nodeids').entries()) {
    const key = `${attribute(node, 'target_treeids')[i]} ${id}`
    leaves.set(key, [
      ...(leaves.get(key) ?? []),
      [attribute(node, 'target_ids')[i]!, attribute(node, 'target_weights')[i]!],
    ])
  }
  const targets = attributeOf(node, 'n_targets', 'int', 1)
  const base = attribute(node, 'base_values')
  const [rows, columns] = input.shape as [number, number]
  const compare: Record<string, (x: number, t: number) => boolean> = {
    BRANCH_LEQ: (x, t) => x <= t,
    BRANCH_LT: (x, t) => x < t,
    BRANCH_EQ: (x, t) => x === t,
  }
  const data = Array.from({ length: rows * targets }, (_, i) => base[i % targets] ?? 0)
  for (let row = 0; row < rows; row++)
    for (const tree of new Set(trees)) {
      let i = at.get(`${tree} 0`)!
      while (modes[i] !== 'LEAF') {
        const x = numbers(input)[row * columns + features[i]!]!
        const yes = Number.isNaN(x) ? missing[i] === 1 : compare[modes[i]!]!(x, Math.fround(values[i]!))
        i = at.get(`${tree} ${yes ? whenTrue[i] : whenFalse[i]}`)!
      }
      for (const [target, weight] of leaves.get(`${tree} ${ids[i]}`)!) data[row * targets + target]! += weight
    }
  return { shape: [rows, targets], data }
}

const cast = (input: Value, to: number): Value => {
  const convert: Record<number, (value: number) => number | string> = {
    1: Math.fround,
    7: Math.trunc,
    8: String,
    9: (v) => Number(v !== 0),
    11: Number,
  }
  return { shape: input.shape, data: input.data.map((value) => convert[to]!(value as number)) }
}

const run = (node: OnnxNode, inputs: readonly Value[]): readonly Value[] => {
  const [a, b, c] = inputs as [Value, Value, Value]
  const axis = attributeOf(node, 'axis', 'int', 0)
  const keep = attributeOf(node, 'keepdims', 'int', 1) === 1
  if (Object.hasOwn(ELEMENTWISE, node.type)) return [elementwise(inputs, ELEMENTWISE[node.type]!)]
  if (Object.hasOwn(REDUCE, node.type)) {
    const axes =
      node.type === 'ReduceSum' ? numbers(b) : attribute(node, 'axes').length > 0 ? attribute(node, 'axes') : numbers(b)
    return [reduced(a, axes[0]!, keep, REDUCE[node.type]!)]
  }
  switch (node.type) {
    case 'MatMul':
      return [matMul(a, b)]
    case 'Gemm': {
      const product = matMul(a, b, attributeOf(node, 'transB', 'int', 0) === 1)
      return [c === undefined ? product : elementwise([product, c], ELEMENTWISE.Add!)]
    }
    case 'Cast':
      return [cast(a, attributeOf(node, 'to', 'int', 1))]
    case 'Softmax':
      return [softmax(a, attributeOf(node, 'axis', 'int', -1))]
    case 'ArgMax':
      return [reduced(a, axis, keep, (row) => row.indexOf(Math.max(...row)))]
    case 'ArgMin':
      return [reduced(a, axis, keep, (row) => row.indexOf(Math.min(...row)))]
    case 'Gather':
      return [gather(a, b, axis)]
    case 'GatherElements':
      return [
        {
          shape: b.shape,
          data: numbers(b).map((index, i) => a.data[Math.floor(i / b.shape[1]!) * a.shape[1]! + index]!),
        },
      ]
    case 'Concat':
      return [concat(inputs, axis)]
    case 'Transpose':
      return [transpose(a, attribute(node, 'perm'))]
    case 'Reshape': {
      const requested = numbers(b).map((n, at) => (n === 0 ? a.shape[at]! : n))
      const rest = a.data.length / -size(requested)
      return [{ shape: requested.map((n) => (n === -1 ? rest : n)), data: a.data }]
    }
    case 'Unsqueeze':
      return [
        {
          shape: numbers(b).reduce<readonly number[]>((shape, at) => shape.toSpliced(at, 0, 1), a.shape),
          data: a.data,
        },
      ]
    case 'TopK':
      return topK(a, numbers(b)[0]!, attributeOf(node, 'largest', 'int', 1) === 1, attributeOf(node, 'axis', 'int', -1))
    case 'CumSum': {
      const data = [...numbers(a)]
      for (const row of along(a.shape, numbers(b)[0]!))
        for (const [n, i] of row.entries()) if (n > 0) data[i]! += data[row[n - 1]!]!
      return [{ shape: a.shape, data }]
    }
    case 'Pad': {
      // Appends a constant column.
      const column = { shape: [a.shape[0]!, 1], data: Array.from({ length: a.shape[0]! }, () => c.data[0]!) }
      return [concat([a, column], 1)]
    }
    case 'LabelEncoder': {
      const keys: readonly string[] = attributeOf(node, 'keys_strings', 'strings', [])
      return [{ shape: a.shape, data: a.data.map((value) => keys.indexOf(value as string)) }]
    }
    case 'StringNormalizer':
      return [{ shape: a.shape, data: a.data.map((value) => String(value).toLowerCase()) }]
    case 'Tokenizer':
      return [words(a, new RegExp(attributeOf(node, 'tokenexp', 'string', ''), 'gu'))]
    case 'TfIdfVectorizer':
      return [grams(node, a)]
    case 'TreeEnsembleRegressor':
      return [treeEnsemble(node, a)]
    default:
      throw new Error(`The operator ${node.type} is not evaluated here.`)
  }
}

/** The words of two or more letters in each text, padded with '#'. */
const words = ({ data }: Value, pattern: RegExp): Value => {
  const rows = data.map((value) => (String(value).match(pattern) ?? []).filter((word) => word.length > 1))
  const width = Math.max(...rows.map((row) => row.length))
  const padded = rows.flatMap((row) => [...row, ...Array<string>(width - row.length).fill('#')])
  return { shape: [rows.length, width], data: padded }
}

/** Counts how often the n-grams of the pool occur in each row. */
const grams = (node: OnnxNode, { shape, data }: Value): Value => {
  const starts = [...attributeOf(node, 'ngram_counts', 'ints', []), Number.POSITIVE_INFINITY]
  const pool = attributeOf(node, 'pool_strings', 'strings', [])
  const columns = attributeOf(node, 'ngram_indexes', 'ints', [])
  const width = shape[1]!
  const counts = Array.from({ length: shape[0]! }, () => Array<number>(columns.length).fill(0))
  let at = 0
  for (const column of columns) {
    const size = starts.findLastIndex((start) => start <= at) + 1
    const gram = pool.slice(at, at + size)
    at += size
    for (const [row, own] of counts.entries())
      for (let from = row * width; from + size <= (row + 1) * width; from++)
        if (gram.every((word, k) => data[from + k] === word)) own[column]! += 1
  }
  return { shape: [counts.length, columns.length], data: counts.flat() }
}

/** A loop with one value, which ends by a condition or after a number of iterations. */
const runLoop = (node: OnnxNode, values: ReadonlyMap<string, Value>): Value => {
  const body = attributeOf(node, 'body', 'graph', null)!
  const [rounds, , start] = node.inputs.map((name) => values.get(name)!)
  const [, goesOn, next] = [null, ...body.outputs.map(({ name }) => name)]
  let value = start!
  for (let round = 0; round < numbers(rounds!)[0]!; round++) {
    const own = new Map(values).set(body.inputs[2]!.name, value)
    runGraph(body, own)
    value = own.get(next!)!
    if (own.get(goesOn!)!.data[0] === 0) break
  }
  return value
}

const runGraph = (graph: OnnxGraph, values: Map<string, Value>): void => {
  const utf8 = new TextDecoder()
  for (const [name, tensor] of graph.initializers) {
    const data = tensor.type === 'string' ? tensor.strings!.map((text) => utf8.decode(text)) : [...numbersOf(tensor)]
    values.set(name, { shape: tensor.shape, data })
  }
  for (const node of graph.nodes) {
    const inputs = node.inputs.map((name) => values.get(name)!)
    const outputs = node.type === 'Loop' ? [runLoop(node, values)] : run(node, inputs)
    for (const [at, name] of node.outputs.entries()) values.set(name, outputs[at]!)
  }
}

/** Computes the model's outputs by name. */
export const evaluate = ({ graph }: OnnxModel, inputs: Readonly<Record<string, Value>>): Record<string, Value> => {
  const values = new Map(Object.entries(inputs))
  runGraph(graph, values)
  return Object.fromEntries(graph.outputs.map(({ name }) => [name, values.get(name)!]))
}
