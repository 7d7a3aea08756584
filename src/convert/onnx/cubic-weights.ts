export interface CubicResize {
  /** The kernel's coefficient: -0.5 in TensorFlow, -0.75 in PyTorch. */
  readonly coefficient: number
  /** True if elements outside count as 0 and the other weights are scaled up; otherwise the border is repeated. */
  readonly excludesOutside: boolean
  /** The source position of an output element. */
  readonly positionOf: (place: number) => number
}

/** Source: Keys (1981), cubic convolution. */
const kernel = (distance: number, a: number): number => {
  const d = Math.abs(distance)
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1
  return d < 2 ? (((d - 5) * d + 8) * d - 4) * a : 0
}

/**
 * The weights of a cubic resize along an axis: [to, from], or [from, to] with `isTransposed`. onnxruntime moves transpositions
 * through Resize, and then rejects a cubic one to a smaller size.
 */
export const cubicWeights = (from: number, to: number, options: CubicResize, isTransposed: boolean): Float64Array => {
  const { coefficient, excludesOutside, positionOf } = options
  const weights = new Float64Array(to * from)
  for (let place = 0; place < to; place++) {
    const position = positionOf(place)
    const first = Math.floor(position) - 1
    let total = 0
    for (let at = first; at < first + 4; at++) {
      if (excludesOutside && (at < 0 || at >= from)) continue
      const weight = kernel(position - at, coefficient)
      weights[place * from + Math.min(Math.max(at, 0), from - 1)]! += weight
      total += weight
    }
    for (let at = 0; at < from; at++) weights[place * from + at]! /= total
  }
  return isTransposed ? weights.map((_, at) => weights[(at % to) * from + Math.floor(at / to)]!) : weights
}
