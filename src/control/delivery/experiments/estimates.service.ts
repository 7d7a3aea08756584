import type { Caller } from '../../../domain/access.ts'
import { isEstimateDue } from '../../../domain/experiment.ts'
import { analyseExperiment, type Comparison } from '../../../domain/experiment-analysis.ts'
import { type Moments, NO_MOMENTS } from '../../../domain/statistics/moments.ts'
import { meanInterval } from '../../../domain/statistics/t-test.ts'
import type { Context } from '../../context.ts'
import { forEach } from '../../periodic-tasks.ts'
import { type EstimatesPoint, estimatesStore } from './estimates.store.ts'
import type { ExperimentsService, StoredExperiment } from './experiments.service.ts'
import type { ObservationsService } from './observations.service.ts'

export interface Estimates {
  readonly at: Date
  readonly variants: readonly {
    readonly name: string
    readonly sample: Moments
    readonly interval: { readonly lower: number; readonly upper: number } | null
  }[]
  readonly comparisons: readonly Comparison[]
}

/** The estimates of an experiment over time. */
export const createEstimatesService = (
  { database, now }: Context,
  {
    experiments,
    observations,
  }: {
    readonly experiments: Pick<ExperimentsService, 'get'>
    readonly observations: Pick<ObservationsService, 'samples'>
  },
) => {
  const estimate = (experiment: StoredExperiment, { at, samples }: EstimatesPoint): Estimates => {
    const { variants, primaryMetric, confidenceLevel } = experiment
    const measured = variants.map(({ name, allocation }, index) => {
      const sample = samples.get(index) ?? NO_MOMENTS
      return { name, allocation, sample, interval: meanInterval(sample, confidenceLevel) }
    })
    const { comparisons } = analyseExperiment({
      metric: primaryMetric,
      confidenceLevel,
      variants: measured.map(({ name, allocation, sample }) => ({
        name,
        allocation,
        devices: sample.count,
        metrics: new Map([[primaryMetric, sample]]),
      })),
    })
    return { at, variants: measured, comparisons }
  }

  return {
    /** Adds a point to the curve of every running experiment with measurements since its last point. */
    async tick(): Promise<void> {
      const at = now()
      const open = await estimatesStore.open(database.sql)
      const due = open.filter(({ startedAt, addedAt }) => isEstimateDue(startedAt, addedAt, at))
      await forEach(due, (curve) => estimatesStore.add(database.sql, curve, at))
    },

    resetTimesAhead: (): Promise<void> => estimatesStore.resetTimesAhead(database.sql, now()),

    /** Returns the stored points and the current one, at most `limit`, oldest first; none before the first observation. */
    async overTime(caller: Caller, id: string, limit: number) {
      const experiment = await experiments.get(caller, id)
      const kept = await estimatesStore.list(database.sql, id, limit - 1)
      const samples = await observations.samples(id, experiment.primaryMetric)
      const latest = { at: experiment.endedAt ?? now(), samples }
      const points = samples.size === 0 ? kept : [...kept, latest]
      return { experiment, points: points.map((point) => estimate(experiment, point)) }
    },
  }
}

export type EstimatesService = ReturnType<typeof createEstimatesService>
