import type { NodeContext } from '../onnx/node-context.ts'
import type { Network, Shape } from './network.ts'
import type { Message } from './schema-fields.ts'

/** One ONNX node on its way into a network. */
export interface Step {
  readonly net: Network
  readonly context: NodeContext
  /** The name of the input's value, which becomes a layer if it is a constant. */
  value(at: number): string
  shape(at: number): Shape
  /** The node's output: its name and its shape. */
  readonly output: string
  readonly result: Shape
  readonly outputs: readonly (readonly [string, Shape])[]
  /** The layer that gives the node's output. */
  emit(kind: string, params?: Message, inputs?: readonly string[]): void
  /** A layer in between, of the result's shape if no other is given. */
  add(kind: string, params?: Message, inputs?: readonly string[], shape?: Shape): string
}

/** Writes the layers of one operator. */
export type Rule = (step: Step) => void

/** The same values in another shape. */
export const reshaped = ({ net }: Step, value: string, shape: Shape, output?: string): string =>
  net.add('reshapeStatic', { targetShape: [...shape] }, [value], shape, output)
