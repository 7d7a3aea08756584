// Runs the operators that the converters of classical models write, in float64: for tests, slow and plain.
import type { Attribute, OnnxGraph, OnnxModel, OnnxNode } from './model.ts'
import { attributeOf } from './model.ts'
import { numbersOf } from './tensors.ts'

export interface Value {
  readonly shape: readonly number[]
  readonly data: readonly (number | string)[]
}

const size = (shape: readonly number[]): number => shape.reduce((product, n) => product * n, 1)
const numbers = (value: Value): readonly number[] => value.data as readonly number[]

const stridesOf = (shape: readonly number[]): number[] => shape.map((_, axis) => size(shape.slice(axis + 1)))

/** The shape that both broadcast to, and a function from an index in it to one in `shape`. */
const broadcast = (...shapes: (readonly number[])[]) => {
  const rank = Math.max(...shapes.map((shape) => shape.length))
  const padded = shapes.map((shape) => [...Array<number>(rank - shape.length).fill(1), ...shape])
  const out = Array.from({ length: rank }, (_, axis) => {
    const sizes = padded.map((shape) => shape[axis]!)
    return sizes.find((n) => n !== 1) ?? 1
  })
  const steps = stridesOf(out)
  const at = padded.map((shape) => {
    const strides = stridesOf(shape)
    return (index: number) =>
      out.reduce((sum, n, axis) => {
        if (shape[axis] !== 1 && shape[axis] !== n) throw new Error(`${shapes.join(' and ')} do not broadcast`)
        return sum + (shape[axis] === 1 ? 0 : (Math.floor(index / steps[axis]!) % n) * strides[axis]!)
      }, 0)
  })
  return { out, at }
}

const elementwise = (inputs: readonly Value[], apply: (...values: never[]) => number | string): Value => {
  const { out, at } = broadcast(...inputs.map(({ shape }) => shape))
  const data = Array.from({ length: size(out) }, (_, i) =>
    apply(...(inputs.map((input, n) => input.data[at[n]!(i)]) as never[])),
  )
  return { shape: out, data }
}

const ELEMENTWISE: Record<string, (...values: number[]) => number | string> = {
  Add: (a, b) => a! + b!,
  Sub: (a, b) => a! - b!,
  Mul: (a, b) => a! * b!,
  Div: (a, b) => a! / b!,
  Pow: (a, b) => a! ** b!,
  Max: (...all) => Math.max(...all),
  Min: (...all) => Math.min(...all),
  Greater: (a, b) => Number(a! > b!),
  GreaterOrEqual: (a, b) => Number(a! >= b!),
  Less: (a, b) => Number(a! < b!),
  LessOrEqual: (a, b) => Number(a! <= b!),
  Equal: (a, b) => Number(a === b),
  And: (a, b) => Number(a && b),
  Or: (a, b) => Number(a || b),
  Not: (a) => Number(!a),
  Where: (condition, a, b) => (condition ? a! : b!),
  Exp: (a) => Math.exp(a!),
  Log: (a) => Math.log(a!),
  Sqrt: (a) => Math.sqrt(a!),
  Neg: (a) => -a!,
  Abs: (a) => Math.abs(a!),
  Tanh: (a) => Math.tanh(a!),
  Relu: (a) => Math.max(0, a!),
  Sigmoid: (a) => 1 / (1 + Math.exp(-a!)),
  IsNaN: (a) => Number(Number.isNaN(a)),
  Identity: (a) => a!,
}

/** Rows along an axis: their indices in the data. */
const along = (shape: readonly number[], asked: number): number[][] => {
  const axis = asked < 0 ? asked + shape.length : asked
  const step = stridesOf(shape)[axis]!
  const rows: number[][] = []
  for (let i = 0; i < size(shape); i++) {
    if (Math.floor(i / step) % shape[axis]! === 0)
      rows.push(Array.from({ length: shape[axis]! }, (_, k) => i + k * step))
  }
  return rows
}

const reduced = (input: Value, axis: number, keep: boolean, apply: (row: number[]) => number): Value => {
  const positive = axis < 0 ? axis + input.shape.length : axis
  const shape = keep ? input.shape.with(positive, 1) : input.shape.filter((_, at) => at !== positive)
  return { shape, data: along(input.shape, axis).map((row) => apply(row.map((i) => numbers(input)[i]!))) }
}

const REDUCE: Record<string, (row: number[]) => number> = {
  ReduceSum: (row) => row.reduce((sum, value) => sum + value, 0),
  ReduceSumSquare: (row) => row.reduce((sum, value) => sum + value * value, 0),
  ReduceMax: (row) => Math.max(...row),
  ReduceMin: (row) => Math.min(...row),
  ReduceMean: (row) => row.reduce((sum, value) => sum + value, 0) / row.length,
}

const softmax = (input: Value, axis: number): Value => {
  const data = [...numbers(input)]
  for (const row of along(input.shape, axis)) {
    const top = Math.max(...row.map((i) => data[i]!))
    const sum = row.reduce((total, i) => total + Math.exp(data[i]! - top), 0)
    for (const i of row) data[i] = Math.exp(data[i]! - top) / sum
  }
  return { shape: input.shape, data }
}

const matMul = (a: Value, b: Value, alongB = false): Value => {
  const [rows, inner] = a.shape as [number, number]
  const columns = b.shape[alongB ? 0 : 1]!
  if (b.shape[alongB ? 1 : 0] !== inner) throw new Error(`[${a.shape}] and [${b.shape}] do not multiply`)
  const data = Array.from({ length: rows * columns }, (_, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns]
    let sum = 0
    for (let k = 0; k < inner; k++)
      sum += numbers(a)[row * inner + k]! * numbers(b)[alongB ? column * inner + k : k * columns + column]!
    return sum
  })
  return { shape: [rows, columns], data }
}

const gather = (input: Value, indices: Value, axis: number): Value => {
  const shape = [...input.shape.slice(0, axis), ...indices.shape, ...input.shape.slice(axis + 1)]
  const inner = size(input.shape.slice(axis + 1))
  const data: (number | string)[] = []
  for (let outer = 0; outer < size(input.shape.slice(0, axis)); outer++)
    for (const index of numbers(indices))
      for (let i = 0; i < inner; i++) data.push(input.data[(outer * input.shape[axis]! + index) * inner + i]!)
  return { shape, data }
}

const concat = (inputs: readonly Value[], asked: number): Value => {
  const axis = asked < 0 ? asked + inputs[0]!.shape.length : asked
  const shape = inputs[0]!.shape.with(
    axis,
    inputs.reduce((sum, input) => sum + input.shape[axis]!, 0),
  )
  const data: (number | string)[] = []
  for (let outer = 0; outer < size(shape.slice(0, axis)); outer++)
    for (const input of inputs) {
      const part = size(input.shape.slice(axis))
      data.push(...input.data.slice(outer * part, (outer + 1) * part))
    }
  return { shape, data }
}

const transpose = (input: Value, perm: readonly number[]): Value => {
  const shape = perm.map((axis) => input.shape[axis]!)
  const strides = stridesOf(input.shape)
  const steps = stridesOf(shape)
  const data = Array.from(
    { length: size(shape) },
    (_, i) =>
      input.data[perm.reduce((sum, axis, n) => sum + (Math.floor(i / steps[n]!) % shape[n]!) * strides[axis]!, 0)]!,
  )
  return { shape, data }
}

const topK = (input: Value, k: number, largest: boolean): Value[] => {
  const rows = along(input.shape, -1).map((row) =>
    row
      .map((i, at) => [numbers(input)[i]!, at] as const)
      .sort((a, b) => (largest ? b[0] - a[0] : a[0] - b[0]) || a[1] - b[1])
      .slice(0, k),
  )
  const shape = input.shape.with(-1, k)
  return [0, 1].map((n) => ({ shape, data: rows.flatMap((row) => row.map((pair) => pair[n]!)) }))
}

const attribute = (node: OnnxNode, name: string): readonly number[] =>
  (node.attributes[name] as Extract<Attribute, { kind: 'ints' | 'floats' }> | undefined)?.value ?? []

/** TreeEnsembleRegressor of ai.onnx.ml 3 that adds up. Thresholds are float32, as in the file. */
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
      const asked = numbers(b).map((n, at) => (n === 0 ? a.shape[at]! : n))
      const rest = a.data.length / -size(asked)
      return [{ shape: asked.map((n) => (n === -1 ? rest : n)), data: a.data }]
    }
    case 'Unsqueeze':
      return [
        {
          shape: numbers(b).reduce<readonly number[]>((shape, at) => shape.toSpliced(at, 0, 1), a.shape),
          data: a.data,
        },
      ]
    case 'TopK':
      return topK(a, numbers(b)[0]!, attributeOf(node, 'largest', 'int', 1) === 1)
    case 'CumSum': {
      const data = [...numbers(a)]
      for (const row of along(a.shape, numbers(b)[0]!))
        for (const [n, i] of row.entries()) if (n > 0) data[i]! += data[row[n - 1]!]!
      return [{ shape: a.shape, data }]
    }
    case 'Pad': {
      // One column of a constant at the end.
      const column = { shape: [a.shape[0]!, 1], data: Array.from({ length: a.shape[0]! }, () => c.data[0]!) }
      return [concat([a, column], 1)]
    }
    case 'LabelEncoder': {
      const keys: readonly string[] = attributeOf(node, 'keys_strings', 'strings', [])
      return [{ shape: a.shape, data: a.data.map((value) => keys.indexOf(value as string)) }]
    }
    case 'TreeEnsembleRegressor':
      return [treeEnsemble(node, a)]
    default:
      throw new Error(`The operator ${node.type} is not evaluated here.`)
  }
}

/** A loop with one value, which ends by a condition or after so many rounds. */
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

/** The model's outputs by name. */
export const evaluate = ({ graph }: OnnxModel, inputs: Readonly<Record<string, Value>>): Record<string, Value> => {
  const values = new Map(Object.entries(inputs))
  runGraph(graph, values)
  return Object.fromEntries(graph.outputs.map(({ name }) => [name, values.get(name)!]))
}
