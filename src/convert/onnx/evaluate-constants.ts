import { badRequest } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { decodeElements } from '../../tensors/elements.ts'
import { ARITHMETIC } from './constant-arithmetic.ts'
import { ARRANGEMENT } from './constant-arrangement.ts'
import type { Evaluate } from './constant-operator.ts'
import type { Constant } from './constants.ts'
import { elementCount, type OnnxTensor } from './model.ts'
import type { NodeContext, StaticValue } from './node-context.ts'

const OPERATORS: Readonly<Record<string, Evaluate>> = { ...ARITHMETIC, ...ARRANGEMENT }

/** Operators that need only the shape of an input. */
const OF_SHAPE: Readonly<Record<string, Evaluate>> = {
  ConstantOfShape: (context, [output]) => {
    const fill = context.node.attributes.value
    const value = fill?.kind === 'tensor' ? (decodeElements(fill.value.data, output!.type as 'f32')[0] ?? 0) : 0
    return [new Float64Array(elementCount(output!.shape)).fill(value)]
  },
  Shape: (context, [output]) => {
    const start = context.int('start')
    const { shape } = context.input(0)
    const first = Math.min(Math.max(start < 0 ? start + shape.length : start, 0), shape.length)
    return [shape.slice(first, first + output!.shape[0]!)]
  },
  Size: (context) => [[elementCount(context.input(0).shape)]],
}

/** The tensor of a Constant node. */
const constantNode = (context: NodeContext): (Constant | OnnxTensor)[] => {
  const [name, attribute] = Object.entries(context.node.attributes)[0] ?? ['', undefined]
  if (attribute?.kind === 'tensor') return [attribute.value]
  if (attribute?.kind === 'string' || attribute?.kind === 'strings') return []
  if (attribute === undefined || attribute.kind === 'graph')
    throw badRequest(`The attribute '${name}' is not a constant.`)
  const values = typeof attribute.value === 'number' ? [attribute.value] : [...attribute.value]
  const type = attribute.kind.startsWith('float') ? 'f32' : 'i64'
  return [{ type, shape: typeof attribute.value === 'number' ? [] : [values.length], values }]
}

/**
 * Evaluates a node whose inputs are all constant, or which needs only shapes. Empty if it must be computed at run time, or
 * if an input or output has more than `maxElements` elements.
 */
export const evaluateConstant = (
  context: NodeContext,
  outputs: readonly StaticValue[],
  constants: ReadonlyMap<string, OnnxTensor>,
  maxElements: number,
): readonly (Constant | OnnxTensor)[] => {
  const { node } = context
  if (node.domain !== '') return []
  if (node.type === 'Constant') return constantNode(context)
  const inputs = node.inputs.filter((name) => name !== '')
  if (node.type === 'Identity' && constants.has(inputs[0] ?? '')) return [constants.get(inputs[0]!)!]
  const count = Math.max(0, ...outputs.map(({ shape }) => elementCount(shape)))
  if (outputs.length === 0 || count > maxElements || outputs.some(({ type }) => type === 'string')) return []
  const ofShape = ownEntry(OF_SHAPE, node.type)
  const operator = ownEntry(OPERATORS, node.type)
  const known = inputs.every((name) => {
    const tensor = constants.get(name)
    return tensor !== undefined && tensor.type !== 'string' && elementCount(tensor.shape) <= maxElements
  })
  const evaluate = ofShape ?? (known ? operator : undefined)
  if (evaluate === undefined) return []
  const results = evaluate(context, outputs)
  return results.flatMap((values, index) => {
    const output = outputs[index]
    return output === undefined ? [] : [{ ...output, values }]
  })
}
