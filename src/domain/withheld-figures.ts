import type { Evaluation, MetricSummaries, MetricSummary } from './metrics.ts'

/** Figures of fewer devices are not shown to other organizations: they would reveal too much about each device. */
export const MIN_GROUP_SIZE = 5

/** With fewer than this many times the minimum, the worst tenth is itself too small a group. */
const SAFE_FACTOR = 10

/** A metric as an organization may see it; withheld values are null. */
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

/** How many devices reported the figures, from one organization's point of view. */
export interface Sources {
  /** The number of all devices that reported; `own` is how many belong to the organization. */
  readonly all: number
  /** The number of devices that still exist. The others were erased, and so was the organization that they belonged to. */
  readonly counted: number
  readonly own: number
  /** The minimum group size. */
  readonly fewest: number
}

/** How many of the devices certainly belong to others: an erased device may have been the organization's own. */
const othersAmong = ({ all, counted, own }: Sources, devices: number): number => devices - own - (all - counted)

/**
 * True if a mean over this many devices may be shown: either all are the organization's own, or at least the minimum number are
 * not. Otherwise the organization could learn the figures of a smaller group by subtracting its own.
 */
export const mayShow = (sources: Sources, devices: number): boolean =>
  sources.own >= sources.all || othersAmong(sources, devices) >= sources.fewest

/** Omits metrics that too few other devices reported, and withholds figures that could be a single device's value. */
export const shownSummaries = (summaries: MetricSummaries, sources: Sources): ShownSummaries => {
  const { all, own, fewest } = sources
  if (own >= all) return summaries
  const shown = Object.entries(summaries).filter(([, { devices }]) => mayShow(sources, devices))
  return Object.fromEntries(
    shown.map(([name, summary]) => {
      const isSafe = othersAmong(sources, summary.devices) >= SAFE_FACTOR * fewest
      const { median, worstTenth } = isSafe ? summary : { median: null, worstTenth: null }
      return [name, { ...summary, median, worstTenth, min: null, max: null }]
    }),
  )
}

/** The same for an evaluation; null if none of it may be shown. */
export const shownEvaluation = (evaluation: Evaluation, sources: Sources): ShownEvaluation | null => {
  const metrics = shownSummaries(evaluation.metrics, sources)
  return Object.keys(metrics).length === 0 ? null : { ...evaluation, metrics }
}
