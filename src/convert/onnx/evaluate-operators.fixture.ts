// Operators over plain arrays in float64.
export interface Value {
  readonly shape: readonly number[]
  readonly data: readonly (number | string)[]
}

export const size = (shape: readonly number[]): number => shape.reduce((product, n) => product * n, 1)
export const numbers = (value: Value): readonly number[] => value.data as readonly number[]

const stridesOf = (shape: readonly number[]): number[] => shape.map((_, axis) => size(shape.slice(axis + 1)))

/** The common shape after broadcasting, and a function from an index in it to one in `shape`. */
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

export const elementwise = (inputs: readonly Value[], apply: (...values: never[]) => number | string): Value => {
  const { out, at } = broadcast(...inputs.map(({ shape }) => shape))
  const data = Array.from({ length: size(out) }, (_, i) =>
    apply(...(inputs.map((input, n) => input.data[at[n]!(i)]) as never[])),
  )
  return { shape: out, data }
}

export const ELEMENTWISE: Record<string, (...values: number[]) => number | string> = {
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

/** The rows along an axis, as indices in the data. */
export const along = (shape: readonly number[], requested: number): number[][] => {
  const axis = requested < 0 ? requested + shape.length : requested
  const step = stridesOf(shape)[axis]!
  const rows: number[][] = []
  for (let i = 0; i < size(shape); i++) {
    if (Math.floor(i / step) % shape[axis]! === 0)
      rows.push(Array.from({ length: shape[axis]! }, (_, k) => i + k * step))
  }
  return rows
}

export const reduced = (input: Value, axis: number, keep: boolean, apply: (row: number[]) => number): Value => {
  const positive = axis < 0 ? axis + input.shape.length : axis
  const shape = keep ? input.shape.with(positive, 1) : input.shape.filter((_, at) => at !== positive)
  return { shape, data: along(input.shape, axis).map((row) => apply(row.map((i) => numbers(input)[i]!))) }
}

export const REDUCE: Record<string, (row: number[]) => number> = {
  ReduceSum: (row) => row.reduce((sum, value) => sum + value, 0),
  ReduceSumSquare: (row) => row.reduce((sum, value) => sum + value * value, 0),
  ReduceMax: (row) => Math.max(...row),
  ReduceMin: (row) => Math.min(...row),
  ReduceMean: (row) => row.reduce((sum, value) => sum + value, 0) / row.length,
}

export const softmax = (input: Value, axis: number): Value => {
  const data = [...numbers(input)]
  for (const row of along(input.shape, axis)) {
    const top = Math.max(...row.map((i) => data[i]!))
    const sum = row.reduce((total, i) => total + Math.exp(data[i]! - top), 0)
    for (const i of row) data[i] = Math.exp(data[i]! - top) / sum
  }
  return { shape: input.shape, data }
}

export const matMul = (a: Value, b: Value, alongB = false): Value => {
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

export const gather = (input: Value, indices: Value, axis: number): Value => {
  const shape = [...input.shape.slice(0, axis), ...indices.shape, ...input.shape.slice(axis + 1)]
  const inner = size(input.shape.slice(axis + 1))
  const data: (number | string)[] = []
  for (let outer = 0; outer < size(input.shape.slice(0, axis)); outer++)
    for (const index of numbers(indices))
      for (let i = 0; i < inner; i++) data.push(input.data[(outer * input.shape[axis]! + index) * inner + i]!)
  return { shape, data }
}

export const concat = (inputs: readonly Value[], requested: number): Value => {
  const axis = requested < 0 ? requested + inputs[0]!.shape.length : requested
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

export const transpose = (input: Value, perm: readonly number[]): Value => {
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

export const topK = (input: Value, k: number, largest: boolean, axis: number): Value[] => {
  if (axis === 0 && input.shape.length === 2)
    return topK(transpose(input, [1, 0]), k, largest, -1).map((value) => transpose(value, [1, 0]))
  const rows = along(input.shape, -1).map((row) =>
    row
      .map((i, at) => [numbers(input)[i]!, at] as const)
      .sort((a, b) => (largest ? b[0] - a[0] : a[0] - b[0]) || a[1] - b[1])
      .slice(0, k),
  )
  const shape = input.shape.with(-1, k)
  return [0, 1].map((n) => ({ shape, data: rows.flatMap((row) => row.map((pair) => pair[n]!)) }))
}
