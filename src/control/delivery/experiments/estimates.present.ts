import type { Static } from '../../../platform/http/wire.schema.ts'
import type { EstimatesService } from './estimates.service.ts'
import type { Estimates } from './experiments.schema.ts'

/** What an experiment estimated over time, in the wire's names. */
export const presentEstimates = ({
  experiment,
  points,
}: Awaited<ReturnType<EstimatesService['overTime']>>): Static<typeof Estimates> => ({
  experiment_id: experiment.id,
  primary_metric: experiment.primaryMetric,
  confidence_level: experiment.confidenceLevel,
  points: points.map(({ at, variants, comparisons }) => ({
    at: at.toISOString(),
    variants: variants.map(({ name, sample, interval }) => ({
      name,
      devices: sample.count,
      mean: sample.count === 0 ? null : sample.mean,
      lower: interval?.lower ?? null,
      upper: interval?.upper ?? null,
    })),
    comparisons: comparisons.map(({ variant, difference, alwaysValid }) => ({
      variant,
      difference,
      lower: alwaysValid?.lower ?? null,
      upper: alwaysValid?.upper ?? null,
    })),
  })),
})
