import type { operations } from '../client/api.gen.ts'
import { cut, storable } from '../domain/text.ts'
import { NetworkError } from './api-error.ts'
import type { Assignment } from './assignment.ts'

export interface Registration {
  /** The service's internal id of the device. */
  readonly id: string
  readonly apiKey: string
}

export interface HeartbeatResponse {
  /** The round that awaits this device, if any. */
  readonly pendingRoundId: string | null
  /** The round whose new model this device should evaluate, if any; see `takeEvaluation`. */
  readonly pendingEvaluationId: string | null
  /** The device's assignments; null if they match the known ones. */
  readonly assignments: readonly Assignment[] | null
  /** To be sent back as `knownAssignments`; null if the service sent none. */
  readonly assignmentsTag: string | null
  /** When the service expects the next heartbeat; null if unspecified. */
  readonly nextHeartbeatSeconds: number | null
  readonly message: string
}

/** A round's training plan for its devices. */
export interface Plan {
  readonly roundId: string
  readonly roundNumber: number
  readonly strategy: string
  readonly hyperparameters: Readonly<Record<string, unknown>>
  /** The round's job: devices keep state between rounds per job. */
  readonly jobId: string | null
  /** How many rounds the job had completed when this one began, for schedules such as a learning rate's decay; absent without a job. */
  readonly roundsCompleted?: number
  /** Only the sum of all updates is revealed: use `takeSecurePart` instead of `submit`. */
  readonly secure?: true
  /** The round is private: its noise does not cover metrics, so they are not sent. */
  readonly private?: true
  /** SCAFFOLD's global control variate; null for other strategies, and while it is zero. */
  readonly control: { readonly sizeBytes: number; readonly sha256: string } | null
  /** In milliseconds since the epoch, by this machine's clock; later updates are refused. */
  readonly timeoutAt: number
  /** The global model to train from; null if devices must create their own initial model. */
  readonly model: { readonly format: string; readonly sizeBytes: number; readonly sha256: string } | null
  /** The unmodified response, for trainers that parse it themselves. */
  readonly raw: unknown
}

/** The plan for an evaluation. */
export interface EvaluationPlan
  extends Pick<Plan, 'roundId' | 'roundNumber' | 'hyperparameters' | 'jobId' | 'timeoutAt' | 'raw'> {
  readonly model: NonNullable<Plan['model']>
}

type EvaluationBody = operations['getEvaluationPlan']['responses'][200]['content']['application/json']

type PlanBody = operations['getRoundPlan']['responses'][200]['content']['application/json']

/** What both plans have. `clockLeadMs`: how far the service's clock, which wrote timeout_at, is ahead of ours. */
const sharedOf = (body: EvaluationBody | PlanBody, clockLeadMs: number): Omit<EvaluationPlan, 'model'> => {
  const timeoutAt = Date.parse(body.timeout_at)
  if (Number.isNaN(timeoutAt)) throw new NetworkError('The service sent a plan whose timeout_at is not a timestamp.')
  return {
    roundId: body.round_id,
    roundNumber: body.round_number,
    hyperparameters: body.hyperparameters,
    jobId: body.job_id ?? null,
    timeoutAt: timeoutAt - clockLeadMs,
    raw: body,
  }
}

export const evaluationPlanOf = (body: EvaluationBody, clockLeadMs: number): EvaluationPlan => ({
  ...sharedOf(body, clockLeadMs),
  model: modelOf(body.model),
})

const MAX_REASON = 2000

/** Makes any text acceptable as a reason: an error may quote the bytes of a file, or of its name. */
export const reasonOf = (text: string): string => cut(storable(text.trim()), MAX_REASON) || 'no reason given'

export const planOf = (body: PlanBody, clockLeadMs: number): Plan => ({
  ...sharedOf(body, clockLeadMs),
  strategy: body.strategy,
  ...(body.rounds_completed === undefined ? {} : { roundsCompleted: body.rounds_completed }),
  control: body.control ? controlOf(body.control) : null,
  ...(body.secure_aggregation === undefined ? {} : { secure: true as const }),
  ...(body.privacy === undefined ? {} : { private: true as const }),
  model: body.model === null ? null : modelOf(body.model),
})

const modelOf = (model: NonNullable<PlanBody['model']>): NonNullable<Plan['model']> => ({
  format: model.format,
  sizeBytes: model.model_size_bytes,
  sha256: hexOf('model_hash', model.model_hash),
})

const controlOf = (control: NonNullable<PlanBody['control']>): Plan['control'] => ({
  sizeBytes: control.control_size_bytes,
  sha256: hexOf('control_hash', control.control_hash),
})

const hexOf = (field: string, text: string): string => {
  const sha256 = /^sha256:([0-9a-f]{64})$/.exec(text)?.[1]
  if (sha256 === undefined) throw new NetworkError(`The service sent a plan whose ${field} is not sha256:<hex>.`)
  return sha256
}
