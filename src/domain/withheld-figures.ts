import type { Evaluation, MetricSummaries, MetricSummary } from './metrics.ts'

/** Figures of fewer devices are not shown to other organizations: they would say too much of each device. */
export const MIN_GROUP_SIZE = 5

/** The worst tenth of fewer devices than this, in units of the minimum, is a group that is too small itself. */
const SAFE_FACTOR = 10

/** A metric as an organization may see it; null: withheld. */
export interface ShownSummary extends Pick<MetricSummary, 'mean' | 'devices'> {
  readonly median: number | null
  readonly worstTenth: number | null
  readonly min: number | null
  readonly max: number | null
}

export type ShownSummaries = Readonly<Record<string, ShownSummary>>

export interface ShownEvaluation extends Omit<Evaluation, 'metrics'> {
  readonly metrics: ShownSummaries
}

/** Whose devices reported what is summarized, as one organization sees it. */
export interface Sources {
  /** All devices, and those of the organization. */
  readonly all: number
  readonly own: number
  /** The minimum group size. */
  readonly fewest: number
}

/**
 * True if a mean over so many of the devices may be shown: all are the organization's own, or at least the minimum number of them
 * is not, so that nobody learns the figures of fewer by subtracting their own.
 */
export const mayShow = ({ all, own, fewest }: Sources, devices: number): boolean =>
  own >= all || devices - own >= fewest

/** Omits the metrics that too few other devices reported. What could be one device's value is withheld. */
export const shownSummaries = (summaries: MetricSummaries, sources: Sources): ShownSummaries => {
  const { all, own, fewest } = sources
  if (own >= all) return summaries
  const shown = Object.entries(summaries).filter(([, { devices }]) => mayShow(sources, devices))
  return Object.fromEntries(
    shown.map(([name, summary]) => {
      const isSafe = summary.devices - own >= SAFE_FACTOR * fewest
      const { median, worstTenth } = isSafe ? summary : { median: null, worstTenth: null }
      return [name, { ...summary, median, worstTenth, min: null, max: null }]
    }),
  )
}

/** The same for an evaluation; null where nothing of it may be shown. */
export const shownEvaluation = (evaluation: Evaluation, sources: Sources): ShownEvaluation | null => {
  const metrics = shownSummaries(evaluation.metrics, sources)
  return Object.keys(metrics).length === 0 ? null : { ...evaluation, metrics }
}
