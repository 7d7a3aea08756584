import { badRequest } from '../../domain/errors.ts'
import { createRandom } from '../../domain/random-numbers.ts'
import { type ElementType, elementCount, type OnnxModel, type OnnxValue } from '../onnx/model.ts'
import { formOf, type Sample } from './samples.ts'

const FLOATS: readonly ElementType[] = ['f32', 'f64', 'f16', 'bf16']

/** Sizes for dimensions without a fixed number: 1 for the batch; the others are large enough for typical models. */
const DYNAMIC_SIZE = 16
const DYNAMIC_IMAGE_SIZE = 64
const MAX_ELEMENTS = 2 ** 26

const fixedShape = ({ name, shape }: OnnxValue): number[] => {
  if (shape === null) throw badRequest(`The shape of the input '${name}' is not known. Give samples with --data.`)
  const other = shape.length === 4 ? DYNAMIC_IMAGE_SIZE : DYNAMIC_SIZE
  const fixed = shape.map((size, axis) => (typeof size === 'number' && size > 0 ? size : axis === 0 ? 1 : other))
  if (elementCount(fixed) > MAX_ELEMENTS) {
    throw badRequest(
      `The input '${name}' has the shape [${fixed.join(', ')}], too large for generated samples. Give some with --data.`,
    )
  }
  return fixed
}

/** Operators that pass an index through, or that convert negative indices, which count from the end. */
const INDEX_PASSING: ReadonlySet<string> = new Set(
  'Cast Add Where Reshape Squeeze Unsqueeze Flatten Identity'.split(' '),
)

/** The exclusive limit for generated integers: the number of rows of the table that the input indexes; 2 without one. */
const integerLimit = ({ graph }: OnnxModel, input: string): number => {
  if (/mask/i.test(input)) return 1
  const names = new Set([input])
  for (const { type, inputs, outputs } of graph.nodes) {
    if (INDEX_PASSING.has(type) && inputs.some((name) => names.has(name))) names.add(outputs[0] ?? '')
    const table = type === 'Gather' && names.has(inputs[1] ?? '') ? graph.initializers.get(inputs[0] ?? '') : undefined
    if (table !== undefined) return table.shape[0] ?? 1
  }
  return 2
}

/** Numeric rows for an input, such as those of training data: [rows, columns]. */
export type Rows = readonly (readonly number[])[]

/** Operators whose output begins with the columns of their first input. */
const COLUMN_PASSING: ReadonlySet<string> = new Set(['Cast', 'Identity', 'Concat'])

/** The thresholds of trees for each column of an input; null if no trees read the input directly. */
const treeThresholds = ({ graph }: OnnxModel, input: string, columns: number): readonly number[][] | null => {
  const names = new Set([input])
  const thresholds = Array.from({ length: columns }, (): number[] => [])
  for (const { type, domain, inputs, outputs, attributes } of graph.nodes) {
    if (!names.has(inputs[0] ?? '')) continue
    if (COLUMN_PASSING.has(type)) names.add(outputs[0] ?? '')
    if (domain !== 'ai.onnx.ml' || !type.startsWith('TreeEnsemble')) continue
    const { nodes_featureids: features, nodes_values: values, nodes_modes: modes } = attributes
    if (features?.kind !== 'ints' || values?.kind !== 'floats' || modes?.kind !== 'strings') continue
    for (const [at, feature] of features.value.entries())
      if (modes.value[at] !== 'LEAF') thresholds[Number(feature)]?.push(values.value[at]!)
  }
  return thresholds.some((values) => values.length > 0) ? thresholds : null
}

/** Numbers at and between the thresholds of trees; other numbers often all lie on one side of them. */
const nearThresholds = (thresholds: readonly number[][], random: () => number, normal: () => number): number[] =>
  thresholds.map((values) => {
    const value = values[Math.floor(random() * values.length)]
    const other = values[Math.floor(random() * values.length)]
    return value === undefined || other === undefined
      ? normal()
      : value + (other - value) * Math.floor(random() * 3) * 0.5
  })

/**
 * Generates inputs for a model: the given rows, if there are any for an input; numbers near thresholds if trees compare it;
 * otherwise, depending on its shape, floats from the standard normal distribution, integers uniform over the rows that they
 * index, or masks of ones. @throws bad_request for inputs that are not numeric tensors
 */
export const generateSamples = (
  model: OnnxModel,
  count: number,
  rows: Readonly<Record<string, Rows>> = {},
): readonly Sample[] => {
  const random = createRandom(1)
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const inputs = model.graph.inputs.map((input) => {
    const isMask = /mask/i.test(input.name)
    const limit = integerLimit(model, input.name)
    const isFloat = FLOATS.includes(input.type)
    const draw = isFloat ? normal : () => (isMask ? 1 : Math.floor(random() * limit))
    const dims = fixedShape(input)
    const columns = dims.at(-1) ?? 1
    const thresholds = isFloat && dims.length === 2 ? treeThresholds(model, input.name, columns) : null
    const given = rows[input.name]?.filter(({ length }) => length === columns) ?? []
    const rowAt = (at: number): ArrayLike<number> | null =>
      given[at % given.length] ?? (thresholds && nearThresholds(thresholds, random, normal))
    const values = (sample: number): Float64Array => {
      const all = new Float64Array(elementCount(dims))
      const batch = all.length / columns
      for (let row = 0; row < batch; row++) {
        const own = rowAt(sample * batch + row)
        for (let at = 0; at < columns; at++) all[row * columns + at] = own?.[at] ?? draw()
      }
      return all
    }
    return { input, form: formOf(input), dims, values }
  })
  return Array.from({ length: count }, (_, sample) =>
    Object.fromEntries(
      inputs.map(({ input, form: { type, from }, dims, values }) => [
        input.name,
        { type, dims, data: from(values(sample)) },
      ]),
    ),
  )
}
