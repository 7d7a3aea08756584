import { createHash } from 'node:crypto'
import { encodeElements } from '../../tensors/elements.ts'
import type { DType } from '../../tensors/weight-file.ts'
import { OPERATORS, type OperatorName } from './operator-names.ts'
import { type Options, TENSOR_TYPES, type TfliteModel, type TfliteOperator, type TfliteTensor } from './schema.ts'
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
  /** Adds an operator with one output of this shape and type, which default to those of its first input. */
  readonly operator: (
    name: OperatorName,
    inputs: readonly (Tensor | null)[],
    result?: { readonly shape?: readonly number[]; readonly type?: TfliteType },
    options?: Options,
  ) => Tensor
  readonly operators: (
    name: OperatorName,
    inputs: readonly (Tensor | null)[],
    results: readonly { readonly shape: readonly number[]; readonly type: TfliteType }[],
    options?: Options,
  ) => Tensor[]
  readonly bytes: (outputs: readonly { readonly name: string; readonly tensor: Tensor }[]) => Uint8Array
}

/** Constants with the same type, shape, and content share one tensor. */
const contentOf = (data: Uint8Array): string => createHash('sha256').update(data).digest('base64')

/** The lowest kernel version that runs an operator as it is written; 1 for those not listed. */
const versionOf = (name: OperatorName, options: Options | undefined): number => {
  if (name === 'FULLY_CONNECTED') return 5
  if (name === 'GATHER') return Number(options?.value.batchDims ?? 0) > 0 ? 5 : 1
  return 1
}

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
  const opcode = (name: OperatorName, options: Options | undefined): number => {
    const version = versionOf(name, options)
    const key = `${name} ${version}`
    const found = codes.get(key) ?? { index: codes.size, code: OPERATORS[name], version }
    codes.set(key, found)
    return found.index
  }
  const addOperators: TfliteGraph['operators'] = (name, from, results, options) => {
    const outputs = results.map(({ shape, type }, at) =>
      add(`${name.toLowerCase()}_${operators.length}${at > 0 ? `_${at}` : ''}`, type, shape, 0),
    )
    operators.push({
      opcodeIndex: opcode(name, options),
      inputs: from.map((tensor) => tensor?.index ?? -1),
      outputs: outputs.map(({ index }) => index),
      ...(options === undefined ? {} : { builtinOptions: options }),
    })
    return outputs
  }
  return {
    input: (name, type, shape) => {
      const tensor = add(name, type, shape, 0)
      inputs.push({ name, tensorIndex: tensor.index })
      return tensor
    },
    constant: (type, shape, values) => {
      const data = encodeElements(values, type as DType)
      const key = `${type} ${shape.join()} ${contentOf(data)}`
      const found = shared.get(key)
      if (found !== undefined) return found
      const tensor = add(`constant_${buffers.length}`, type, shape, buffers.push({ data }) - 1)
      shared.set(key, tensor)
      return tensor
    },
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
      const model = {
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
      }
      return writeTflite(model satisfies TfliteModel)
    },
  }
}
