// The parts of an exported program (torch/_export/serde/schema.py) that a converter needs.
import type { DType } from '../../tensors/weight-file.ts'

/** A size: a number, or the expression of a dynamic size, such as `s77` or `2*s77`. */
export type Size = number | string

export interface TensorMeta {
  readonly type: DType
  readonly shape: readonly Size[]
  readonly strides: readonly Size[]
  readonly offset: Size
}

/** A size argument: a number, or the name of a value computed from shapes. */
export type SizeArgument = number | { readonly name: string }

export type Argument =
  | { readonly kind: 'none' }
  | { readonly kind: 'tensor'; readonly name: string }
  | { readonly kind: 'tensors'; readonly names: readonly (string | null)[] }
  | { readonly kind: 'sizes'; readonly values: readonly SizeArgument[] }
  | { readonly kind: 'numbers'; readonly values: readonly number[] }
  | { readonly kind: 'flag'; readonly value: boolean }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'type'; readonly value: DType }
  | { readonly kind: 'graph'; readonly graph: TorchGraph }
  | { readonly kind: 'other' }

export interface TorchNode {
  /** `torch.ops.aten.relu.default` */
  readonly target: string
  readonly inputs: readonly { readonly name: string; readonly value: Argument }[]
  readonly outputs: readonly Argument[]
  /** The module of the node, such as `encoder.0`; empty for the model itself. */
  readonly layer: string
}

export interface TorchGraph {
  readonly inputs: readonly Argument[]
  readonly outputs: readonly Argument[]
  readonly nodes: readonly TorchNode[]
  readonly tensors: ReadonlyMap<string, TensorMeta>
  /** The expressions of values computed from shapes. */
  readonly sizes: ReadonlyMap<string, Size>
}

export interface TorchProgram {
  readonly graph: TorchGraph
  /** False only if `run_decompositions()` may still expand its operators; PyTorch before 2.5 does not store this. */
  readonly isDecomposed: boolean
  /** The role of each graph input. */
  readonly inputs: readonly {
    readonly kind: 'user' | 'weight' | 'other'
    readonly name: string
    /** The name in the state dict; empty for user inputs. */
    readonly path: string
    /** Parameters, and buffers other than those with persistent=False. */
    readonly isInStateDict: boolean
  }[]
  readonly outputs: readonly { readonly kind: string; readonly value: Argument }[]
}
