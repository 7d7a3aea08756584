// `tributary/sdk`: a device in any JavaScript runtime. All other exports in this folder may change without notice.
export { ApiError } from '../client/client.ts'
export type { Platform } from '../domain/device.ts'
export { NetworkError, Refusal } from './api-error.ts'
export type { Assignment, DeliveryReport, DeliveryState, PlanKind } from './assignment.ts'
export { DamagedDownload } from './delivery-calls.ts'
export type {
  CallOptions,
  Device,
  DeviceOptions,
  DownloadOptions,
  EvaluationReport,
  HeartbeatOptions,
  Submission,
  TrainingReport,
} from './device.ts'
export { createDevice } from './device-client.ts'
export { type DownloadSink, type MemorySink, memorySink } from './download.ts'
export { NotNeeded } from './not-needed.ts'
export { isTransient } from './retry.ts'
export { type SecureMemory, type SecureOptions, type SecureUpdate, takeSecurePart } from './secure-part.ts'
export {
  type Evaluate,
  type LocalTrainer,
  type PartOptions,
  type TakenPart,
  takeEvaluation,
  takePart,
} from './take-part.ts'
export type { LocalUpdate } from './trainers/built-in.ts'
export { type Dataset, type Split, splitDataset } from './trainers/dataset.ts'
export { inMemory, localEvaluator, localTrainer, type TrainerMemory } from './trainers/local-trainer.ts'
export type { Evaluation } from './trainers/train.ts'
export type { EvaluationPlan, HeartbeatResponse, Plan, Registration } from './wire.ts'
