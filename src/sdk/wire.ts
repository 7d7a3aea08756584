import type { operations } from '../client/api.gen.ts'
import { cut, storable } from '../domain/text.ts'
import { NetworkError } from './api-error.ts'
import type { Assignment } from './assignment.ts'

export interface Registration {
  /** The service's own id of the device. */
  readonly id: string
  readonly apiKey: string
}

export interface HeartbeatAnswer {
  /** The round that awaits this device, if any. */
  readonly pendingRoundId: string | null
  /** The round whose new model this device is asked to evaluate, if any; `takeEvaluation` does it. */
  readonly pendingEvaluationId: string | null
  /** What the device is to run; null when that is what it knows. */
  readonly assignments: readonly Assignment[] | null
  /** To be sent along as `knownAssignments`; null when the service named none. */
  readonly assignmentsTag: string | null
  /** When the service wants to hear of this device again; null where it does not say. */
  readonly nextHeartbeatSeconds: number | null
  readonly message: string
}

/** What a round asks of its devices. */
export interface Plan {
  readonly roundId: string
  readonly roundNumber: number
  readonly strategy: string
  readonly hyperparameters: Readonly<Record<string, unknown>>
  /** The job that the round belongs to: what a device keeps between rounds, it keeps for that. */
  readonly jobId: string | null
  /** Only the sum of all updates is learnt: `takeSecurePart` instead of `submit`. */
  readonly secure?: true
  /** The round is private: metrics are not covered by its noise, and are not sent. */
  readonly private?: true
  /** SCAFFOLD's global control variate; null in other strategies, and while it is zero. */
  readonly control: { readonly sizeBytes: number; readonly sha256: string } | null
  /** By this machine's clock, milliseconds since the epoch; updates that arrive later are refused. */
  readonly timeoutAt: number
  /** The global model to train on from; null when devices must make their own beginning. */
  readonly model: { readonly format: string; readonly sizeBytes: number; readonly sha256: string } | null
  /** The answer as it came, for trainers that read it themselves. */
  readonly raw: unknown
}

/** What a device is asked to evaluate. */
export interface EvaluationPlan
  extends Pick<Plan, 'roundId' | 'roundNumber' | 'hyperparameters' | 'jobId' | 'timeoutAt' | 'raw'> {
  readonly model: NonNullable<Plan['model']>
}

type EvaluationBody = operations['getEvaluationPlan']['responses'][200]['content']['application/json']

/** `clockLeadMs`: how far the service's clock is ahead of ours. */
export const evaluationPlanOf = (body: EvaluationBody, clockLeadMs: number): EvaluationPlan => {
  const timeoutAt = Date.parse(body.timeout_at)
  if (Number.isNaN(timeoutAt)) throw new NetworkError('The service sent a plan whose timeout_at is not a timestamp.')
  return {
    roundId: body.round_id,
    roundNumber: body.round_number,
    hyperparameters: body.hyperparameters,
    jobId: body.job_id ?? null,
    timeoutAt: timeoutAt - clockLeadMs,
    model: modelOf(body.model),
    raw: body,
  }
}

const MAX_REASON = 2000

/** A reason as the service takes it. Any text: an error may quote the bytes of a file, or of its name. */
export const reasonOf = (text: string): string => cut(storable(text.trim()), MAX_REASON) || 'no reason given'

type PlanBody = operations['getRoundPlan']['responses'][200]['content']['application/json']

/** `clockLeadMs`: how far the service's clock, which wrote timeout_at, is ahead of ours. */
export const planOf = (body: PlanBody, clockLeadMs: number): Plan => {
  const timeoutAt = Date.parse(body.timeout_at)
  if (Number.isNaN(timeoutAt)) throw new NetworkError('The service sent a plan whose timeout_at is not a timestamp.')
  return {
    roundId: body.round_id,
    roundNumber: body.round_number,
    strategy: body.strategy,
    hyperparameters: body.hyperparameters,
    jobId: body.job_id ?? null,
    control: body.control ? controlOf(body.control) : null,
    ...(body.secure_aggregation === undefined ? {} : { secure: true as const }),
    ...(body.privacy === undefined ? {} : { private: true as const }),
    timeoutAt: timeoutAt - clockLeadMs,
    model: body.model === null ? null : modelOf(body.model),
    raw: body,
  }
}

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
