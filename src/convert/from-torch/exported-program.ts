// The JSON of an exported program (torch/_export/serde/schema.py), as far as a converter needs it.
import { badRequest } from '../../domain/errors.ts'
import type { DType } from '../../tensors/weight-file.ts'

/** ScalarType by number; types that ONNX runtimes have no kernels for are absent. */
const SCALAR_TYPES: Readonly<Record<number, DType>> = {
  1: 'u8',
  2: 'i8',
  3: 'i16',
  4: 'i32',
  5: 'i64',
  6: 'f16',
  7: 'f32',
  8: 'f64',
  12: 'bool',
  13: 'bf16',
  28: 'u16',
  34: 'u32',
  35: 'u64',
}

/** A size: a number, or the expression of a dynamic one, such as `s77` or `2*s77`. */
export type Size = number | string

export interface TensorMeta {
  readonly type: DType
  readonly shape: readonly Size[]
  readonly strides: readonly Size[]
  readonly offset: Size
}

/** A sized argument: a number, or the name of a value that is computed from shapes. */
export type SizeArgument = number | { readonly name: string }

export type Argument =
  | { readonly kind: 'none' }
  | { readonly kind: 'tensor'; readonly name: string }
  | { readonly kind: 'tensors'; readonly names: readonly (string | null)[] }
  | { readonly kind: 'sizes'; readonly list: boolean; readonly values: readonly SizeArgument[] }
  | { readonly kind: 'numbers'; readonly list: boolean; readonly values: readonly number[] }
  | { readonly kind: 'flag'; readonly value: boolean }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'type'; readonly value: DType }
  | { readonly kind: 'graph'; readonly graph: TorchGraph }
  | { readonly kind: 'other'; readonly what: string }

export interface TorchNode {
  /** `torch.ops.aten.relu.default` */
  readonly target: string
  readonly inputs: readonly { readonly name: string; readonly value: Argument }[]
  readonly outputs: readonly Argument[]
  /** The module that it belongs to, such as `encoder.0`; '' for the model itself. */
  readonly layer: string
}

export interface TorchGraph {
  readonly inputs: readonly Argument[]
  readonly outputs: readonly Argument[]
  readonly nodes: readonly TorchNode[]
  readonly tensors: ReadonlyMap<string, TensorMeta>
  /** Expressions of the values that are computed from shapes. */
  readonly sizes: ReadonlyMap<string, Size>
}

export interface TorchProgram {
  readonly graph: TorchGraph
  /** What each input of the graph is. */
  readonly inputs: readonly {
    readonly kind: 'user' | 'parameter' | 'buffer' | 'constant' | 'other'
    readonly name: string
    /** As in the state dict; '' for inputs of the user. */
    readonly path: string
  }[]
  readonly outputs: readonly { readonly kind: string; readonly value: Argument }[]
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

const MAX_NODES = 200_000
const MAX_NESTED_GRAPHS = 16

export const damagedProgram = (what: string) =>
  badRequest(`The PyTorch program is damaged: ${what}. Save it again with torch.export.save.`)

export const asObject = (value: Json | undefined, what: string): JsonObject => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw damagedProgram(`${what} is missing`)
  return value as JsonObject
}

const asList = (value: Json | undefined, what: string): readonly Json[] => {
  if (!Array.isArray(value)) throw damagedProgram(`${what} is not a list`)
  if (value.length > MAX_NODES) throw damagedProgram(`${what} has ${value.length} entries, more than ${MAX_NODES}`)
  return value
}

export const asText = (value: Json | undefined, what: string): string => {
  if (typeof value !== 'string') throw damagedProgram(`${what} is not text`)
  return value
}

/** Python writes infinities as words, in quotes or without. */
const asNumber = (value: Json | undefined, what: string): number => {
  const number =
    typeof value === 'string' && /^(-?Infinity|NaN)$/.test(value) ? Number(value) : (value as number | undefined)
  if (typeof number !== 'number') throw damagedProgram(`${what} is not a number`)
  return number
}

/** JSON as Python writes it: with NaN and Infinity. */
export const parseJson = (json: string, what: string): Json => {
  const strict = json.replace(/"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g, (part) =>
    part.startsWith('"') ? part : `"${part}"`,
  )
  try {
    return JSON.parse(strict) as Json
  } catch {
    throw damagedProgram(`${what} is not JSON`)
  }
}

/** The one member of a union that is set. Old versions write the others as null. */
const unionOf = (value: Json | undefined, what: string): readonly [string, Json] => {
  const set = Object.entries(asObject(value, what)).find(([, member]) => member !== null)
  return set ?? ['as_none', null]
}

const expressionOf = (text: string): string => {
  const symbol = /^Symbol\('(\w+)'[^)]*\)$/.exec(text)
  return symbol === null ? text : symbol[1]!
}

const sizeOf = (value: Json | undefined): Size => {
  const [kind, member] = unionOf(value, 'a size')
  if (kind === 'as_int') return asNumber(member, 'a size')
  return expressionOf(asText(asObject(member, 'a size').expr_str, 'a size'))
}

const sizeArgumentOf = (value: Json | undefined): SizeArgument => {
  const [kind, member] = unionOf(value, 'a size')
  return kind === 'as_name' ? { name: asText(member, 'the name of a size') } : asNumber(member, 'a size')
}

const nameOf = (value: Json | undefined): string => asText(asObject(value, 'a tensor').name, 'the name of a tensor')

const optionalNameOf = (value: Json): string | null => {
  const [kind, member] = unionOf(value, 'a tensor')
  return kind === 'as_tensor' ? nameOf(member) : null
}

const typeOf = (value: Json | undefined): DType => {
  const type = SCALAR_TYPES[asNumber(value, 'an element type')]
  if (type === undefined)
    throw badRequest(
      `The program has tensors of complex numbers, float8 or quantized types (ScalarType ${String(value)}), which are not converted; ` +
        'write complex numbers as pairs of real ones, and dequantize what is quantized.',
    )
  return type
}

export const metaOf = (value: Json | undefined): TensorMeta => {
  const meta = asObject(value, 'the description of a tensor')
  return {
    type: typeOf(meta.dtype),
    shape: asList(meta.sizes, 'a shape').map(sizeOf),
    strides: asList(meta.strides, 'the strides').map(sizeOf),
    offset: sizeOf(meta.storage_offset),
  }
}

const argumentOf = (value: Json | undefined, depth: number): Argument => {
  const [kind, member] = unionOf(value, 'an argument')
  const list = (read: (item: Json) => number): Argument => ({
    kind: 'numbers',
    list: true,
    values: asList(member, 'an argument').map(read),
  })
  switch (kind) {
    case 'as_none':
      return { kind: 'none' }
    case 'as_tensor':
      return { kind: 'tensor', name: nameOf(member) }
    case 'as_optional_tensor': {
      const name = optionalNameOf(member)
      return name === null ? { kind: 'none' } : { kind: 'tensor', name }
    }
    case 'as_tensors':
      return { kind: 'tensors', names: asList(member, 'a list of tensors').map(nameOf) }
    case 'as_optional_tensors':
      return { kind: 'tensors', names: asList(member, 'a list of tensors').map(optionalNameOf) }
    case 'as_int':
    case 'as_float':
      return { kind: 'numbers', list: false, values: [asNumber(member, 'an argument')] }
    case 'as_ints':
    case 'as_floats':
      return list((item) => asNumber(item, 'an argument'))
    case 'as_bools':
      return list(Number)
    case 'as_sym_int':
      return { kind: 'sizes', list: false, values: [sizeArgumentOf(member)] }
    case 'as_sym_ints':
      return { kind: 'sizes', list: true, values: asList(member, 'an argument').map(sizeArgumentOf) }
    case 'as_bool':
      return { kind: 'flag', value: member === true }
    case 'as_string':
      return { kind: 'text', value: asText(member, 'an argument') }
    case 'as_scalar_type':
      return { kind: 'type', value: typeOf(member) }
    case 'as_graph':
      return { kind: 'graph', graph: graphOf(asObject(member, 'a graph').graph, depth + 1) }
    default:
      return { kind: 'other', what: kind.replace(/^as_/, '') }
  }
}

const layerOf = (metadata: Json | undefined): string => {
  const stack = asObject(metadata ?? {}, 'metadata').nn_module_stack
  return typeof stack === 'string' ? (stack.split(';').at(-1)?.split(',')[1] ?? '') : ''
}

const nodeOf = (value: Json, depth: number): TorchNode => {
  const node = asObject(value, 'a node')
  return {
    target: asText(node.target, 'the operator of a node'),
    inputs: asList(node.inputs, 'the arguments of a node').map((entry) => {
      const argument = asObject(entry, 'an argument')
      return { name: asText(argument.name, 'the name of an argument'), value: argumentOf(argument.arg, depth) }
    }),
    outputs: asList(node.outputs, 'the results of a node').map((output) => argumentOf(output, depth)),
    layer: layerOf(node.metadata),
  }
}

const graphOf = (value: Json | undefined, depth: number): TorchGraph => {
  if (depth > MAX_NESTED_GRAPHS) throw damagedProgram(`graphs nest deeper than ${MAX_NESTED_GRAPHS}`)
  const graph = asObject(value, 'the graph')
  const entries = (key: string) => Object.entries(asObject(graph[key] ?? {}, key))
  return {
    inputs: asList(graph.inputs, 'the inputs').map((input) => argumentOf(input, depth)),
    outputs: asList(graph.outputs, 'the outputs').map((output) => argumentOf(output, depth)),
    nodes: asList(graph.nodes, 'the nodes').map((node) => nodeOf(node, depth)),
    tensors: new Map(entries('tensor_values').map(([name, meta]) => [name, metaOf(meta)])),
    sizes: new Map(entries('sym_int_values').map(([name, size]) => [name, sizeOf(size)])),
  }
}

const inputOf = (value: Json): TorchProgram['inputs'][number] => {
  const [kind, member] = unionOf(value, 'an input')
  const spec = asObject(member, 'an input')
  const path = (key: string) => asText(spec[key], 'the name of a weight')
  switch (kind) {
    case 'user_input': {
      const argument = argumentOf(spec.arg, 0)
      return argument.kind === 'tensor'
        ? { kind: 'user', name: argument.name, path: '' }
        : { kind: 'other', name: argument.kind, path: '' }
    }
    case 'parameter':
      return { kind: 'parameter', name: nameOf(spec.arg), path: path('parameter_name') }
    case 'buffer':
      return { kind: 'buffer', name: nameOf(spec.arg), path: path('buffer_name') }
    case 'tensor_constant':
      return { kind: 'constant', name: nameOf(spec.arg), path: path('tensor_constant_name') }
    default:
      return { kind: 'other', name: kind, path: '' }
  }
}

/** The program of `models/model.json` or `serialized_exported_program.json`. Throws bad_request. */
export const programOf = (json: Json): TorchProgram => {
  const graphModule = asObject(asObject(json, 'the program').graph_module, 'the graph')
  const signature = asObject(graphModule.signature, 'the signature')
  return {
    graph: graphOf(graphModule.graph, 0),
    inputs: asList(signature.input_specs, 'the inputs').map(inputOf),
    outputs: asList(signature.output_specs, 'the outputs').map((output) => {
      const [kind, member] = unionOf(output, 'an output')
      return { kind, value: argumentOf(asObject(member, 'an output').arg, 0) }
    }),
  }
}
