import { ids, page, times } from '../../example-ids.ts'

const variants = [
  { name: 'current', model_id: ids.model, version: '1.0.0', allocation: 0.5 },
  { name: 'candidate', model_id: ids.model, version: '2.0.0', allocation: 0.5 },
]
const experiment = {
  id: ids.experiment,
  org_id: 'acme',
  name: 'next-word-2',
  status: 'running',
  variants,
  target_groups: [ids.group],
  primary_metric: 'accuracy',
  confidence_level: 0.95,
  reason: null,
  created_at: times.created,
  started_at: times.started,
  ended_at: null,
}
const interval = { lower: 0.004, upper: 0.036, level: 0.95 }
const measured = (name: string, mean: number) => ({
  name,
  sample_size: 120,
  failed_devices: 0,
  accuracy: mean,
  loss: null,
  allocation: 0.5,
  metrics: { accuracy: { devices: 120, observations: 840, mean, std_dev: 0.06 } },
})
export const experimentExamples = {
  newExperiment: { name: 'next-word-2', variants, target_groups: [ids.group], primary_metric: 'accuracy' },
  experiment: { ...experiment, warnings: [] },
  experimentList: { experiments: [experiment], ...page, warnings: [] },
  startedExperiment: { id: ids.experiment, status: 'running', started_at: times.started },
  variantAssignment: {
    experiment_id: ids.experiment,
    device_id: 'pixel-8-0042',
    status: 'running',
    variant: 'candidate',
    model_id: ids.model,
    version: '2.0.0',
    assigned: true,
    reason: null,
  },
  newObservations: { observations: [{ device_id: 'pixel-8-0042', metrics: { accuracy: 0.34 } }] },
  acceptedObservations: { experiment_id: ids.experiment, accepted: 1, skipped: [] },
  experimentEstimates: {
    experiment_id: ids.experiment,
    primary_metric: 'accuracy',
    confidence_level: 0.95,
    points: [
      {
        at: times.started,
        variants: [
          { name: 'current', devices: 120, mean: 0.31, lower: 0.299, upper: 0.321 },
          { name: 'candidate', devices: 120, mean: 0.33, lower: 0.319, upper: 0.341 },
        ],
        comparisons: [{ variant: 'candidate', difference: 0.02, lower: -0.006, upper: 0.046 }],
      },
    ],
  },
  experimentAnalytics: {
    experiment_id: ids.experiment,
    status: 'running',
    variants: [measured('current', 0.31), measured('candidate', 0.33)],
    p_value: 0.011,
    significant: true,
    confidence_level: 0.95,
    primary_metric: 'accuracy',
    metric: 'accuracy',
    comparisons: [
      {
        variant: 'candidate',
        baseline: 'current',
        difference: 0.02,
        t_statistic: 2.58,
        degrees_of_freedom: 238,
        p_value: 0.011,
        adjusted_p_value: 0.011,
        effect_size: 0.33,
        confidence_interval: interval,
        always_valid_interval: { ...interval, lower: -0.006, upper: 0.046 },
        decided: false,
      },
    ],
    sample_ratio: { chi_square_statistic: 0, degrees_of_freedom: 1, p_value: 1, mismatch: false },
    warnings: [],
  },
} as const
