import { badRequest } from '../../domain/errors.ts'
import { type Attribute, int, type OnnxModel, type OnnxNode, type OnnxTensor } from '../onnx/model.ts'
import { numbersOf, tensorOf } from '../onnx/tensors.ts'
import { capturedNames, editedModel, editGraph, type GraphEdit } from './graph-edit.ts'
import { leavesHalf, MAX_HALF } from './weight-range.ts'

const FLOAT = 1
const HALF = 10

/**
 * Operators that stay in float32: those without a half-precision form in all operator sets, and those whose sums or powers
 * exceed its range. Operators of other domains stay as well.
 */
const KEPT: ReadonlySet<string> = new Set(
  (
    'Resize Upsample NonMaxSuppression TopK RoiAlign MaxRoiPool Range CumSum Min Max IsInf IsNaN Pow Exp ReduceSumSquare ' +
    'ReduceL2 ReduceLogSumExp ReduceProd LpNormalization LpPool MeanVarianceNormalization GridSample Multinomial ' +
    'RandomNormal RandomNormalLike RandomUniform RandomUniformLike Bernoulli EyeLike OneHot QuantizeLinear ' +
    'DequantizeLinear DynamicQuantizeLinear STFT DFT MelWeightMatrix BlackmanWindow HannWindow HammingWindow ' +
    'SequenceConstruct SequenceInsert SequenceAt SequenceEmpty SplitToSequence ConcatFromSequence Optional ' +
    'OptionalGetElement ImageDecoder StringNormalizer TfIdfVectorizer Unique Det SoftmaxCrossEntropyLoss ' +
    'NegativeLogLikelihoodLoss Constant Einsum CastLike BitCast'
  ).split(' '),
)

/** Vectors and scalars may be small on purpose, such as a term added before a division. */
const isOutOfRange = (tensor: OnnxTensor): boolean => {
  if (tensor.type !== 'f32') return false
  const values = numbersOf(tensor)
  return tensor.shape.length > 1 ? leavesHalf(values) : values.some(overflows)
}

const overflows = (value: number): boolean => Math.abs(value) > MAX_HALF && Math.abs(value) < 1e300

const halfOf = (tensor: OnnxTensor): OnnxTensor => tensorOf('f16', tensor.shape, numbersOf(tensor))

/** Attributes that name an element type or hold numbers of that type. */
const halfAttributes = (node: OnnxNode): OnnxNode['attributes'] => {
  const result: Record<string, Attribute> = { ...node.attributes }
  if (node.type === 'Cast' && node.attributes.to?.value === FLOAT) result.to = int(HALF)
  // The default value is a float32 zero.
  if (node.type === 'ConstantOfShape') result.value = { kind: 'tensor', value: tensorOf('f16', [1], [0]) }
  const { value } = node.attributes
  if (value?.kind === 'tensor' && value.value.type === 'f32')
    result.value = { kind: 'tensor', value: halfOf(value.value) }
  return result
}

/**
 * Converts the model to half precision, except for its inputs and outputs. `typeOf` gives the element type of each value;
 * nodes with values of unknown type are not converted. Casts connect converted and unconverted nodes.
 */
export const toFloat16 = (model: OnnxModel, typeOf: (value: string) => string | undefined): OnnxModel => {
  const edit = editGraph(model)
  const isFloat = (name: string): boolean => typeOf(name) === 'f32'
  const isKept = new Set([...edit.initializers].filter(([, tensor]) => isOutOfRange(tensor)).map(([name]) => name))
  const converts = (node: OnnxNode): boolean => {
    const values = [...node.inputs, ...node.outputs].filter((name) => name !== '')
    return (
      node.domain === '' &&
      !KEPT.has(node.type) &&
      capturedNames(node).size === 0 &&
      values.some(isFloat) &&
      values.every((name) => typeOf(name) !== undefined && !isKept.has(name))
    )
  }
  if (!edit.source.nodes.some(converts)) {
    const words = isKept.size === 0 ? '' : `; outside the range of float16: ${[...isKept].slice(0, 3).join(', ')}`
    throw badRequest(`The model has no float32 operators to convert to float16${words}.`)
  }
  rewrite(edit, isFloat, converts)
  return editedModel(model, edit)
}

/** Each float32 value may have a twin in half precision, created on first use. */
const rewrite = (edit: GraphEdit, isFloat: (name: string) => boolean, converts: (node: OnnxNode) => boolean): void => {
  const { source, initializers } = edit
  const twins = new Map<string, string>()
  const present = new Set([...initializers.keys(), ...source.inputs.map(({ name }) => name), ''])
  const twinOf = (name: string): string => {
    const known = twins.get(name)
    if (known !== undefined) return known
    const constant = initializers.get(name)
    const twin =
      constant === undefined
        ? edit.emit('Cast', [name], { to: int(HALF) }, { output: edit.name(`${name}_f16`) })
        : edit.constant(`${name}_f16`, halfOf(constant))
    twins.set(name, twin)
    return twin
  }
  const original = (name: string): string => {
    if (!present.has(name) && twins.has(name)) {
      edit.emit('Cast', [twins.get(name)!], { to: int(FLOAT) }, { output: name })
      present.add(name)
    }
    return name
  }
  for (const node of source.nodes) {
    if (!converts(node)) {
      for (const name of [...node.inputs, ...capturedNames(node)]) original(name)
      edit.nodes.push(node)
      for (const name of node.outputs) present.add(name)
      continue
    }
    const inputs = node.inputs.map((name) => (isFloat(name) ? twinOf(name) : original(name)))
    const outputs = node.outputs.map((name) => {
      if (!isFloat(name) || name === '') {
        present.add(name)
        return name
      }
      const twin = edit.name(`${name}_f16`)
      twins.set(name, twin)
      return twin
    })
    edit.nodes.push({ ...node, inputs, outputs, attributes: halfAttributes(node) })
  }
  for (const { name } of source.outputs) original(name)
}
