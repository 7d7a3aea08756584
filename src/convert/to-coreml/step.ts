import type { NodeContext } from '../onnx/node-context.ts'
import type { Network, Shape } from './network.ts'
import type { Message } from './schema-fields.ts'

/** One ONNX node being converted to layers of a network. */
export interface Step {
  readonly net: Network
  readonly context: NodeContext
  /** The name of the input's value; a constant is added as a layer. */
  value(at: number): string
  shape(at: number): Shape
  /** The name and shape of the node's output. */
  readonly output: string
  readonly result: Shape
  readonly outputs: readonly (readonly [string, Shape])[]
  /** Appends the layer that produces the node's output. */
  emit(kind: string, params?: Message, inputs?: readonly string[]): void
  /** Appends an intermediate layer; its shape defaults to the result's. */
  add(kind: string, params?: Message, inputs?: readonly string[], shape?: Shape): string
}

/** Writes the layers for one operator. */
export type Rule = (step: Step) => void

/** One layer that reads the first input. */
export const layerOf =
  (kind: string, params: (step: Step) => Message = () => ({})): Rule =>
  (step) =>
    step.emit(kind, params(step), [step.value(0)])

/** The same values in another shape. */
export const reshaped = ({ net }: Step, value: string, shape: Shape, output?: string): string =>
  net.add('reshapeStatic', { targetShape: [...shape] }, [value], shape, output)
