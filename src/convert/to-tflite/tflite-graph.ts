import { createHash } from 'node:crypto'
import { encodeElements } from '../../tensors/elements.ts'
import type { DType } from '../../tensors/weight-file.ts'
import { OPERATORS, type OperatorName } from './operator-names.ts'
import { type Options, TENSOR_TYPES, type TfliteOperator, type TfliteTensor } from './schema.ts'
import { writeTflite } from './tflite-file.ts'

export type TfliteType = 'f32' | 'i32' | 'u8' | 'i64' | 'bool' | 'i16' | 'i8'

/** A tensor of the graph, row-major. */
export interface Tensor {
  readonly index: number
  readonly type: TfliteType
  readonly shape: readonly number[]
}

export interface TfliteGraph {
  readonly input: (name: string, type: TfliteType, shape: readonly number[]) => Tensor
  readonly constant: (type: TfliteType, shape: readonly number[], values: ArrayLike<number>) => Tensor
  readonly scalar: (type: TfliteType, value: number) => Tensor
  readonly vector: (type: TfliteType, values: ArrayLike<number>) => Tensor
  /** Adds an operator with one output of this shape and type, which default to those of its first input. */
  readonly operator: (
    name: OperatorName,
    inputs: readonly (Tensor | null)[],
    result?: { readonly shape?: readonly number[]; readonly type?: TfliteType },
    options?: Options['value'],
  ) => Tensor
  readonly operators: (
    name: OperatorName,
    inputs: readonly (Tensor | null)[],
    results: readonly { readonly shape: readonly number[]; readonly type: TfliteType }[],
    options?: Options['value'],
  ) => Tensor[]
  readonly bytes: (outputs: readonly { readonly name: string; readonly tensor: Tensor }[]) => Uint8Array
}

/** Constants with the same type, shape, and content share one tensor. */
const contentOf = (data: Uint8Array): string => createHash('sha256').update(data).digest('base64')

/** The lowest kernel version that runs an operator as it is written; 1 for those not listed. */
const versionOf = (name: OperatorName, options: Options['value']): number => {
  if (name === 'GATHER') return Number(options.batchDims ?? 0) > 0 ? 5 : 1
  return name === 'FULLY_CONNECTED' ? 5 : 1
}

/** The tables of options by operator. Those not listed are written without one, because their kernels read none. */
const OPTION_TABLES: Readonly<Partial<Record<string, string>>> = Object.fromEntries(
  `ADD:Add ARG_MAX:ArgMax ARG_MIN:ArgMin AVERAGE_POOL_2D:Pool2D BATCH_MATMUL:BatchMatMul CAST:Cast CONCATENATION:Concatenation
  CONV_2D:Conv2D CUMSUM:Cumsum DEPTHWISE_CONV_2D:DepthwiseConv2D DEPTH_TO_SPACE:DepthToSpace DIV:Div
  FULLY_CONNECTED:FullyConnected GATHER:Gather GATHER_ND:GatherNd GELU:Gelu LEAKY_RELU:LeakyRelu LOG_SOFTMAX:LogSoftmax
  MAXIMUM:MaximumMinimum MAX_POOL_2D:Pool2D MEAN:Reducer MINIMUM:MaximumMinimum MIRROR_PAD:MirrorPad MUL:Mul PAD:Pad PADV2:PadV2
  REDUCE_ALL:Reducer REDUCE_ANY:Reducer REDUCE_MAX:Reducer REDUCE_MIN:Reducer REDUCE_PROD:Reducer RESHAPE:Reshape
  RESIZE_BILINEAR:ResizeBilinear SLICE:Slice SOFTMAX:Softmax SPACE_TO_DEPTH:SpaceToDepth SPLIT_V:SplitV
  STRIDED_SLICE:StridedSlice SUB:Sub SUM:Reducer TILE:Tile TOPK_V2:TopKV2 TRANSPOSE:Transpose TRANSPOSE_CONV:TransposeConv`
    .split(/\s+/)
    .map((pair) => pair.split(':') as [OperatorName, string]),
)

/** Builds a TFLite model with one subgraph. Tensors are named like inputs and outputs, otherwise by number. */
export const tfliteGraph = (description: string): TfliteGraph => {
  const tensors: TfliteTensor[] = []
  const buffers: { data?: Uint8Array }[] = [{}]
  const operators: TfliteOperator[] = []
  const codes = new Map<string, { readonly index: number; readonly code: number; readonly version: number }>()
  const shared = new Map<string, Tensor>()
  const inputs: { name: string; tensorIndex: number }[] = []

  const add = (name: string, type: TfliteType, shape: readonly number[], buffer: number): Tensor => {
    const index = tensors.push({ shape, type: TENSOR_TYPES.indexOf(type), buffer, name, hasRank: true }) - 1
    return { index, type, shape }
  }
  const opcode = (name: OperatorName, version: number): number => {
    const key = `${name} ${version}`
    const found = codes.get(key) ?? { index: codes.size, code: OPERATORS[name], version }
    codes.set(key, found)
    return found.index
  }
  const addOperators: TfliteGraph['operators'] = (name, from, results, options = {}) => {
    const table = OPTION_TABLES[name]
    const outputs = results.map(({ shape, type }, at) =>
      add(`${name.toLowerCase()}_${operators.length}${at > 0 ? `_${at}` : ''}`, type, shape, 0),
    )
    operators.push({
      opcodeIndex: opcode(name, versionOf(name, options)),
      inputs: from.map((tensor) => tensor?.index ?? -1),
      outputs: outputs.map(({ index }) => index),
      ...(table !== undefined && { builtinOptions: { table: `${table}Options`, value: options } }),
    })
    return outputs
  }
  const constant: TfliteGraph['constant'] = (type, shape, values) => {
    const data = encodeElements(values, type as DType)
    const key = `${type} ${shape.join()} ${contentOf(data)}`
    const found = shared.get(key)
    if (found !== undefined) return found
    const tensor = add(`constant_${buffers.length}`, type, shape, buffers.push({ data }) - 1)
    shared.set(key, tensor)
    return tensor
  }
  return {
    input: (name, type, shape) => {
      const tensor = add(name, type, shape, 0)
      inputs.push({ name, tensorIndex: tensor.index })
      return tensor
    },
    constant,
    scalar: (type, value) => constant(type, [], [value]),
    vector: (type, values) => constant(type, [values.length], values),
    operator: (name, from, { shape, type } = {}, options) => {
      const first = from[0]!
      return addOperators(name, from, [{ shape: shape ?? first.shape, type: type ?? first.type }], options)[0]!
    },
    operators: addOperators,
    bytes: (outputs) => {
      const named = tensors.map((tensor, index) => {
        const output = outputs.find(({ tensor: other }) => other.index === index)
        return output === undefined ? tensor : { ...tensor, name: output.name }
      })
      const maps = outputs.map(({ name, tensor }) => ({ name, tensorIndex: tensor.index }))
      return writeTflite({
        version: 3,
        operatorCodes: [...codes.values()].map(({ code, version }) => ({
          deprecatedBuiltinCode: Math.min(code, 127),
          version,
          builtinCode: code,
        })),
        subgraphs: [
          {
            tensors: named,
            inputs: inputs.map(({ tensorIndex }) => tensorIndex),
            outputs: maps.map(({ tensorIndex }) => tensorIndex),
            operators,
            name: 'main',
          },
        ],
        description,
        buffers,
        signatureDefs: [{ inputs, outputs: maps, signatureKey: 'serving_default', subgraphIndex: 0 }],
      })
    },
  }
}
