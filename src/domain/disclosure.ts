import type { Evaluation, MetricSummaries, MetricSummary } from './metrics.ts'

/** Figures of fewer devices are not shown to other organizations: they would reveal too much about each device. */
export const MIN_GROUP_SIZE = 5

/** A metric as an organization may see it; withheld values are null. */
export interface VisibleSummary extends Pick<MetricSummary, 'mean' | 'devices'> {
  readonly median: number | null
  readonly worstTenth: number | null
  readonly min: number | null
  readonly max: number | null
}

export type VisibleSummaries = Readonly<Record<string, VisibleSummary>>

export interface VisibleEvaluation extends Omit<Evaluation, 'metrics'> {
  readonly metrics: VisibleSummaries
}

/** How many devices reported a figure, from one organization's point of view. Excludes erased devices. */
export interface Sources {
  readonly own: number
  /** By organization: those of each other one that reported it. */
  readonly others: readonly number[]
  /** The minimum group size. */
  readonly minGroupSize: number
}

const isOwn = ({ own, others }: Sources, devices: number): boolean => others.length === 0 && own >= devices

/**
 * True if a mean over this many devices may be shown: either all are the organization's own, or each other organization that
 * reported has at least the minimum number. A total would not suffice: members' averages can be subtracted too. If a device was
 * erased, its organization is not known.
 */
export const mayDisclose = (sources: Sources, devices: number): boolean => {
  const { own, others, minGroupSize } = sources
  if (isOwn(sources, devices)) return true
  return others.reduce((sum, count) => sum + count, own) === devices && others.every((count) => count >= minGroupSize)
}

/**
 * Omits metrics that too few other devices reported, and withholds figures that could be a single device's value. The worst tenth
 * must remain large enough without the organization's own devices, which may all be in it; the same number keeps these from
 * moving the median to a value at the edge. Each other organization must remain large enough without the worst tenth, all of
 * which may be its devices, because its average may be known.
 */
export const visibleSummaries = (summaries: MetricSummaries, sourcesOf: (name: string) => Sources): VisibleSummaries =>
  Object.fromEntries(
    Object.entries(summaries).flatMap(([name, summary]): [string, VisibleSummary][] => {
      const sources = sourcesOf(name)
      if (isOwn(sources, summary.devices)) return [[name, summary]]
      if (!mayDisclose(sources, summary.devices)) return []
      const { own, others, minGroupSize } = sources
      const tenth = Math.floor(summary.devices / 10)
      const isSafe = tenth - own >= minGroupSize && others.every((count) => count - tenth >= minGroupSize)
      const { median, worstTenth } = isSafe ? summary : { median: null, worstTenth: null }
      return [[name, { ...summary, median, worstTenth, min: null, max: null }]]
    }),
  )

/** The same for an evaluation; null if none of it may be shown. */
export const visibleEvaluation = (
  evaluation: Evaluation,
  sourcesOf: (name: string) => Sources,
): VisibleEvaluation | null => {
  const metrics = visibleSummaries(evaluation.metrics, sourcesOf)
  return Object.keys(metrics).length === 0 ? null : { ...evaluation, metrics }
}
