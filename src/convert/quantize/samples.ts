import { badRequest } from '../../domain/errors.ts'
import { bfloat16ToFloat, floatToBfloat16, floatToHalf, halfToFloat } from '../../tensors/half.ts'
import { type ElementType, elementCount, type OnnxModel, type OnnxValue } from '../onnx/model.ts'

type SampleData = Exclude<NodeJS.TypedArray, Uint8ClampedArray>

/** A tensor in onnxruntime's form. */
export interface SampleTensor {
  readonly type: string
  readonly dims: readonly number[]
  readonly data: SampleData
}

/** The inputs of one run, by name. */
export type Sample = Readonly<Record<string, SampleTensor>>

const bigInts = (values: ArrayLike<number>): BigInt64Array =>
  BigInt64Array.from(Array.from(values, (value) => BigInt(Math.trunc(value))))

const FORMS: Partial<Record<ElementType, { readonly type: string; from(values: ArrayLike<number>): SampleData }>> = {
  f32: { type: 'float32', from: (values) => Float32Array.from(values) },
  f64: { type: 'float64', from: (values) => Float64Array.from(values) },
  f16: { type: 'float16', from: (values) => Uint16Array.from(values, floatToHalf) },
  bf16: { type: 'bfloat16', from: (values) => Uint16Array.from(values, floatToBfloat16) },
  i64: { type: 'int64', from: bigInts },
  i32: { type: 'int32', from: (values) => Int32Array.from(values) },
  i16: { type: 'int16', from: (values) => Int16Array.from(values) },
  i8: { type: 'int8', from: (values) => Int8Array.from(values) },
  u16: { type: 'uint16', from: (values) => Uint16Array.from(values) },
  u8: { type: 'uint8', from: (values) => Uint8Array.from(values) },
  bool: { type: 'bool', from: (values) => Uint8Array.from(values, (value) => (value === 0 ? 0 : 1)) },
}

export const formOf = ({ name, type, container }: OnnxValue) => {
  const form = container === undefined ? FORMS[type] : undefined
  if (form === undefined) throw badRequest(`Samples of the input '${name}' (${container ?? type}) are not supported.`)
  return form
}

/** The numbers of an engine's tensor, in which half precision is stored as bits. */
export const numbersOf = ({ type, data }: { readonly type: string; readonly data: ArrayLike<unknown> }): number[] => {
  const toNumber = type === 'float16' ? halfToFloat : type === 'bfloat16' ? bfloat16ToFloat : Number
  return Array.from(data, (value) => toNumber(Number(value)))
}

/** Converts the sample to the element types of another model's inputs of the same names. */
export const retyped = (sample: Sample, { graph }: OnnxModel): Sample =>
  Object.fromEntries(
    graph.inputs.flatMap((input) => {
      const given = sample[input.name]
      const { type, from } = formOf(input)
      return given === undefined ? [] : [[input.name, { ...given, type, data: from(numbersOf(given)) }]]
    }),
  )

/** The numbers of one or several samples. */
export interface NumberArray {
  readonly shape: readonly number[]
  readonly values: ArrayLike<number>
}

/** The input's tensor, with a batch dimension added if the array has none. */
const toTensor = (input: OnnxValue, { shape, values }: NumberArray, where: string): SampleTensor => {
  const rank = input.shape?.length
  const dims = rank === shape.length + 1 ? [1, ...shape] : [...shape]
  const fits = input.shape?.every((size, axis) => typeof size !== 'number' || size === dims[axis]) ?? true
  if ((rank !== undefined && rank !== dims.length) || !fits) {
    throw badRequest(
      `${where}: '${input.name}' has the shape [${shape.join(', ')}]; the model takes [${input.shape?.join(', ')}].`,
    )
  }
  const { type, from } = formOf(input)
  return { type, dims, data: from(values) }
}

/**
 * Samples from arrays by input name; their first dimension counts the samples. For a model with one input, the array may
 * have any name. Throws bad_request if an input is missing or a shape does not fit.
 */
export const samplesFromArrays = (
  model: OnnxModel,
  arrays: ReadonlyMap<string, NumberArray>,
  most: number,
): readonly Sample[] => {
  const { inputs } = model.graph
  const only = inputs.length === 1 && arrays.size === 1 ? [...arrays.values()][0] : undefined
  const found = inputs.map((input) => {
    const array = arrays.get(input.name) ?? only
    if (array === undefined) {
      throw badRequest(
        `The samples have no '${input.name}', which is an input of the model; they have ${[...arrays.keys()].join(', ')}.`,
      )
    }
    const batch = input.shape?.[0]
    return { input, array, step: typeof batch === 'number' && batch > 0 ? batch : 1 }
  })
  const count = Math.min(most, ...found.map(({ array, step }) => Math.floor((array.shape[0] ?? 0) / step)))
  if (count < 1) throw badRequest('There are no samples: the first dimension of each array counts them.')
  return Array.from({ length: count }, (_, at) =>
    Object.fromEntries(
      found.map(({ input, array: { shape, values }, step }) => {
        const inner = elementCount(shape.slice(1))
        const part = Array.prototype.slice.call(values, at * step * inner, (at + 1) * step * inner)
        return [input.name, toTensor(input, { shape: [step, ...shape.slice(1)], values: part }, `Sample ${at + 1}`)]
      }),
    ),
  )
}

/** The numbers of nested lists with a regular shape. */
const arrayOf = (value: unknown, where: string): NumberArray => {
  const shape: number[] = []
  for (let level = value; Array.isArray(level); level = level[0]) shape.push(level.length)
  const values = (Array.isArray(value) ? value.flat(shape.length) : [value]) as unknown[]
  const isNumbers = values.every((item) => typeof item === 'number' || typeof item === 'boolean')
  if (!isNumbers || values.length !== elementCount(shape))
    throw badRequest(`${where} is not numbers in lists of equal length.`)
  return { shape, values: values.map(Number) }
}

/**
 * Samples from JSON lines: each is an object with the inputs by name; for a model with one input, also its numbers alone or
 * as `input`. Throws bad_request with the line number.
 */
export const samplesFromLines = (model: OnnxModel, text: string, most: number): readonly Sample[] => {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) throw badRequest('There are no samples: expected one JSON value on each line.')
  const { inputs } = model.graph
  return lines.slice(0, most).map((line, index) => {
    const where = `Line ${index + 1}`
    const value = parsed(line, where)
    const named: Readonly<Record<string, unknown>> =
      typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : { input: value }
    return Object.fromEntries(
      inputs.map((input) => {
        const found = named[input.name] ?? (inputs.length === 1 ? named.input : undefined)
        if (found === undefined) throw badRequest(`${where} has no '${input.name}', which is an input of the model.`)
        return [input.name, toTensor(input, arrayOf(found, `${where}: '${input.name}'`), where)]
      }),
    )
  })
}

const parsed = (line: string, where: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    throw badRequest(`${where} is not JSON.`)
  }
}
