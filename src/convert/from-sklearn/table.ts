import { OnnxEmitter } from '../onnx/emitter.ts'
import type { GraphBuilder } from '../onnx/graph-builder.ts'
import { int, ints, texts } from '../onnx/model.ts'
import { scalarOf, tensorOf } from '../onnx/tensors.ts'
import type { Estimator } from './estimator.ts'

export type ColumnType = 'f32' | 'f64' | 'string'

/** Rows of data in the graph: one value of shape [batch, columns], or one of shape [batch, 1] per column. */
export interface Table {
  readonly columns: number
  readonly whole: { readonly name: string; readonly type: ColumnType } | null
  readonly each: readonly { readonly name: string; readonly type: ColumnType }[]
}

const partsOf = ({ whole, each }: Table): Table['each'] => (whole === null ? each : [whole])

/**
 * Builds the arithmetic of estimators. As in scikit-learn, numbers are float64 internally and become float32 where it does
 * so (trees) and for the outputs.
 */
export class TableGraph extends OnnxEmitter {
  readonly #prefix: string

  /** Names inside a loop have a prefix, because they must differ from names outside. */
  constructor(builder: GraphBuilder, prefix = '') {
    super(builder)
    this.#prefix = prefix
  }

  protected override outputName(type: string): string {
    return this.#prefix + type.toLowerCase()
  }

  protected override constantName(kind: 'value' | 'sizes'): string {
    return this.#prefix + (kind === 'sizes' ? 'index' : kind)
  }

  /** A float64 constant, which broadcasts to any shape. */
  scalar(value: number): string {
    return this.builder.constant(this.constantName('value'), scalarOf('f64', value))
  }

  vector(values: ArrayLike<number>, name = 'vector'): string {
    return this.builder.constant(name, tensorOf('f64', [values.length], values))
  }

  matrix(rows: number, columns: number, values: ArrayLike<number>, name = 'matrix'): string {
    return this.builder.constant(name, tensorOf('f64', [rows, columns], values))
  }

  add = (a: string, b: string): string => this.emit('Add', [a, b])
  subtract = (a: string, b: string): string => this.emit('Sub', [a, b])
  multiply = (a: string, b: string): string => this.emit('Mul', [a, b])
  divide = (a: string, b: string): string => this.emit('Div', [a, b])

  /** Whether each element is greater than a number. */
  over(x: string, limit: number): string {
    return this.emit('Greater', [x, this.scalar(limit)])
  }

  clipped(x: string, low: number, high: number): string {
    return this.emit('Max', [this.emit('Min', [x, this.scalar(high)]), this.scalar(low)])
  }

  /** x times the transpose of a constant matrix given by its rows, [outputs, inputs]. */
  timesTransposed(x: string, outputs: number, inputs: number, rows: ArrayLike<number>): string {
    const transposed = new Float64Array(outputs * inputs)
    for (let out = 0; out < outputs; out++)
      for (let from = 0; from < inputs; from++) transposed[from * outputs + out] = rows[out * inputs + from]!
    return this.emit('MatMul', [x, this.matrix(inputs, outputs, transposed, 'weights')])
  }

  /** The sum along an axis, which keeps size 1 if `keep` is set. */
  sum(x: string, axis: number, keep = true): string {
    return this.emit('ReduceSum', [x, this.integers([axis])], { keepdims: int(keep ? 1 : 0) })
  }

  /** x, with 1 in place of 0, as a divisor. */
  nonzero(x: string): string {
    const isZero = this.emit('Equal', [x, this.scalar(0)])
    return this.emit('Where', [isZero, this.scalar(1), x])
  }

  /** Reshapes [batch, 1] or [batch, 1, 1] to [batch]. */
  flat(x: string): string {
    return this.reshape(x, [-1])
  }

  /** The columns of these indices. */
  gather(x: string, indices: readonly number[]): string {
    return this.emit('Gather', [x, this.integers(indices)], { axis: int(1) })
  }

  /** The columns of all parts. */
  concat(parts: readonly string[]): string {
    return parts.length === 1 ? parts[0]! : this.emit('Concat', parts, { axis: int(1) })
  }

  softmax(x: string): string {
    return this.emit('Softmax', [x], { axis: int(1) })
  }

  /** The index of the largest element of each row, [batch]; the first one of ties. */
  argMax(x: string): string {
    return this.emit('ArgMax', [x], { axis: int(1), keepdims: int(0) })
  }

  /** The position of each string in a list; -1 if it is not in the list. */
  numbered(x: string, list: readonly string[]): string {
    const attributes = { keys_strings: texts(list), values_int64s: ints(list.keys()), default_int64: int(-1) }
    return this.builder.node('LabelEncoder', [x], attributes, { domain: 'ai.onnx.ml', output: 'category' })
  }

  /** Converts a boolean to 0 or 1 of float64. */
  indicator(condition: string): string {
    return this.castTo(condition, 'f64')
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
    return this.concat(
      partsOf(table).map((part) =>
        part.type === type || part.type === 'string' ? part.name : this.castTo(part.name, type),
      ),
    )
  }

  /** The table minus an attribute of the estimator, or as it is if the estimator does not have it. */
  centered(estimator: Estimator, table: Table, mean: string): string {
    const input = this.as(table, 'f64')
    return estimator.has(mean)
      ? this.subtract(input, this.vector(estimator.vector(mean, table.columns), 'mean'))
      : input
  }

  /** float32 if all columns are, as when NumPy concatenates them. */
  typeOf(table: Table): ColumnType {
    return partsOf(table).find(({ type }) => type !== 'f32')?.type ?? 'f32'
  }

  /**
   * Steps that NumPy computes in place: in float64, each rounded to the table's type, so that a forest after a scaler gets
   * the same numbers to the last bit.
   */
  inPlace(table: Table, steps: readonly ((x: string) => string)[]): Table {
    const type = this.typeOf(table)
    let whole = { name: this.as(table, type), type }
    for (const step of steps) {
      const name = step(type === 'f32' ? this.castTo(whole.name, 'f64') : whole.name)
      whole = { name: type === 'f32' ? this.castTo(name, 'f32') : name, type }
    }
    return this.table(whole.name, type, table.columns)
  }

  /** The columns of these indices. */
  select(table: Table, indices: readonly number[]): Table {
    if (table.whole === null)
      return { columns: indices.length, whole: null, each: indices.map((index) => table.each[index]!) }
    if (indices.length === table.columns && indices.every((index, at) => index === at)) return table
    return this.table(this.gather(table.whole.name, indices), table.whole.type, indices.length)
  }
}
