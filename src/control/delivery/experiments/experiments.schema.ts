import { Type } from 'typebox'
import { EXPERIMENT_STATUSES } from '../../../domain/experiment.ts'
import {
  Body,
  Envelope,
  Line,
  Nullable,
  OneOf,
  Page,
  Parameter,
  Part,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { experimentExamples as examples } from './experiments.examples.ts'

const MAX_VARIANTS = 20
const MAX_GROUPS = 100

export const Status = OneOf(EXPERIMENT_STATUSES, {
  title: 'ExperimentStatus',
  description: 'The state of an experiment',
})
export const Allocation = Type.Number({
  minimum: 0,
  maximum: 1,
  description: 'The share of devices; all of them sum to 1',
})
export const ConfidenceLevel = Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 1 })

export const CreateExperimentBody = Body('NewExperiment', 'An experiment to create', examples.newExperiment, {
  name: Line(128, 'Unique in the organization'),
  variants: Type.Array(
    Part('NewVariant', 'A version that some devices of an experiment get', {
      name: Line(128, 'Unique in the experiment'),
      model_id: Type.String({ minLength: 1, description: 'Id or name of a model, or name@version' }),
      allocation: Allocation,
      version: Type.Optional(
        Line(
          200,
          'A version of the model, or an alias. Default: the current highest version; for a model without versions, the first one that is uploaded',
        ),
      ),
    }),
    { minItems: 2, maxItems: MAX_VARIANTS, description: 'All others are compared with the first' },
  ),
  target_groups: Type.Optional(
    Type.Array(Type.String(), { maxItems: MAX_GROUPS, description: 'Ids of device groups; all devices when empty' }),
  ),
  primary_metric: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'The metric to compare; default: accuracy',
    }),
  ),
  confidence_level: Type.Optional(Type.Number({ ...ConfidenceLevel, description: 'Between 0 and 1; default: 0.95' })),
})

const ExperimentId = Parameter('ExperimentId', Type.String({ description: 'Id of an experiment' }))
export const ExperimentParams = Type.Object({ experiment_id: ExperimentId })
export const ListExperimentsQuery = Type.Object({
  status: Type.Optional(Status),
  ...Page({ max: 1000, default: 100 }),
})

const experimentFields = {
  id: Uuid,
  org_id: Nullable(Type.String()),
  name: Type.String(),
  status: Status,
  variants: Type.Array(
    Part('Variant', 'A variant of an experiment', {
      name: Type.String(),
      model_id: Uuid,
      version: Type.String(),
      allocation: Allocation,
    }),
  ),
  target_groups: Type.Array(Uuid),
  primary_metric: Type.String(),
  confidence_level: ConfidenceLevel,
  reason: Nullable(Type.String({ description: 'The reason given for pausing, completing, or canceling it' })),
  created_at: Timestamp,
  started_at: Nullable(Timestamp),
  ended_at: Nullable(Timestamp),
}

export const Experiment = Body('Experiment', 'An experiment', examples.experiment, {
  ...experimentFields,
  warnings: Type.Array(Type.String()),
})
const ExperimentSummary = Part('ExperimentSummary', 'An experiment in a list', experimentFields)
export const ExperimentList = Body('ExperimentList', 'A page of experiments', examples.experimentList, {
  experiments: Type.Array(ExperimentSummary),
  ...Envelope,
  warnings: Type.Array(Type.String()),
})
export const Started = Body('StartedExperiment', 'A started experiment', examples.startedExperiment, {
  id: Uuid,
  status: Status,
  started_at: Timestamp,
})

export const QueriedDevice = Parameter(
  'AskedDevice',
  Type.String({ description: "The device's own id; default: the device that owns the key" }),
)
