import { type Dataset, type Split, splitDataset } from './dataset.ts'
import { type Random, seededRandom } from './random.ts'

export interface SyntheticOptions {
  /** The standard deviations of the devices' true models, and of their inputs. */
  readonly alpha: number
  readonly beta: number
  readonly devices: number
  readonly seed: number
  /** 60 and 10 in the paper. */
  readonly features?: number
  readonly classes?: number
  /** The maximum number of rows per device; the paper's lognormal distribution has a very long tail. */
  readonly maxRows?: number
}

const device = (random: Random, shape: Required<SyntheticOptions>): Dataset => {
  const { alpha, beta, features: width, classes, maxRows } = shape
  const count = Math.min(maxRows, Math.floor(Math.exp(random.normal(4, 2))) + 50)
  const modelMean = random.normal(0, alpha)
  const inputMean = random.normal(0, beta)
  const center = Float64Array.from({ length: width }, () => random.normal(inputMean, 1))
  const weight = Float64Array.from({ length: classes * width }, () => random.normal(modelMean, 1))
  const bias = Float64Array.from({ length: classes }, () => random.normal(modelMean, 1))
  const features = new Float64Array(count * width)
  const labels = new Uint32Array(count)
  for (let row = 0; row < count; row++) {
    for (let index = 0; index < width; index++) {
      // Sigma = diag(j^-1.2) is a covariance: the standard deviation is its square root, j^-0.6.
      features[row * width + index] = random.normal(center[index]!, (index + 1) ** -0.6)
    }
    let best = Number.NEGATIVE_INFINITY
    for (let label = 0; label < classes; label++) {
      let score = bias[label]!
      for (let index = 0; index < width; index++)
        score += weight[label * width + index]! * features[row * width + index]!
      if (score > best) {
        best = score
        labels[row] = label
      }
    }
  }
  return { featureCount: width, features, labels }
}

/**
 * FedProx's Synthetic(alpha, beta) (Li et al. 2020, section 5.1): every device has its own true model and its own region of
 * inputs. u_k ~ N(0, alpha), B_k ~ N(0, beta), v_k ~ N(B_k, 1), x ~ N(v_k, diag(j^-1.2)), W_k, b_k ~ N(u_k, 1), y = argmax(W_k
 * x + b_k), int(lognormal(4, 2)) + 50 rows, a tenth of which are held out. The same seed gives the same rows.
 */
export const syntheticDevices = (options: SyntheticOptions): Split[] => {
  const shape = { features: 60, classes: 10, maxRows: Number.POSITIVE_INFINITY, ...options }
  const random = seededRandom(options.seed)
  return Array.from({ length: options.devices }, (_, index) =>
    splitDataset(device(random, shape), 0.1, options.seed * 1000 + index),
  )
}
