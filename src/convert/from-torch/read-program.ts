// Reads the JSON of an exported program (torch/_export/serde/schema.py).
import { badRequest } from '../../domain/errors.ts'
import type { DType } from '../../tensors/weight-file.ts'
import type {
  Argument,
  Size,
  SizeArgument,
  TensorMeta,
  TorchGraph,
  TorchNode,
  TorchProgram,
} from './exported-program.ts'
import { asList, asNumber, asObject, asText, damagedProgram, type Json } from './python-json.ts'

/** ScalarType by number, without types for which ONNX runtimes have no kernels. */
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

const MAX_NESTED_GRAPHS = 16

/** The only member of a union that is set. Old versions write the others as null. */
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
      `The program has tensors of complex numbers, float8, or quantized types (ScalarType ${String(value)}), which are not converted; ` +
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
  const list = <T>(read: (item: Json) => T): T[] => asList(member, 'an argument').map(read)
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
      return { kind: 'numbers', values: [asNumber(member, 'an argument')] }
    case 'as_ints':
    case 'as_floats':
      return { kind: 'numbers', values: list((item) => asNumber(item, 'an argument')) }
    case 'as_bools':
      return { kind: 'numbers', values: list(Number) }
    case 'as_sym_int':
      return { kind: 'sizes', values: [sizeArgumentOf(member)] }
    case 'as_sym_ints':
      return { kind: 'sizes', values: list(sizeArgumentOf) }
    case 'as_bool':
      return { kind: 'flag', value: member === true }
    case 'as_string':
      return { kind: 'text', value: asText(member, 'an argument') }
    case 'as_scalar_type':
      return { kind: 'type', value: typeOf(member) }
    case 'as_graph':
      return { kind: 'graph', graph: graphOf(asObject(member, 'a graph').graph, depth + 1) }
    default:
      return { kind: 'other' }
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
  const weight = (key: string, isInStateDict: boolean) => {
    const [name, path] = [nameOf(spec.arg), asText(spec[key], 'the name of a weight')]
    return { kind: 'weight', name, path, isInStateDict } as const
  }
  const other = (name: string) => ({ kind: 'other', name, path: '', isInStateDict: false }) as const
  switch (kind) {
    case 'user_input': {
      const argument = argumentOf(spec.arg, 0)
      if (argument.kind !== 'tensor') return other(argument.kind)
      return { kind: 'user', name: argument.name, path: '', isInStateDict: false }
    }
    case 'parameter':
      return weight('parameter_name', true)
    case 'buffer':
      // PyTorch 2.1 does not store which buffers are persistent.
      return weight('buffer_name', spec.persistent !== false)
    case 'tensor_constant':
      return weight('tensor_constant_name', false)
    default:
      return other(kind)
  }
}

/** Reads the program in `models/model.json` or `serialized_exported_program.json`. Throws bad_request. */
export const programOf = (json: Json): TorchProgram => {
  const { graph_module, verifiers } = asObject(json, 'the program')
  const graphModule = asObject(graph_module, 'the graph')
  const signature = asObject(graphModule.signature, 'the signature')
  return {
    graph: graphOf(graphModule.graph, 0),
    isDecomposed: !(Array.isArray(verifiers) && verifiers.includes('TRAINING')),
    inputs: asList(signature.input_specs, 'the inputs').map(inputOf),
    outputs: asList(signature.output_specs, 'the outputs').map((output) => {
      const [kind, member] = unionOf(output, 'an output')
      return { kind, value: argumentOf(asObject(member, 'an output').arg, 0) }
    }),
  }
}
