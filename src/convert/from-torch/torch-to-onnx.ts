import { badRequest, ServiceError } from '../../domain/errors.ts'
import type { ByteSource } from '../../tensors/weight-file.ts'
import { graphBuilder } from '../onnx/graph-builder.ts'
import type { OnnxModel, OnnxTensor } from '../onnx/model.ts'
import { withoutUnused } from '../onnx/simplify-graph.ts'
import type { Size, TensorMeta, TorchGraph, TorchProgram } from './exported-program.ts'
import { namesOf } from './in-place.ts'
import { lowerGraph, requireSupported } from './lower-graph.ts'
import type { Scope } from './node-arguments.ts'
import { readArchive, type TorchArchive } from './read-archive.ts'
import { replacedWeights } from './replaced-weights.ts'

export interface TorchOptions {
  /** The shape of the first input; fixes its dynamic sizes. */
  readonly inputShape?: readonly number[]
  /** A weight file with a state dict, whose tensors replace the program's by name. */
  readonly weights?: ByteSource
}

/** The first dynamic size of the first input is the batch; torch numbers its symbols differently each time. */
const dimensionNames = (program: TorchProgram): Map<Size, string> => {
  const names = new Map<Size, string>()
  for (const { kind, name } of program.inputs) {
    if (kind !== 'user') continue
    program.graph.tensors.get(name)?.shape.forEach((size, axis) => {
      if (typeof size !== 'string' || names.has(size)) return
      const taken = new Set(names.values())
      names.set(size, axis === 0 && !taken.has('batch') ? 'batch' : `size_${names.size}`)
    })
  }
  return names
}

const fixSizes = (
  name: string,
  { shape }: TensorMeta,
  given: readonly number[],
  names: Map<Size, string | number>,
): void => {
  const shown = `[${shape.map((size) => (typeof size === 'number' ? size : names.get(size))).join(', ')}]`
  const fits =
    given.length === shape.length &&
    given.every((size, axis) => typeof shape[axis] === 'string' || shape[axis] === size)
  if (!fits) {
    throw badRequest(
      `The input shape [${given.join(', ')}] does not fit the input '${name}', which was exported as ${shown}. ` +
        'Other sizes need another torch.export.export, with dynamic_shapes for sizes that stay dynamic.',
    )
  }
  shape.forEach((size, axis) => {
    if (typeof size === 'string') names.set(size, given[axis]!)
  })
}

const requireFit = (path: string, found: OnnxTensor | undefined, meta: TensorMeta): OnnxTensor => {
  if (found === undefined) throw badRequest(`The program needs the weight '${path}', which the file does not contain.`)
  const shown = (shape: readonly Size[]) => `[${shape.join(', ')}]`
  if (shown(found.shape) !== shown(meta.shape) || found.type !== meta.type) {
    throw badRequest(
      `The weight '${path}' is ${found.type} ${shown(found.shape)}, but the program needs ${meta.type} ${shown(meta.shape)}.`,
    )
  }
  return found
}

const declareInputs = (
  archive: TorchArchive,
  scope: Scope,
  names: Map<Size, string | number>,
  options: TorchOptions,
): void => {
  const { program } = archive
  const weights = options.weights && replacedWeights(options.weights, archive, scope.read)
  let isFirst = true
  for (const { kind, name, path } of program.inputs) {
    const meta = program.graph.tensors.get(name)
    if (kind === 'other') {
      if (name === 'constant_input' || name === 'none') continue
      throw badRequest(`The program has an input of kind '${name}'. Only tensors can be inputs of an ONNX model.`)
    }
    if (meta === undefined) throw badRequest(`The program does not describe its input '${name}'.`)
    if (kind !== 'user') {
      if (!scope.read.has(name)) continue
      scope.values.set(
        name,
        scope.builder.constant(path, requireFit(path, weights?.(path, meta.type) ?? archive.weight(path), meta)),
      )
      continue
    }
    if (isFirst && options.inputShape !== undefined) fixSizes(name, meta, options.inputShape, names)
    isFirst = false
    const shape = meta.shape.map((size) => names.get(size) ?? size)
    const value = scope.builder.input(name, meta.type, shape)
    scope.values.set(name, value)
    meta.shape.forEach((size, axis) => {
      if (typeof size === 'string') scope.symbols.set(size, { value, axis })
    })
  }
}

/** The names that nodes of the graph read, and its outputs. Some inputs, such as batch counters, are never read. */
const namesRead = (graph: TorchGraph): ReadonlySet<string> =>
  new Set([...graph.nodes.flatMap(({ inputs }) => inputs.map(({ value }) => value)), ...graph.outputs].flatMap(namesOf))

const declareOutputs = (program: TorchProgram, scope: Scope, names: ReadonlyMap<Size, string | number>): void => {
  const results = program.outputs.flatMap(({ kind, value }) => (kind === 'user_output' ? [value] : []))
  const tensors = results.filter((value) => value.kind === 'tensor')
  const others = results.filter(({ kind }) => kind !== 'tensor' && kind !== 'none').length
  if (others > 0)
    scope.notes.add(`Left out ${others} of its outputs: numbers that do not depend on the input's elements.`)
  if (tensors.length === 0) throw badRequest('The program has no outputs.')
  const taken = new Set([...scope.values.values()])
  tensors.forEach((value, at) => {
    const [source, meta, lost] = [scope.values.get(value.name), scope.metas.get(value.name), scope.lost.get(value.name)]
    if (source === undefined || meta === undefined) {
      if (lost !== undefined) throw badRequest(`Output ${at} of the program cannot be converted: ${lost}.`)
      throw badRequest(`Output ${at} of the program is not a tensor that a converted operator makes.`)
    }
    let name = tensors.length === 1 ? 'output' : `output_${at}`
    while (taken.has(name)) name = `${name}_`
    const shape = meta.shape.map((size) => names.get(size) ?? (typeof size === 'number' ? size : ''))
    scope.builder.output(name, source, meta.type, shape)
  })
}

const convert = (source: ByteSource, options: TorchOptions): { model: OnnxModel; notes: string[] } => {
  const archive = readArchive(source)
  const { program } = archive
  requireSupported(program)
  const scope: Scope = {
    builder: graphBuilder('torch'),
    values: new Map(),
    metas: new Map(program.graph.tensors),
    lost: new Map(),
    makers: new Map(),
    sizes: new Map(),
    bySize: new Map(),
    symbols: new Map(),
    notes: new Set(),
    read: namesRead(program.graph),
  }
  const names: Map<Size, string | number> = dimensionNames(program)
  declareInputs(archive, scope, names, options)
  lowerGraph(scope, program.graph)
  declareOutputs(program, scope, names)
  const model = scope.builder.build()
  return { model: { ...model, graph: withoutUnused(model.graph) }, notes: [...scope.notes] }
}

/**
 * Converts the program in a `.pt2` file (torch.export.save, PyTorch 2.1 and later) to ONNX. Executes nothing in the file.
 * Throws bad_request naming the operator and its layer, and what would work.
 */
export const torchToOnnx = (source: ByteSource, options: TorchOptions = {}): { model: OnnxModel; notes: string[] } => {
  try {
    return convert(source, options)
  } catch (error) {
    if (error instanceof ServiceError || (error instanceof Error && 'syscall' in error)) throw error
    throw new ServiceError('bad_request', 'The PyTorch program is damaged. Save it again with torch.export.save.', {
      cause: error,
    })
  }
}
