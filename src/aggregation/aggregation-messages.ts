import type { StrategySettings } from '../domain/strategy-settings.ts'
import type { SecureRound } from '../secure-aggregation/server-round.ts'
import type { Received } from '../secure-aggregation/unmask.ts'
import type { DetectedFormat, WeightFormat } from '../tensors/formats.ts'
import type { Layout } from '../tensors/layout.ts'
import type { TreeLayout } from '../tensors/xgboost-trees.ts'

export interface Update {
  /** The user-chosen device ID. Updates are aggregated in the order of IDs, by UTF-16 code units. */
  readonly id: string
  readonly path: string
  /** Declared or inferred to be a bare float32 vector. */
  readonly rawVector?: boolean
  readonly numSamples: number
  /** SCAFFOLD: the change of the device's control variate, with the model's layout. */
  readonly controlPath?: string
  /** FedBuff: the model that the device started from; the global model if absent. */
  readonly basePath?: string
  /** FedBuff: the number of models since that one. */
  readonly staleness?: number
}

export interface AggregationJob {
  readonly strategy: StrategySettings
  /** The distributed model. The result keeps its container, metadata, and other content; the first update's if null. */
  readonly globalPath: string | null
  /** The distributed model is a bare float32 vector, as are all other files except the updates. */
  readonly rawVector?: boolean
  readonly updates: readonly Update[]
  /** The strategy's state after the job's previous round; null in the first round. */
  readonly statePath: string | null
  /** Where to write the state for the next round. If null, the state ends with this round. */
  readonly stateOutputPath: string | null
  /** Where SCAFFOLD writes the next global control variate for the devices, in the model's container. */
  readonly controlOutputPath: string | null
  /** The number of devices that the updates were drawn from; if null, the number of updates. */
  readonly population: number | null
  readonly privacy: PrivacyPlan | null
  /**
   * The mean change of the model in f64, as a `StateFile` with one vector, for a strategy that uses the mean change. It replaces
   * the change of the updates' float tensors.
   */
  readonly meanChangePath?: string
  /** For strategies that use one update in turn: a number that grows by one with each round. Default: 0. */
  readonly turn?: number
  /** Written from scratch; incomplete if the job fails. Files `<outputPath>.*` are scratch files and are removed at the end. */
  readonly outputPath: string
}

/** User-level differential privacy for one round: updates are clipped, the sum gets noise, and the divisor is fixed. */
export interface PrivacyPlan {
  /** The maximum L2 norm of an update's change over all float tensors. */
  readonly clipNorm: number
  /** The standard deviation of the noise on the sum, in units of clipNorm. */
  readonly noiseMultiplier: number
  /** The divisor of the noisy sum, regardless of the number of updates: the round's target. */
  readonly denominator: number
  /** 32 bytes in hex from the operating system's random source; secret, and never reused for another round. */
  readonly noiseSeed: string
  /** False for rounds from before version 1.1 and their replays, which draw one number per element and do not round. */
  readonly hardened: boolean
  /** If null, the clip norm is constant. */
  readonly adaptive: AdaptiveClipping | null
}

/** Andrew et al. 2021, "Differentially Private Learning with Adaptive Clipping". */
export interface AdaptiveClipping {
  /** Default: 0.2. */
  readonly learningRate?: number
  /** The share of updates that should not be clipped. Default: 0.5. */
  readonly targetQuantile?: number
  /** The standard deviation of the noise on the count of unclipped updates. Default: max(denominator / 20, noiseMultiplier). */
  readonly countNoise?: number
}

export interface AggregationResult {
  /** For content that is not weights, the detected format; null if unknown. */
  readonly format: WeightFormat | DetectedFormat | null
  readonly tensors: number
  readonly elements: number
  /** The weight of each update, in the order of IDs: the sum is 1, except with privacy, where each is 1 / denominator. */
  readonly weights: readonly { readonly id: string; readonly weight: number }[]
  /** Whether the files at `stateOutputPath` and `controlOutputPath` were written. */
  readonly state: { readonly written: boolean }
  readonly control: { readonly written: boolean }
  /** Null in a round without privacy. */
  readonly privacy: PrivacyOutcome | null
}

export interface PrivacyOutcome {
  /** Measured with noise by adaptive clipping; null otherwise, because no budget pays for the exact share. */
  readonly clippedFraction: number | null
  /** The clip norm of the next round; null if it is not adapted. */
  readonly nextClipNorm: number | null
}

export interface ScreeningJob {
  /** The base that changes are measured from; zero if null. */
  readonly globalPath: string | null
  readonly rawVector?: boolean
  readonly updates: readonly Pick<Update, 'id' | 'path' | 'rawVector'>[]
  /** Files `<scratchPath>.*` are scratch files and are removed at the end. */
  readonly scratchPath: string
}

/** The masked updates of a secure round, to be replaced by their mean. */
export interface UnmaskingJob {
  readonly round: SecureRound
  readonly received: Received
  /** The length of a masked update. */
  readonly words: number
  /** The masked updates of all devices that delivered. */
  readonly paths: readonly string[]
  readonly globalPath: string
  readonly rawVector: boolean
  /** `model`: a .safetensors file with the global model plus the mean change. `change`: only that, for `meanChangePath`. */
  readonly output: 'model' | 'change'
  readonly outputPath: string
}

/** Compares one update with the others. All numbers cover the finite elements of float tensors. */
export interface Screened {
  readonly id: string
  /** L2 norm of the update's change. */
  readonly norm: number
  /** The cosine of the update's change and the coordinate-wise median change, -1 to 1; null if either is zero. */
  readonly cosine: number | null
  /** Elements that are NaN or infinite. */
  readonly nonFinite: number
}

/** How to treat unrecognized content: as `declared` to be a bare float32 vector, as one if it is `plausible`, or unchanged. */
export type RawVectors = 'declared' | 'plausible' | 'none'

export interface InspectionOptions {
  /** Null accepts any layout and content that is not weights. */
  readonly expected: Layout | null
  readonly rawVectors: RawVectors
  /** A model that a round or job starts from, not an update. */
  readonly isModel?: true
  /** The round combines trees, so the file must be a tree model. */
  readonly trees?: boolean
  /** Of the round's tree model, with which an update must be combinable. */
  readonly expectedTrees?: TreeLayout
}

export interface Inspection {
  /** The detected format; null if unknown. */
  readonly format: DetectedFormat | null
  /** Declared or inferred to be a bare float32 vector. */
  readonly rawVector: boolean
  /** Null for content that is not weights: stored unchanged, never averaged. */
  readonly layout: Layout | null
  /** Of a tree model. */
  readonly treeLayout?: TreeLayout
  /** For content that is not weights: what to do about it. */
  readonly advice?: string
  /** A warning for the sender. */
  readonly warning: string | null
}

/** Messages between the main and worker threads. */
export type Request =
  | { readonly kind: 'inspect'; readonly path: string; readonly options: InspectionOptions }
  | { readonly kind: 'why-opaque'; readonly path: string }
  | { readonly kind: 'aggregate'; readonly job: AggregationJob }
  | { readonly kind: 'screen'; readonly job: ScreeningJob }
  | { readonly kind: 'unmask'; readonly job: UnmaskingJob }

export type Reply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: { readonly code: string; readonly message: string; readonly stack: string } }
