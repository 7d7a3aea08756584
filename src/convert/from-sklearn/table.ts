import type { GraphBuilder } from '../onnx/graph-builder.ts'
import { type Attribute, int, ints, texts } from '../onnx/model.ts'
import { scalarOf, tensorOf } from '../onnx/tensors.ts'

export type ColumnType = 'f32' | 'f64' | 'string'

/** Rows of data in the graph: one value of shape [batch, columns], or one of shape [batch, 1] for each column. */
export interface Table {
  readonly columns: number
  readonly whole: { readonly name: string; readonly type: ColumnType } | null
  readonly each: readonly { readonly name: string; readonly type: ColumnType }[]
}

/**
 * Writes the arithmetic of estimators. As in scikit-learn numbers are float64 inside, and converted to float32 where it
 * does so (trees) and for the outputs.
 */
export class TableGraph {
  readonly graph: GraphBuilder
  readonly #prefix: string

  /** Names inside of a loop have a prefix, because they may not be those of values outside. */
  constructor(graph: GraphBuilder, prefix = '') {
    this.graph = graph
    this.#prefix = prefix
  }

  node(type: string, inputs: readonly string[], attributes: Readonly<Record<string, Attribute>> = {}): string {
    return this.graph.node(type, inputs, attributes, { output: this.#prefix + type.toLowerCase() })
  }

  /** Constants of float64. A scalar broadcasts to anything. */
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

  /** Rows times the columns of a constant that is given by its rows, [outputs, inputs]. */
  timesTransposed(x: string, outputs: number, inputs: number, rows: ArrayLike<number>): string {
    const transposed = new Float64Array(outputs * inputs)
    for (let out = 0; out < outputs; out++)
      for (let from = 0; from < inputs; from++) transposed[from * outputs + out] = rows[out * inputs + from]!
    return this.node('MatMul', [x, this.matrix(inputs, outputs, transposed, 'weights')])
  }

  /** Sum, mean or so along an axis, which is kept with size 1 where asked. */
  sum(x: string, axis: number, keep = true): string {
    return this.node('ReduceSum', [x, this.integers([axis])], { keepdims: int(keep ? 1 : 0) })
  }

  /** [batch, 1] or [batch, 1, 1] to [batch]. */
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

  /** Index of the largest of each row, [batch]; the first of equal ones. */
  argMax(x: string): string {
    return this.node('ArgMax', [x], { axis: int(1), keepdims: int(0) })
  }

  cast(x: string, type: 'f32' | 'f64' | 'i64' | 'bool'): string {
    return this.node('Cast', [x], { to: int({ f32: 1, f64: 11, i64: 7, bool: 9 }[type]) })
  }

  /** The position of texts in a list; -1 of those that are not in it. */
  numbered(x: string, list: readonly string[]): string {
    const attributes = { keys_strings: texts(list), values_int64s: ints(list.keys()), default_int64: int(-1) }
    return this.graph.node('LabelEncoder', [x], attributes, { domain: 'ai.onnx.ml', output: 'category' })
  }

  /** A truth value as 0 or 1 of float64. */
  indicator(condition: string): string {
    return this.cast(condition, 'f64')
  }

  /** [p] to [1 - p, p]. */
  twoClasses(positive: string): string {
    return this.concat([this.subtract(this.scalar(1), positive), positive])
  }

  table(name: string, type: ColumnType, columns: number): Table {
    return { columns, whole: { name, type }, each: [] }
  }

  /** The table as one value of this type, [batch, columns]. Throws nothing: texts are checked when inputs are made. */
  as(table: Table, type: ColumnType): string {
    const parts = table.whole === null ? table.each : [table.whole]
    const wide = parts.map((part) =>
      part.type === type || part.type === 'string' ? part.name : this.cast(part.name, type as 'f32'),
    )
    return this.concat(wide)
  }

  /** float32 where all columns are, as NumPy has it for what it puts together. */
  typeOf(table: Table): ColumnType {
    const types = (table.whole === null ? table.each : [table.whole]).map(({ type }) => type)
    return types.find((type) => type !== 'f32') ?? 'f32'
  }

  /**
   * Steps that NumPy computes in place: in float64, each rounded to the type that the table has. A forest behind a scaler
   * sees the same numbers then, down to the last bit.
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
