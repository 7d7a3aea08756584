import { attributeOf, ELEMENT_TYPES, type ElementType, type OnnxModel, type OnnxNode } from '../onnx/model.ts'

type TypeRule = (node: OnnxNode, inputs: readonly (ElementType | undefined)[]) => readonly (ElementType | undefined)[]

const always =
  (...types: readonly ElementType[]): TypeRule =>
  () =>
    types
const ofInput =
  (index: number): TypeRule =>
  (_, inputs) => [inputs[index]]
const named =
  (attribute: string): TypeRule =>
  (node) => {
    const number = attributeOf(node, attribute, 'int', null)
    return [number === null ? 'f32' : ELEMENT_TYPES[number]]
  }
const ofValue: TypeRule = (node) => {
  const { value } = node.attributes
  if (value?.kind === 'tensor') return [value.value.type]
  return [node.type === 'ConstantOfShape' || 'value_float' in node.attributes ? 'f32' : undefined]
}
const unknown: TypeRule = () => []

const rules = (names: string, rule: TypeRule): [string, TypeRule][] => names.split(' ').map((name) => [name, rule])

/** Operators whose outputs differ in type from their first input (onnx, Operators.md). */
const RULES = new Map<string, TypeRule>([
  ...rules('Equal Greater Less GreaterOrEqual LessOrEqual And Or Xor Not IsInf IsNaN', always('bool')),
  ...rules('Shape Size ArgMax ArgMin NonZero NonMaxSuppression', always('i64')),
  ...rules('MatMulInteger ConvInteger', always('i32')),
  ...rules('TopK MaxPool', (_, [first]) => [first, 'i64']),
  ...rules('Dropout', (_, [first]) => [first, 'bool']),
  ...rules('LayerNormalization', (_, [first]) => [first, 'f32', 'f32']),
  ...rules('DynamicQuantizeLinear', always('u8', 'f32', 'u8')),
  ...rules('QuantizeLinear', (_, [, , zero]) => [zero ?? 'u8']),
  ...rules('Where DequantizeLinear CastLike', ofInput(1)),
  ...rules('OneHot', ofInput(2)),
  ...rules('Constant ConstantOfShape', ofValue),
  ...rules('Cast', named('to')),
  ...rules('RandomNormal RandomUniform', named('dtype')),
  ...rules(
    'If Loop Scan Unique Bernoulli Multinomial EyeLike RandomNormalLike RandomUniformLike ImageDecoder ' +
      'SequenceConstruct SequenceInsert SequenceErase SequenceEmpty SequenceLength SequenceAt SequenceMap ' +
      'SplitToSequence ConcatFromSequence Optional OptionalGetElement OptionalHasElement ' +
      'TfIdfVectorizer StringNormalizer StringConcat StringSplit RegexFullMatch QLinearConv QLinearMatMul',
    unknown,
  ),
])

const sameAsFirst: TypeRule = ({ outputs }, [first]) => outputs.map(() => first)

/** The element type of each value of the graph, as far as it follows from the inputs and constants. */
export const valueTypes = ({ graph }: OnnxModel): ((value: string) => ElementType | undefined) => {
  const types = new Map<string, ElementType>()
  for (const { name, type, container } of graph.inputs) if (container === undefined) types.set(name, type)
  for (const [name, { type }] of graph.initializers) types.set(name, type)
  for (const node of graph.nodes) {
    const rule = node.domain === '' ? (RULES.get(node.type) ?? sameAsFirst) : unknown
    const results = rule(
      node,
      node.inputs.map((name) => types.get(name)),
    )
    for (const [index, name] of node.outputs.entries()) {
      const type = results[index]
      if (type !== undefined && name !== '') types.set(name, type)
    }
  }
  return (value) => types.get(value)
}
