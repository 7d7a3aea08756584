import { NetworkError } from './api-error.ts'

export interface Registration {
  /** The service's own id of the device. */
  readonly id: string
  readonly apiKey: string
}

export interface HeartbeatAnswer {
  /** The round that awaits this device, if any. */
  readonly pendingRoundId: string | null
  readonly message: string
}

/** What a round asks of its devices. */
export interface Plan {
  readonly roundId: string
  readonly roundNumber: number
  readonly strategy: string
  readonly hyperparameters: Readonly<Record<string, unknown>>
  /** Milliseconds since the epoch; updates that arrive later are refused. */
  readonly timeoutAt: number
  /** The global model to train on from; null when devices must make their own beginning. */
  readonly model: { readonly format: string; readonly sizeBytes: number; readonly sha256: string } | null
  /** The answer as it came, for trainers that read it themselves. */
  readonly raw: unknown
}

type Body = Readonly<Record<string, unknown>>

const asBody = (value: unknown, what: string): Body => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Body
  throw new NetworkError(`The service answered with something that is not ${what}.`)
}

const text = (body: Body, field: string, what: string): string => {
  const value = body[field]
  if (typeof value === 'string') return value
  throw new NetworkError(`The service answered ${what} without '${field}'.`)
}

const number = (body: Body, field: string, what: string): number => {
  const value = body[field]
  if (typeof value === 'number') return value
  throw new NetworkError(`The service answered ${what} without '${field}'.`)
}

export const readRegistration = (value: unknown): Registration => {
  const body = asBody(value, 'a registration')
  return { id: text(body, 'id', 'a registration'), apiKey: text(body, 'api_key', 'a registration') }
}

export const readHeartbeat = (value: unknown): HeartbeatAnswer => {
  const body = asBody(value, 'a heartbeat')
  const pending = body.pending_round_id
  return {
    pendingRoundId: typeof pending === 'string' ? pending : null,
    message: typeof body.message === 'string' ? body.message : '',
  }
}

export const readPlan = (value: unknown): Plan => {
  const what = 'a plan'
  const body = asBody(value, what)
  const timeoutAt = Date.parse(text(body, 'timeout_at', what))
  if (Number.isNaN(timeoutAt)) throw new NetworkError("The service answered a plan whose 'timeout_at' is no timestamp.")
  return {
    roundId: text(body, 'round_id', what),
    roundNumber: number(body, 'round_number', what),
    strategy: text(body, 'strategy', what),
    hyperparameters: asBody(body.hyperparameters ?? {}, 'a plan with hyperparameters'),
    timeoutAt,
    model: body.model === null || body.model === undefined ? null : readModel(asBody(body.model, 'a model')),
    raw: value,
  }
}

const readModel = (body: Body): NonNullable<Plan['model']> => {
  const sha256 = /^sha256:([0-9a-f]{64})$/.exec(text(body, 'model_hash', 'a plan'))?.[1]
  if (sha256 === undefined)
    throw new NetworkError("The service answered a plan whose 'model_hash' is not sha256:<hex>.")
  return { format: text(body, 'format', 'a plan'), sizeBytes: number(body, 'model_size_bytes', 'a plan'), sha256 }
}
