// `tributary/aggregation`: aggregates weight files in Node, with the same code and the same output bytes as the service.
export { type ErrorCode, ServiceError } from '../domain/errors.ts'
export type { StrategyName } from '../domain/strategy-rules.ts'
export { type StrategySettings, strategySettings } from '../domain/strategy-settings.ts'
export { aggregateFiles } from './aggregate-files.ts'
export type {
  AdaptiveClipping,
  AggregationJob,
  AggregationResult,
  Inspection,
  InspectionOptions,
  PrivacyOutcome,
  PrivacyPlan,
  RawVectors,
  Screened,
  ScreeningJob,
  Update,
} from './aggregation-messages.ts'
export { AggregationWorkers } from './aggregation-workers.ts'
export { inspectFile } from './inspect.ts'
export { screenUpdates } from './screen.ts'
