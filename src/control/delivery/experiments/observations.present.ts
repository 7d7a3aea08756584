import { varianceOf } from '../../../domain/statistics/moments.ts'
import type { Static } from '../../../platform/http/wire.schema.ts'
import type { EstimatesService } from './estimates.service.ts'
import type { Analytics, Estimates } from './observations.schema.ts'
import type { ObservationsService } from './observations.service.ts'

export const presentPlacement = ({
  experiment,
  device,
  variant,
  reason,
}: Awaited<ReturnType<ObservationsService['placement']>>) => ({
  experiment_id: experiment.id,
  device_id: device.deviceId,
  status: experiment.status,
  variant: variant?.name ?? null,
  model_id: variant?.modelId ?? null,
  version: variant?.version ?? null,
  assigned: reason === null,
  reason,
})

type Analysed = Awaited<ReturnType<ObservationsService['analytics']>>

/** Returns an experiment's analysis with the API's field names. */
export const presentAnalysis = ({ experiment, metric, variants, analysis }: Analysed): Static<typeof Analytics> => ({
  experiment_id: experiment.id,
  status: experiment.status,
  variants: variants.map(({ variant, devices, failed, metrics }) => ({
    name: variant.name,
    sample_size: devices,
    failed_devices: failed,
    accuracy: metrics.get('accuracy')?.devices.mean ?? null,
    loss: metrics.get('loss')?.devices.mean ?? null,
    allocation: variant.allocation,
    metrics: Object.fromEntries([...metrics].map(([name, sample]) => [name, presentSample(sample)])),
  })),
  p_value: analysis.pValue,
  significant: analysis.significant,
  confidence_level: experiment.confidenceLevel,
  primary_metric: experiment.primaryMetric,
  metric,
  comparisons: analysis.comparisons.map((one) => presentComparison(one, experiment.confidenceLevel)),
  sample_ratio: analysis.sampleRatio && {
    chi_square_statistic: analysis.sampleRatio.statistic,
    degrees_of_freedom: analysis.sampleRatio.degreesOfFreedom,
    p_value: analysis.sampleRatio.pValue,
    mismatch: analysis.sampleRatio.mismatch,
  },
  warnings: [...analysis.warnings],
})

type Sample = NonNullable<ReturnType<Analysed['variants'][number]['metrics']['get']>>

const presentSample = ({ observations, devices }: Sample) => {
  const variance = varianceOf(devices)
  return {
    devices: devices.count,
    observations,
    mean: devices.mean,
    std_dev: variance === null ? null : Math.sqrt(variance),
  }
}

const presentComparison = (one: Analysed['analysis']['comparisons'][number], level: number) => ({
  variant: one.variant,
  baseline: one.baseline,
  difference: one.difference,
  t_statistic: one.welch?.tStatistic ?? null,
  degrees_of_freedom: one.welch?.degreesOfFreedom ?? null,
  p_value: one.welch?.pValue ?? null,
  adjusted_p_value: one.adjustedPValue,
  effect_size: one.welch?.effectSize ?? null,
  confidence_interval: one.welch?.confidenceInterval ?? null,
  always_valid_interval: one.alwaysValid && { ...one.alwaysValid, level },
  decided: one.decided,
})

/** Returns an experiment's estimates over time with the API's field names. */
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
