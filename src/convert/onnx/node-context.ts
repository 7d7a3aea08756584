import { badRequest } from '../../domain/errors.ts'
import { axisOf, type Constant } from './constants.ts'
import { attributeOf, type ElementType, type OnnxNode } from './model.ts'

/** A value's type and its shape with all dimensions known. */
export interface StaticValue {
  readonly type: ElementType
  readonly shape: readonly number[]
}

/** Thrown for a shape that depends on data: it has no static value, although the model is valid. */
export class DataDependent extends Error {}

/** A node and what is known about its inputs. */
export interface NodeContext {
  readonly node: OnnxNode
  /** The version of the operator set. */
  readonly opset: number
  /** Graph values by name, including those that control-flow subgraphs may read. */
  readonly known: ReadonlyMap<string, StaticValue>
  readonly has: (at: number) => boolean
  /** Throws bad_request if the node has no such input, DataDependent if its shape is unknown. */
  readonly input: (at: number) => StaticValue
  readonly constant: (at: number) => Constant | undefined
  /** The elements of a constant input. Throws DataDependent if it is not constant. */
  readonly numbers: (at: number) => number[]
  readonly int: (name: string, absent?: number) => number
  readonly float: (name: string, absent?: number) => number
  readonly text: (name: string, absent?: string) => string
  readonly ints: (name: string) => readonly number[] | undefined
  readonly axis: (name: string, absent: number, rank?: number) => number
  /** A list that is an input in newer operator sets and an attribute in older ones. */
  readonly list: (at: number, name: string) => readonly number[] | undefined
}

export const nodeContext = (
  node: OnnxNode,
  opset: number,
  known: ReadonlyMap<string, StaticValue>,
  constantNamed: (name: string) => Constant | undefined,
): NodeContext => {
  const has = (at: number): boolean => (node.inputs[at] ?? '') !== ''
  const input = (at: number): StaticValue => {
    if (!has(at)) throw badRequest(`${node.type} needs at least ${at + 1} inputs.`)
    const found = known.get(node.inputs[at]!)
    if (found === undefined) throw new DataDependent(`The shape of '${node.inputs[at]}' depends on data.`)
    return found
  }
  const constant = (at: number): Constant | undefined => (has(at) ? constantNamed(node.inputs[at]!) : undefined)
  const numbers = (at: number): number[] => {
    const found = constant(at)
    if (found === undefined) throw new DataDependent(`'${node.inputs[at] ?? ''}' is not a constant.`)
    return Array.from(found.values)
  }
  const ints = (name: string): readonly number[] | undefined => attributeOf(node, name, 'ints', undefined)
  const int = (name: string, absent = 0): number => attributeOf(node, name, 'int', absent)
  return {
    node,
    opset,
    known,
    has,
    input,
    constant,
    numbers,
    int,
    float: (name, absent = 0) => attributeOf(node, name, 'float', absent),
    text: (name, absent = '') => attributeOf(node, name, 'string', absent),
    ints,
    axis: (name, absent, rank) => axisOf(int(name, absent), rank ?? input(0).shape.length),
    list: (at, name) => (has(at) ? numbers(at) : ints(name)),
  }
}
