import type { StrategySettings } from '../domain/strategy-settings.ts'
import type { DetectedFormat, WeightFormat } from '../tensors/formats.ts'
import type { Layout } from '../tensors/layout.ts'

export interface Update {
  /** The user-chosen device id: updates are added up in the order of these, by UTF-16 code units. */
  readonly id: string
  readonly path: string
  /** It was declared a bare float32 vector, or was taken for one. */
  readonly rawVector?: boolean
  readonly numSamples: number
  /** SCAFFOLD: the change of the device's control variate, with the model's layout. */
  readonly controlPath?: string
  /** FedBuff: the model that the device started from; without one, the global model. */
  readonly basePath?: string
  /** FedBuff: how many models there were after that one. */
  readonly staleness?: number
}

export interface AggregationJob {
  readonly strategy: StrategySettings
  /** The distributed model, whose container, metadata and further content the result takes over; null: the first update. */
  readonly globalPath: string | null
  /** The distributed model is a bare float32 vector, and so is everything that comes with it but the updates. */
  readonly rawVector?: boolean
  readonly updates: readonly Update[]
  /** What the strategy kept at the end of the job's last round; null in the first. */
  readonly statePath: string | null
  /** Where it writes what the next round needs. Null: the strategy's state ends with this round. */
  readonly stateOutputPath: string | null
  /** Where SCAFFOLD writes the next global control variate, in the model's container, for the devices. */
  readonly controlOutputPath: string | null
  /** How many devices the updates were drawn from; null: as many as there are updates. */
  readonly population: number | null
  readonly privacy: PrivacyPlan | null
  /** Written from scratch; left incomplete when the job fails. Files `<outputPath>.*` are scratch space, removed at the end. */
  readonly outputPath: string
}

/** User-level differential privacy for one round: every update is clipped, the sum gets noise, the divisor is fixed. */
export interface PrivacyPlan {
  /** Largest L2 norm of an update's change over all float tensors. */
  readonly clipNorm: number
  /** Standard deviation of the noise on the sum, in units of clipNorm. */
  readonly noiseMultiplier: number
  /** What the noisy sum is divided by, however many updates came in: the round's target. */
  readonly denominator: number
  /** 32 bytes in hex, from the operating system's random source, secret, and never used for a second round. */
  readonly noiseSeed: string
  /** Rounds of before version 1.1 drew one number for each element, and rounded nothing; their replays still do. */
  readonly hardened: boolean
  /** Null: the clip norm stays. */
  readonly adaptive: AdaptiveClipping | null
}

/** Andrew et al. 2021, "Differentially Private Learning with Adaptive Clipping". */
export interface AdaptiveClipping {
  /** 0.2 when absent. */
  readonly learningRate?: number
  /** The share of updates that should not be clipped: 0.5 when absent. */
  readonly targetQuantile?: number
  /** Standard deviation of the noise on the count of unclipped updates: max(denominator / 20, noiseMultiplier) when absent. */
  readonly countNoise?: number
}

export interface AggregationResult {
  /** Of content that is not weights: what was recognized in it; null: nothing we know. */
  readonly format: WeightFormat | DetectedFormat | null
  readonly tensors: number
  readonly elements: number
  /** What each update counted for, in the order of ids: summing to 1, but with privacy, where it is 1 / denominator. */
  readonly weights: readonly { readonly id: string; readonly weight: number }[]
  /** Whether there is a file at `stateOutputPath`, and one at `controlOutputPath`. */
  readonly state: { readonly written: boolean }
  readonly control: { readonly written: boolean }
  /** Null in a round without privacy. */
  readonly privacy: PrivacyOutcome | null
}

export interface PrivacyOutcome {
  /** With noise, as adaptive clipping measured it; null otherwise, because the exact share is paid for by no budget. */
  readonly clippedFraction: number | null
  /** The clip norm of the next round; null when it is not adapted. */
  readonly nextClipNorm: number | null
}

export interface ScreeningJob {
  /** What changes are measured from; null: from zero. */
  readonly globalPath: string | null
  readonly rawVector?: boolean
  readonly updates: readonly Pick<Update, 'id' | 'path' | 'rawVector'>[]
  /** Files `<scratchPath>.*` are scratch space, removed at the end. */
  readonly scratchPath: string
}

/** How one update looks beside the others. All figures are over the finite elements of float tensors. */
export interface Screened {
  readonly id: string
  /** L2 norm of the update's change. */
  readonly norm: number
  /** Between the update's change and the median change of every coordinate, -1 to 1; null when either is zero. */
  readonly cosine: number | null
  /** Elements that are NaN or infinite. */
  readonly nonFinite: number
}

/**
 * What to make of content that is not recognized: `declared` to be a bare float32 vector, taken for one where it is
 * `plausible`, or left as it is.
 */
export type RawVectors = 'declared' | 'plausible' | 'none'

export interface InspectionOptions {
  /** Null: any content is taken. */
  readonly expected: Layout | null
  readonly rawVectors: RawVectors
  /** It is what a round or a job starts from, not an update. */
  readonly isModel?: true
  /** The round combines trees: the file must be a model of them. */
  readonly trees?: boolean
}

export interface Inspection {
  /** What was recognized; null: nothing we know. */
  readonly format: DetectedFormat | null
  /** It is a bare float32 vector: declared, or taken for one. */
  readonly rawVector: boolean
  /** Null for content that is not weights: bytes taken as they are, never added up. */
  readonly layout: Layout | null
  /** Of content that is not weights: what to do about it. */
  readonly advice?: string
  /** What whoever sent it should know. */
  readonly warning: string | null
}

/** What travels to a worker thread and back. */
export type Request =
  | { readonly kind: 'inspect'; readonly path: string; readonly options: InspectionOptions }
  | { readonly kind: 'aggregate'; readonly job: AggregationJob }
  | { readonly kind: 'screen'; readonly job: ScreeningJob }

export type Reply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: { readonly code: string; readonly message: string; readonly stack: string } }
