import type { OnnxModel } from '../onnx/model.ts'

/** An output of a run: numbers, or strings such as labels. */
export interface OutputTensor {
  readonly type: string
  readonly dims: readonly number[]
  readonly data: ArrayLike<number | bigint | string>
}
export type Outputs = Readonly<Record<string, OutputTensor>>

export interface Quality {
  /** The mean over samples of the lowest cosine similarity between an output and the original's. */
  readonly cosine: number
  /** The share of samples with the same most likely class; null if the model is not a classifier. */
  readonly agreement: number | null
}

/** The value to compare with a threshold: the lower of both. */
export const qualityOf = ({ cosine, agreement }: Quality): number => Math.min(cosine, agreement ?? 1)

/** Operators that end a classifier with a row of scores. Embeddings end otherwise. */
const SCORES: ReadonlySet<string> = new Set(
  'Softmax LogSoftmax Gemm LinearClassifier TreeEnsembleClassifier SVMClassifier ZipMap'.split(' '),
)
/** Operators that do not change the most likely class. */
const PASSED: ReadonlySet<string> = new Set(['Identity', 'Cast', 'Reshape', 'Squeeze', 'Flatten', 'Add'])

/** The outputs whose largest number identifies a class: [batch, classes] scores of a last layer. */
export const classifierOutputs = ({ graph }: OnnxModel): ReadonlySet<string> => {
  const producers = new Map(graph.nodes.flatMap((node) => node.outputs.map((name) => [name, node] as const)))
  const endsInScores = (name: string, depth = 0): boolean => {
    const node = producers.get(name)
    if (node === undefined || depth > 8) return false
    if (SCORES.has(node.type) || (node.type === 'MatMul' && depth > 0)) return true
    return PASSED.has(node.type) && node.inputs.some((input) => endsInScores(input, depth + 1))
  }
  const isRow = (shape: readonly unknown[] | null) => shape === null || (shape.length === 2 && shape[1] !== 1)
  return new Set(
    graph.outputs
      .filter(({ type, shape }) => ['f32', 'f16', 'f64'].includes(type) && isRow(shape))
      .map(({ name }) => name)
      .filter((name) => endsInScores(name)),
  )
}

const isFloat = ({ type }: OutputTensor): boolean => type.startsWith('float')

const cosineOf = (one: ArrayLike<number>, other: ArrayLike<number>): number => {
  let [product, square, otherSquare] = [0, 0, 0]
  for (let at = 0; at < one.length; at++) {
    const [a, b] = [one[at]!, other[at] ?? Number.NaN]
    // Equal infinities, as in masks, agree.
    if (a === b && !Number.isFinite(a)) continue
    product += a * b
    square += a * a
    otherSquare += b * b
  }
  if (square === 0 && otherSquare === 0) return 1
  const cosine = product / Math.sqrt(square * otherSquare)
  return Number.isFinite(cosine) ? Math.max(-1, Math.min(1, cosine)) : 0
}

const classesOf = ({ data, dims }: OutputTensor): number[] => {
  const width = dims.at(-1) ?? 1
  return Array.from({ length: Math.floor(data.length / width) }, (_, row) => {
    let best = 0
    for (let at = 1; at < width; at++) if (data[row * width + at]! > data[row * width + best]!) best = at
    return best
  })
}

const share = (values: readonly boolean[]): number => values.filter(Boolean).length / Math.max(1, values.length)
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)

/** Compares a quantized model's outputs with the original's for the same samples. */
export const compareOutputs = (
  original: readonly Outputs[],
  quantized: readonly Outputs[],
  classifiers: ReadonlySet<string>,
): Quality => {
  const cosines: number[] = []
  const agreements: boolean[] = []
  for (const [index, expected] of original.entries()) {
    const given = quantized[index] ?? {}
    const ofSample: number[] = []
    for (const [name, output] of Object.entries(expected)) {
      const other = given[name]
      if (other === undefined) ofSample.push(0)
      else if (isFloat(output))
        ofSample.push(cosineOf(output.data as ArrayLike<number>, other.data as ArrayLike<number>))
      else agreements.push(...Array.from(output.data, (label, at) => label === other.data[at]))
      if (other !== undefined && classifiers.has(name)) {
        const classes = classesOf(other)
        agreements.push(...classesOf(output).map((best, row) => best === classes[row]))
      }
    }
    if (ofSample.length > 0) cosines.push(Math.min(...ofSample))
  }
  return {
    cosine: cosines.length === 0 ? share(agreements) : mean(cosines),
    agreement: agreements.length === 0 ? null : share(agreements),
  }
}
