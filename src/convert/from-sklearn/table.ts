import type { GraphBuilder } from '../onnx/graph-builder.ts'
import { type Attribute, int, ints, texts } from '../onnx/model.ts'
import { scalarOf, tensorOf } from '../onnx/tensors.ts'

export type ColumnType = 'f32' | 'f64' | 'string'

/** Rows of data in the graph: one value of shape [batch, columns], or one of shape [batch, 1] per column. */
export interface Table {
  readonly columns: number
  readonly whole: { readonly name: string; readonly type: ColumnType } | null
  readonly each: readonly { readonly name: string; readonly type: ColumnType }[]
}

/**
 * Builds the arithmetic of estimators. As in scikit-learn, numbers are float64 internally and become float32 where it does
 * so (trees) and for the outputs.
 */
export class TableGraph {
  readonly graph: GraphBuilder
  readonly #prefix: string

  /** Names inside a loop have a prefix, because they must differ from names outside. */
  constructor(graph: GraphBuilder, prefix = '') {
    this.graph = graph
    this.#prefix = prefix
  }

  node(type: string, inputs: readonly string[], attributes: Readonly<Record<string, Attribute>> = {}): string {
    return this.graph.node(type, inputs, attributes, { output: this.#prefix + type.toLowerCase() })
  }

  /** A float64 constant, which broadcasts to any shape. */
  scalar(value: number): string {
    return this.graph.constant(`${this.#prefix}value`, scalarOf('f64', value))
  }

  vector(values: ArrayLike<number>, name = 'vector'): string {
    return this.graph.constant(name, tensorOf('f64', [values.length], values))
  }

  matrix(rows: number, columns: number, values: ArrayLike<number>, name = 'matrix'): string {
    return this.graph.constant(name, tensorOf('f64', [rows, columns], values))
  }

  integers(values: readonly number[]): string {
    return this.graph.constant(`${this.#prefix}index`, tensorOf('i64', [values.length], values))
  }

  add = (a: string, b: string): string => this.node('Add', [a, b])
  subtract = (a: string, b: string): string => this.node('Sub', [a, b])
  multiply = (a: string, b: string): string => this.node('Mul', [a, b])
  divide = (a: string, b: string): string => this.node('Div', [a, b])

  clipped(x: string, low: number, high: number): string {
    return this.node('Max', [this.node('Min', [x, this.scalar(high)]), this.scalar(low)])
  }

  /** x times the transpose of a constant matrix given by its rows, [outputs, inputs]. */
  timesTransposed(x: string, outputs: number, inputs: number, rows: ArrayLike<number>): string {
    const transposed = new Float64Array(outputs * inputs)
    for (let out = 0; out < outputs; out++)
      for (let from = 0; from < inputs; from++) transposed[from * outputs + out] = rows[out * inputs + from]!
    return this.node('MatMul', [x, this.matrix(inputs, outputs, transposed, 'weights')])
  }

  /** The sum along an axis, which keeps size 1 if `keep` is set. */
  sum(x: string, axis: number, keep = true): string {
    return this.node('ReduceSum', [x, this.integers([axis])], { keepdims: int(keep ? 1 : 0) })
  }

  /** Reshapes [batch, 1] or [batch, 1, 1] to [batch]. */
  flat(x: string): string {
    return this.node('Reshape', [x, this.integers([-1])])
  }

  gather(x: string, indices: readonly number[], axis = 1): string {
    return this.node('Gather', [x, this.integers(indices)], { axis: int(axis) })
  }

  concat(parts: readonly string[], axis = 1): string {
    return parts.length === 1 ? parts[0]! : this.node('Concat', parts, { axis: int(axis) })
  }

  softmax(x: string): string {
    return this.node('Softmax', [x], { axis: int(1) })
  }

  /** The index of the largest element of each row, [batch]; the first one of ties. */
  argMax(x: string): string {
    return this.node('ArgMax', [x], { axis: int(1), keepdims: int(0) })
  }

  cast(x: string, type: 'f32' | 'f64' | 'i64' | 'bool'): string {
    return this.node('Cast', [x], { to: int({ f32: 1, f64: 11, i64: 7, bool: 9 }[type]) })
  }

  /** The position of each string in a list; -1 if it is not in the list. */
  numbered(x: string, list: readonly string[]): string {
    const attributes = { keys_strings: texts(list), values_int64s: ints(list.keys()), default_int64: int(-1) }
    return this.graph.node('LabelEncoder', [x], attributes, { domain: 'ai.onnx.ml', output: 'category' })
  }

  /** Converts a boolean to 0 or 1 of float64. */
  indicator(condition: string): string {
    return this.cast(condition, 'f64')
  }

  /** Converts [p] to [1 - p, p]. */
  twoClasses(positive: string): string {
    return this.concat([this.subtract(this.scalar(1), positive), positive])
  }

  table(name: string, type: ColumnType, columns: number): Table {
    return { columns, whole: { name, type }, each: [] }
  }

  /** The table as one value of this type, [batch, columns]. Leaves strings unchanged: they are checked when inputs are made. */
  as(table: Table, type: ColumnType): string {
    const parts = table.whole === null ? table.each : [table.whole]
    const wide = parts.map((part) =>
      part.type === type || part.type === 'string' ? part.name : this.cast(part.name, type as 'f32'),
    )
    return this.concat(wide)
  }

  /** float32 if all columns are, as when NumPy concatenates them. */
  typeOf(table: Table): ColumnType {
    const types = (table.whole === null ? table.each : [table.whole]).map(({ type }) => type)
    return types.find((type) => type !== 'f32') ?? 'f32'
  }

  /**
   * Steps that NumPy computes in place: in float64, each rounded to the table's type, so that a forest after a scaler gets
   * the same numbers to the last bit.
   */
  inPlace(table: Table, steps: readonly ((x: string) => string)[]): Table {
    const type = this.typeOf(table)
    let whole = { name: this.as(table, type), type }
    for (const step of steps) {
      const name = step(type === 'f32' ? this.cast(whole.name, 'f64') : whole.name)
      whole = { name: type === 'f32' ? this.cast(name, 'f32') : name, type }
    }
    return { columns: table.columns, whole, each: [] }
  }

  /** The columns of these indices. */
  select(table: Table, indices: readonly number[]): Table {
    if (table.whole === null)
      return { columns: indices.length, whole: null, each: indices.map((index) => table.each[index]!) }
    if (indices.length === table.columns && indices.every((index, at) => index === at)) return table
    return this.table(this.gather(table.whole.name, indices), table.whole.type, indices.length)
  }
}
