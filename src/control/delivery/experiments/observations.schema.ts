import { Type } from 'typebox'
import { METRIC_NAME, REPORTED_RANGE } from '../../../domain/reported-number.ts'
import { Body, Count, Nullable, Part, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { experimentExamples as examples } from './experiments.examples.ts'
import { Allocation, ConfidenceLevel, QueriedDevice, Status } from './experiments.schema.ts'

const MAX_BATCH = 1000

export const PlacementQuery = Type.Object({
  device_id: Type.Optional(QueriedDevice),
})

export const Placement = Body('VariantAssignment', 'Which variant a device has', examples.variantAssignment, {
  experiment_id: Uuid,
  device_id: Type.String(),
  status: Status,
  variant: Nullable(Type.String({ description: 'Null if the device does not take part' })),
  model_id: Nullable(Uuid),
  version: Nullable(Type.String()),
  assigned: Type.Boolean({ description: 'Whether the variant is currently assigned to the device' }),
  reason: Nullable(Type.String({ description: 'Why not' })),
})

// The keys of a record are validated only by their pattern.
const MetricKey = Type.String({ pattern: METRIC_NAME })
const Metrics = Type.Record(MetricKey, Nullable(Type.Number()), {
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 100,
  description: `What the device measured, such as accuracy and loss; null values are ignored. ${REPORTED_RANGE}`,
})
const DeviceId = Type.String({ minLength: 1, maxLength: 255 })

export const ObservationsBody = Body(
  'NewObservations',
  'What devices measured: one observation, or many',
  examples.newObservations,
  {
    device_id: Type.Optional(DeviceId),
    metrics: Type.Optional(Metrics),
    observations: Type.Optional(
      Type.Array(Type.Object({ device_id: DeviceId, metrics: Metrics }), {
        minItems: 1,
        maxItems: MAX_BATCH,
        description: 'Several observations, instead of device_id and metrics',
      }),
    ),
  },
)

export const Observed = Body(
  'AcceptedObservations',
  'Which observations were accepted',
  examples.acceptedObservations,
  {
    experiment_id: Uuid,
    accepted: Count,
    skipped: Type.Array(Type.Object({ device_id: Type.String(), reason: Type.String() })),
  },
)

const Interval = Part('ConfidenceInterval', 'A confidence interval of a difference', {
  lower: Type.Number(),
  upper: Type.Number(),
  level: Type.Number(),
})

const Bound = Nullable(Type.Number())

export const EstimatesQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 2, maximum: 1000, description: 'Maximum number of points; default: 200' }),
  ),
})

export const AnalyticsQuery = Type.Object({
  metric: Type.Optional(
    Type.String({
      pattern: METRIC_NAME,
      description: 'Compare in this metric, for example to guard it. Default: the primary metric, which decides',
    }),
  ),
})

export const Estimates = Body(
  'ExperimentEstimates',
  'Estimates of an experiment over time',
  examples.experimentEstimates,
  {
    experiment_id: Uuid,
    primary_metric: Type.String(),
    confidence_level: ConfidenceLevel,
    points: Type.Array(
      Part('EstimatesPoint', 'Estimates of an experiment at one time', {
        at: Timestamp,
        variants: Type.Array(
          Type.Object({
            name: Type.String(),
            devices: Type.Integer({ minimum: 0, description: 'Devices that reported the primary metric' }),
            mean: Nullable(Type.Number({ description: "Mean of the devices' means" })),
            lower: Nullable(
              Type.Number({
                description:
                  "Bound of the mean's confidence interval (Student's t); null with fewer than two devices or no variation",
              }),
            ),
            upper: Bound,
          }),
        ),
        comparisons: Type.Array(
          Type.Object({
            variant: Type.String(),
            difference: Nullable(Type.Number({ description: "The variant's mean minus the first one's" })),
            lower: Nullable(Type.Number({ description: 'Bound of the always-valid interval' })),
            upper: Bound,
          }),
        ),
      }),
    ),
  },
)

export const Analytics = Body(
  'ExperimentAnalytics',
  'How the variants of an experiment compare',
  examples.experimentAnalytics,
  {
    experiment_id: Uuid,
    status: Status,
    variants: Type.Array(
      Part('MeasuredVariant', 'What the devices of a variant measured', {
        name: Type.String(),
        sample_size: Type.Integer({ minimum: 0, description: 'Devices with a report' }),
        failed_devices: Type.Integer({ minimum: 0, description: 'Devices that last reported that they cannot run it' }),
        accuracy: Nullable(Type.Number()),
        loss: Nullable(Type.Number()),
        allocation: Allocation,
        metrics: Type.Record(
          Type.String(),
          Type.Object({
            devices: Count,
            observations: Count,
            mean: Type.Number({ description: "Mean of the devices' means" }),
            std_dev: Nullable(Type.Number({ description: "Standard deviation of the devices' means" })),
          }),
        ),
      }),
    ),
    p_value: Nullable(
      Type.Number({
        description: "The smallest adjusted p-value of Welch's t-tests of the metric; each device is one sample",
      }),
    ),
    significant: Type.Boolean(),
    confidence_level: ConfidenceLevel,
    primary_metric: Type.String(),
    metric: Type.String({ description: 'The metric that is compared' }),
    comparisons: Type.Array(
      Part('VariantComparison', 'A variant compared with the first', {
        variant: Type.String(),
        baseline: Type.String(),
        difference: Nullable(Type.Number({ description: "The variant's mean minus the baseline's" })),
        t_statistic: Nullable(Type.Number()),
        degrees_of_freedom: Nullable(Type.Number()),
        p_value: Nullable(Type.Number()),
        adjusted_p_value: Nullable(Type.Number({ description: 'Adjusted for the number of comparisons (Holm)' })),
        effect_size: Nullable(Type.Number({ description: "Cohen's d" })),
        confidence_interval: Nullable(Interval),
        always_valid_interval: Nullable(
          Type.Object(Interval.properties, { description: 'Valid no matter how often you look at it' }),
        ),
        decided: Type.Boolean({ description: 'Whether the always-valid interval excludes zero' }),
      }),
    ),
    sample_ratio: Nullable(
      Type.Object({
        chi_square_statistic: Type.Number(),
        degrees_of_freedom: Type.Integer(),
        p_value: Type.Number(),
        mismatch: Type.Boolean({
          description:
            'p below 0.001, with at least five devices expected of each variant: do not trust the comparisons. Also true, with the figures of the devices that reported the metric, if only these do not match',
        }),
      }),
    ),
    warnings: Type.Array(Type.String()),
  },
)
