import { Type } from 'typebox'
import { PLATFORMS } from '../../domain/device.ts'
import {
  Body,
  Count,
  Envelope,
  FreeObject,
  Nullable,
  Omitted,
  OneOf,
  Page,
  Part,
  Timestamp,
  Uuid,
} from '../../platform/http/wire.schema.ts'
import { FederationId } from '../federations/federations.schema.ts'
import { Platform } from '../fleet/devices/devices.schema.ts'
import { examples } from './analytics.examples.ts'
import { QUERY_TYPES } from './query-type.ts'

const MAX_GROUPS = 1000

export const AnalyticsParams = Type.Object({ federation_id: FederationId })
export const QueryParams = Type.Object({ federation_id: FederationId, query_id: Type.String() })
export const ListQueriesQuery = Type.Object(Page({ max: 100, default: 20 }))

const Variable = Type.String({
  minLength: 1,
  maxLength: 200,
  description:
    'A key of heartbeat metrics or capabilities (`battery_level`, `metrics.battery_level`, `capabilities.memory_gb`), ' +
    'of updates (`local_loss`, `local_accuracy`, `num_samples`, `training_time_seconds`), or `platform`, `status`, ' +
    '`federation_member`',
})
const GroupName = Type.String({ minLength: 1, maxLength: 255 })
const GroupByOptional = Type.Optional(OneOf(['device_group', 'federation_member']))
const GroupIds = Type.Optional(
  Type.Array(GroupName, {
    maxItems: MAX_GROUPS,
    description: 'Ids or names of device groups, or ids of member organizations; default: all of them',
  }),
)
const Level = Type.Optional(Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 1, description: 'Default: 0.95' }))
const Moment = Type.Optional(Type.String({ format: 'date-time' }))

const Filters = Type.Optional(
  Type.Object(
    {
      start_time: Moment,
      end_time: Moment,
      time_range: Type.Optional(
        Type.Object(
          { start: Moment, end: Moment },
          { description: 'The same as start_time and end_time, which take precedence' },
        ),
      ),
      platform: Type.Optional(
        Type.Union([Platform, Type.Array(Platform, { minItems: 1, maxItems: PLATFORMS.length })]),
      ),
      min_sample_count: Type.Optional(
        Type.Integer({ minimum: 1, description: 'Groups with fewer devices are withheld; values below 5 count as 5' }),
      ),
    },
    {
      title: 'AnalyticsFilters',
      description: 'By time of the heartbeat or update, and by platform; unknown filters produce a warning',
    },
  ),
)

export const DescriptiveBody = Body('NewDescription', 'A variable to describe', examples.newDescription, {
  variable: Variable,
  group_by: GroupByOptional,
  group_ids: GroupIds,
  include_percentiles: Type.Optional(Type.Boolean({ description: 'Default: true' })),
  filters: Filters,
})
export const TTestBody = Body('NewTTest', 'Two groups to compare', examples.newTTest, {
  variable: Variable,
  group_a: GroupName,
  group_b: GroupName,
  group_by: Type.Optional(
    OneOf(['device_group', 'federation_member'], {
      description: 'When absent: members if both groups are ids of members, else device groups',
    }),
  ),
  confidence_level: Level,
  filters: Filters,
})
export const AnovaBody = Body('NewAnova', 'Groups to compare', examples.newAnova, {
  variable: Variable,
  group_by: GroupByOptional,
  group_ids: GroupIds,
  confidence_level: Level,
  post_hoc: Type.Optional(
    Type.Boolean({ description: "Tukey's test of every pair, of at most 50 groups; default: true" }),
  ),
  filters: Filters,
})
export const ChiSquareBody = Body('NewChiSquare', 'Two variables to test', examples.newChiSquare, {
  variable_1: Variable,
  variable_2: Variable,
  confidence_level: Level,
  filters: Filters,
})

const Nothing = 'Null when there is too little data'
const NullableNumber = Nullable(Type.Number({ description: Nothing }))
const NullableCount = Nullable(Count)
const Warnings = Type.Array(Type.String())
const summary = { group_id: Type.String(), count: Count, mean: Type.Number(), std_dev: NullableNumber }
const Groups = Type.Array(Part('GroupSummary', 'A variable in one group', summary))

/** The fields that every response begins with. */
const heading = {
  query_id: Uuid,
  federation_id: Uuid,
  query_type: OneOf(QUERY_TYPES),
  variable: Type.String(),
  status: OneOf(['completed', 'failed']),
  created_at: Timestamp,
}

export const DescriptiveResult = Body('Description', 'A variable described by group', examples.description, {
  ...heading,
  groups: Type.Array(
    Part('DescribedGroup', 'A variable in one group', {
      ...summary,
      median: NullableNumber,
      min: Type.Number(),
      max: Type.Number(),
      percentiles: Nullable(Type.Object({ p25: NullableNumber, p50: NullableNumber, p75: NullableNumber })),
    }),
  ),
  warnings: Warnings,
})
export const TTestResult = Body('TTest', "The result of Welch's t-test", examples.tTest, {
  ...heading,
  t_statistic: NullableNumber,
  p_value: NullableNumber,
  degrees_of_freedom: Nullable(Type.Number({ description: 'Welch-Satterthwaite' })),
  confidence_interval: Nullable(
    Type.Object(
      { lower: Type.Number(), upper: Type.Number(), level: Type.Number() },
      { description: 'For the mean of group_a minus the mean of group_b' },
    ),
  ),
  significant: Type.Boolean(),
  effect_size: Nullable(Type.Number({ description: "Cohen's d" })),
  groups: Groups,
  warnings: Warnings,
})
export const AnovaResult = Body('Anova', 'The result of an analysis of variance', examples.anova, {
  ...heading,
  f_statistic: NullableNumber,
  p_value: NullableNumber,
  degrees_of_freedom_between: NullableCount,
  degrees_of_freedom_within: NullableCount,
  significant: Type.Boolean(),
  effect_size: Nullable(Type.Number({ description: 'Eta squared' })),
  post_hoc_pairs: Type.Array(
    Part('ComparedPair', 'Two groups compared', {
      group_a: Type.String(),
      group_b: Type.String(),
      mean_difference: Type.Number({ description: 'Mean of group_a minus mean of group_b' }),
      p_value: Type.Number({ description: 'Tukey-Kramer: adjusted for the number of pairs' }),
      significant: Type.Boolean(),
    }),
  ),
  groups: Groups,
  warnings: Warnings,
})
export const ChiSquareResult = Body('ChiSquare', "The result of Pearson's chi-square test", examples.chiSquare, {
  ...heading,
  chi_square_statistic: NullableNumber,
  p_value: NullableNumber,
  degrees_of_freedom: NullableCount,
  cramers_v: NullableNumber,
  significant: Type.Boolean(),
  sample_size: NullableCount,
  warnings: Warnings,
})

export const Query = Body('AnalyticsQuery', 'A query and its result', examples.query, {
  id: Uuid,
  federation_id: Uuid,
  org_id: Nullable(Type.String({ description: 'The organization that ran the query' })),
  query_type: OneOf(QUERY_TYPES),
  variable: Type.String(),
  request: FreeObject,
  omitted: Omitted,
  status: OneOf(['completed', 'failed']),
  result: Nullable(FreeObject),
  reason: Nullable(Type.String({ description: 'Why it failed' })),
  created_at: Timestamp,
})
export const QueryList = Body('AnalyticsQueryList', 'A page of queries', examples.queryList, {
  queries: Type.Array(Query),
  ...Envelope,
})
