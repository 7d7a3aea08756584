import { badRequest, ServiceError } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { type Constant, constantOf, tensorOfConstant } from './constants.ts'
import { evaluateConstant } from './evaluate-constants.ts'
import { type ElementType, elementCount, nodeLabel, type OnnxModel, type OnnxTensor, type OnnxValue } from './model.ts'
import { DataDependent, type NodeContext, nodeContext, type StaticValue } from './node-context.ts'
import { SHAPE_RULES } from './shape-rules.ts'

/** Shapes for the graph's inputs: by name, or the shape of the first input. */
export type InputShapes = Readonly<Record<string, readonly number[]>> | readonly number[]

const MAX_ELEMENTS = 2 ** 40
/** Constants of up to this many elements are computed, because shapes may depend on them. */
const MAX_SHAPE_ELEMENTS = 65_536

const shapeIsPossible = (shape: readonly number[]): boolean =>
  shape.every((size) => Number.isSafeInteger(size) && size >= 0) && elementCount(shape) <= MAX_ELEMENTS

/** The limit of elements in all computed constants together, plus two for each element of the file's constants. */
const MAX_GROWTH = 2 ** 24

/** Runs code that may fail on an invalid model; every failure is a bad_request that names the location. */
export const guarded = <Result>(where: string, run: () => Result): Result => {
  try {
    return run()
  } catch (error) {
    if (error instanceof DataDependent) throw error
    const reason = error instanceof ServiceError ? error.message : 'the model is damaged.'
    throw badRequest(reason.startsWith(where) ? reason : `${where}: ${reason}`)
  }
}

const isList = (shapes: InputShapes): shapes is readonly number[] => Array.isArray(shapes)

/** The sizes of the named dimensions in the given shapes. Throws bad_request if a shape does not match its input. */
const namedSizes = (inputs: readonly OnnxValue[], given: ReadonlyMap<string, readonly number[]>) => {
  const sizes = new Map<string, number>()
  for (const [name, shape] of given) {
    const input = inputs.find((candidate) => candidate.name === name)
    if (input === undefined) {
      throw badRequest(`There is no input '${name}'; the model has ${inputs.map((one) => `'${one.name}'`).join(', ')}.`)
    }
    if (!shapeIsPossible(shape)) {
      throw badRequest(
        `The input shape [${shape.join(', ')}] must have whole numbers from 0, and at most 2^40 elements.`,
      )
    }
    const declared = input.shape
    if (declared === null) continue
    const fits =
      declared.length === shape.length && declared.every((size, at) => typeof size === 'string' || size === shape[at])
    if (!fits) {
      throw badRequest(
        `The input shape [${shape.join(', ')}] does not fit the input '${name}' of [${declared.join(', ')}].`,
      )
    }
    for (const [at, size] of declared.entries()) if (typeof size === 'string') sizes.set(size, shape[at]!)
  }
  return sizes
}

/** What is known before a model runs: the shapes of its values, and the constants among them. */
export interface Analysis {
  readonly values: Map<string, StaticValue>
  readonly constants: Map<string, OnnxTensor>
  readonly contextOf: (node: OnnxModel['graph']['nodes'][number]) => NodeContext
}

/**
 * Infers the shapes of all values, and the constants of up to `maxElements` each. Throws bad_request naming a node whose
 * inputs do not fit its operator.
 */
export const analyze = (model: OnnxModel, inputShapes?: InputShapes, maxElements = MAX_SHAPE_ELEMENTS): Analysis => {
  const { graph, opsets } = model
  const first = graph.inputs[0]?.name ?? ''
  const given = new Map(
    inputShapes === undefined ? [] : isList(inputShapes) ? [[first, inputShapes]] : Object.entries(inputShapes),
  )
  const sizes = namedSizes(graph.inputs, given)
  const fix = (shape: readonly (number | string)[]) =>
    shape.map((size) => (typeof size === 'number' ? size : (sizes.get(size) ?? 1)))

  const values = new Map<string, StaticValue>()
  const constants = new Map<string, OnnxTensor>()
  const decoded = new WeakMap<OnnxTensor, Constant>()
  const constantNamed = (name: string): Constant | undefined => {
    const tensor = constants.get(name)
    if (tensor === undefined || tensor.type === 'string') return undefined
    const found = decoded.get(tensor) ?? constantOf(tensor)
    if (elementCount(tensor.shape) <= MAX_SHAPE_ELEMENTS) decoded.set(tensor, found)
    return found
  }
  const addConstant = (name: string, tensor: OnnxTensor) => {
    constants.set(name, tensor)
    values.set(name, { type: tensor.type, shape: tensor.shape })
  }
  for (const input of graph.inputs) {
    if (input.container !== undefined) continue
    const shape = given.get(input.name) ?? input.shape
    if (shape !== null && shape !== undefined) values.set(input.name, { type: input.type, shape: fix(shape) })
  }
  let remaining = MAX_GROWTH
  for (const [name, tensor] of graph.initializers) {
    addConstant(name, tensor)
    remaining += 2 * elementCount(tensor.shape)
  }
  const declared = new Map([...graph.values, ...graph.outputs].map((value) => [value.name, value]))
  const contextOf = (node: OnnxModel['graph']['nodes'][number]) =>
    nodeContext(node, ownEntry(opsets, node.domain) ?? 1, values, constantNamed)

  for (const node of graph.nodes) {
    const context = contextOf(node)
    const results = guarded(nodeLabel(node), () => inferNode(context))
    for (const [at, name] of node.outputs.entries()) {
      const value = results[at] ?? declaredValue(declared.get(name), graph.inputs, fix)
      if (name !== '' && value !== undefined) values.set(name, value)
    }
    const outputs = guarded(nodeLabel(node), () =>
      unlessDataDependent(() => evaluateConstant(context, results, constants, Math.min(maxElements, remaining))),
    )
    for (const [at, output] of outputs.entries()) {
      const tensor = 'data' in output ? output : tensorOfConstant(output)
      if ((node.outputs[at] ?? '') !== '') addConstant(node.outputs[at]!, tensor)
      // Constant and Identity hold elements that are in the file.
      if (node.type === 'Constant') remaining += 2 * elementCount(tensor.shape)
      else if (node.type !== 'Identity') remaining -= elementCount(tensor.shape)
    }
  }
  return { values, constants, contextOf }
}

/** The value's declaration in the file, unless it has a named dimension that no input has and that thus depends on data. */
const declaredValue = (
  value: OnnxValue | undefined,
  inputs: readonly OnnxValue[],
  fix: (shape: readonly (number | string)[]) => number[],
): StaticValue | undefined => {
  if (value === undefined || value.shape === null || value.container !== undefined) return undefined
  const named = value.shape.filter((size) => typeof size === 'string')
  const known = named.every((size) => inputs.some(({ shape }) => shape?.includes(size)))
  return known ? { type: value.type, shape: fix(value.shape) } : undefined
}

/** Empty if the operator is unknown or its shape depends on data. */
const inferNode = (context: NodeContext): readonly StaticValue[] => {
  const { domain, type } = context.node
  const rule = domain === '' || domain === 'ai.onnx.ml' ? ownEntry(SHAPE_RULES, type) : undefined
  if (rule === undefined || !Object.hasOwn(SHAPE_RULES, type)) return []
  const results = unlessDataDependent(() => rule(context))
  for (const { shape } of results) {
    if (!shapeIsPossible(shape)) throw badRequest(`its output would have the shape [${shape.join(', ')}].`)
  }
  return results
}

const unlessDataDependent = <Item>(list: () => readonly Item[]): readonly Item[] => {
  try {
    return list()
  } catch (error) {
    if (error instanceof DataDependent) return []
    throw error
  }
}

/**
 * Returns the static type and shape of every value. Named dimensions get their size from the given input shapes, otherwise
 * 1. Omits values with data-dependent shapes, and outputs of unknown operators that the file does not describe. Throws
 * bad_request naming the input or node if shapes do not fit.
 */
export const inferShapes = (
  model: OnnxModel,
  inputShapes?: InputShapes,
): Map<string, { type: ElementType; shape: number[] }> =>
  new Map([...analyze(model, inputShapes).values].map(([name, { type, shape }]) => [name, { type, shape: [...shape] }]))
