// Builds the layers of a Core ML network in execution order.
import { badRequest } from '../../domain/errors.ts'
import type { Constant } from '../onnx/constants.ts'
import { type ElementType, elementCount } from '../onnx/model.ts'
import type { Message } from './schema-fields.ts'

/** Core ML's layers support up to five dimensions. */
const MAX_RANK = 5

export type Shape = readonly number[]

export interface Network {
  readonly layers: Message[]
  readonly shapes: Map<string, Shape>
  /** Appends a layer with one output of this shape, named `output` or a new name. Returns the output's name. */
  add(kind: string, params: Message, inputs: readonly string[], shape: Shape, output?: string): string
  /** Appends a layer with several outputs of these names. */
  addMany(
    kind: string,
    params: Message,
    inputs: readonly string[],
    outputs: readonly (readonly [string, Shape])[],
  ): void
  /** Appends a constant as a value. */
  constant(numbers: ArrayLike<number>, shape: Shape): string
  name(stem: string): string
}

/** Scalars have one dimension of size 1 in Core ML instead of zero dimensions. */
export const coremlShape = (shape: Shape): Shape => (shape.length === 0 ? [1] : shape)

export const isFloat = (type: ElementType): boolean => /^b?f\d/.test(type)

const littleEndian = (numbers: ArrayLike<number>): Uint8Array => {
  const values = Float32Array.from(numbers)
  return new Uint8Array(values.buffer)
}

export const weightsOf = (numbers: ArrayLike<number>): Message => ({ floatValue: littleEndian(numbers) })

export const createNetwork = (taken: Iterable<string>): Network => {
  const names = new Set(taken)
  const layers: Message[] = []
  const shapes = new Map<string, Shape>()
  const name = (stem: string): string => {
    let candidate = stem
    for (let count = 1; names.has(candidate); count++) candidate = `${stem}_${count}`
    names.add(candidate)
    return candidate
  }
  const tensorOf = (value: string): Message => {
    const shape = shapes.get(value)
    if (shape === undefined) throw badRequest(`The value '${value}' is used before it is computed.`)
    return { rank: shape.length, dimValue: [...shape] }
  }
  const addMany: Network['addMany'] = (kind, params, inputs, outputs) => {
    for (const [output, shape] of outputs) {
      if (shape.length > MAX_RANK) {
        throw badRequest(`'${output}' has ${shape.length} dimensions; Core ML takes up to ${MAX_RANK}.`)
      }
      if (elementCount(shape) === 0) throw badRequest(`'${output}' is empty: [${shape.join(', ')}].`)
      shapes.set(output, coremlShape(shape))
    }
    layers.push({
      name: name(`${outputs[0]![0]}_layer`),
      input: [...inputs],
      output: outputs.map(([output]) => output),
      inputTensor: inputs.map(tensorOf),
      outputTensor: outputs.map(([output]) => tensorOf(output)),
      [kind]: params,
    })
  }
  const add: Network['add'] = (kind, params, inputs, shape, output = name(`${inputs[0] ?? kind}_${kind}`)) => {
    addMany(kind, params, inputs, [[output, shape]])
    return output
  }
  return {
    layers,
    shapes,
    add,
    addMany,
    name,
    constant: (numbers, shape) => {
      if (numbers.length !== elementCount(shape))
        throw badRequest(`${numbers.length} numbers do not fill [${shape.join(', ')}].`)
      const full = coremlShape(shape)
      return add('loadConstantND', { shape: [...full], data: weightsOf(numbers) }, [], full, name('constant'))
    },
  }
}

/** A constant input for layer parameters. Throws bad_request if it is computed. */
export const requireConstant = (constant: Constant | undefined, what: string): Constant => {
  if (constant === undefined) throw badRequest(`${what} must be constant in Core ML.`)
  return constant
}

export const finiteNumbers = ({ values }: Constant): Float32Array => Float32Array.from(values, Number)
