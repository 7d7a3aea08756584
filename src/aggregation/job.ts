import type { Layout } from '../tensors/layout.ts'
import type { WeightFormat } from '../tensors/weight-file.ts'
import type { StrategyName } from './strategies.ts'

export interface AggregationJob {
  readonly strategy: StrategyName
  /** The distributed model, whose container, metadata and further content the result takes over; null: the first update. */
  readonly templatePath: string | null
  readonly updates: readonly {
    /** The user-chosen device id: updates are added up in the order of these, by UTF-16 code units. */
    readonly id: string
    readonly path: string
    readonly numSamples: number
  }[]
  /** Written from scratch; left incomplete when the job fails. Files `<outputPath>.*` are scratch space, removed at the end. */
  readonly outputPath: string
}

export interface AggregationResult {
  readonly format: WeightFormat
  readonly tensors: number
  readonly elements: number
  /** What each update counted for, summing to 1, in the order of ids. */
  readonly weights: readonly { readonly id: string; readonly weight: number }[]
}

export interface Inspection {
  readonly format: WeightFormat
  /** Null for a file that is no container we know: bytes taken as they are. */
  readonly layout: Layout | null
}

/** What travels to a worker thread and back. */
export type Request =
  | { readonly kind: 'inspect'; readonly path: string; readonly expected: Layout | null }
  | { readonly kind: 'aggregate'; readonly job: AggregationJob }

export type Reply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: { readonly code: string; readonly message: string; readonly stack: string } }
