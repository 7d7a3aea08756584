import type { Platform } from '../domain/device.ts'
import type { KeysMessage, SharesMessage, UnmaskMessage } from '../secure-aggregation/messages.ts'
import type { SecureStatus } from '../secure-aggregation/server-round.ts'
import type { Assignment, DeliveryReport } from './assignment.ts'
import type { DownloadSink } from './download.ts'
import type { Sleep } from './retry.ts'
import type { SecureState } from './secure-state.ts'
import type { EvaluationPlan, HeartbeatAnswer, Plan, Registration } from './wire.ts'

export interface DeviceOptions {
  /** Where the service is, such as http://127.0.0.1:8000, without /api/v1. */
  readonly baseUrl: string
  /** Chosen by you, unique in the service, 1 to 255 characters. */
  readonly deviceId: string
  readonly platform?: Platform
  readonly capabilities?: Readonly<Record<string, unknown>>
  /** False: the device runs models, and no round selects it. Told at registration and in every heartbeat. Default: true. */
  readonly trains?: boolean
  /** From an earlier registration; needed for everything but `register`. */
  readonly apiKey?: string
  /** A key with devices:write, where the service asks for one at registration. */
  readonly enrollmentToken?: string
  readonly fetch?: typeof globalThis.fetch
  /** Whether files are fetched from the object store where the service offers that; not in a browser. Default: false. */
  readonly directDownloads?: boolean
  readonly sleep?: Sleep
  readonly now?: () => number
  readonly random?: () => number
  /** Told about every try that is repeated, and once of each warning that the service answers with. */
  readonly log?: (message: string) => void
}

/** Metrics of a model on so many samples. What is not finite is not sent. */
export interface EvaluationReport {
  readonly numSamples: number
  /** By name, such as loss, accuracy and f1. */
  readonly metrics: Readonly<Record<string, number>>
  /** With an update: this device also evaluates the job's last model, when `pendingEvaluationId` asks for it. */
  readonly finalModel?: boolean | undefined
}

export interface TrainingReport {
  readonly numSamples: number
  readonly localLoss?: number | undefined
  readonly localAccuracy?: number | undefined
  readonly trainingTimeSeconds?: number | undefined
  /** Of the trained model, beside loss and accuracy. */
  readonly metrics?: Readonly<Record<string, number>> | undefined
  /** Of the model that was received, on held-out data. */
  readonly evaluation?: EvaluationReport | undefined
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** No new try begins later than this (milliseconds since the epoch). */
  readonly until?: number | undefined
}

export interface HeartbeatOptions extends CallOptions {
  readonly status?: 'active' | 'inactive'
  /** Lets the service hold its answer until a round awaits this device or its assignments change, up to 55 s. */
  readonly waitSeconds?: number
  /** `assignmentsTag` of an earlier answer: these assignments are not repeated. Empty: none are known yet. */
  readonly knownAssignments?: string
}

export interface DownloadOptions extends CallOptions {
  /** Told how many bytes are there. */
  readonly onProgress?: (received: number) => void
  /** Told when all bytes are there and are about to be hashed. */
  readonly onVerify?: () => void
}

export interface Submission {
  /** Null when the service had the update already and only its answer was lost. */
  readonly updateId: string | null
  readonly alreadyKept: boolean
}

/** What a device says in a secure round, and what it is told. */
export interface SecureCalls {
  /** At once; with `while` as soon as the status is another one, or after half a minute. */
  state(roundId: string, options?: CallOptions & { readonly while?: SecureStatus }): Promise<SecureState>
  sendKeys(roundId: string, message: KeysMessage, options?: CallOptions): Promise<SecureState>
  sendShares(roundId: string, message: SharesMessage, options?: CallOptions): Promise<SecureState>
  sendUnmask(roundId: string, message: UnmaskMessage, options?: CallOptions): Promise<SecureState>
}

/** One device of a service. Every method retries as `retrying` says and throws ApiError or NetworkError. */
export interface Device {
  readonly deviceId: string
  /** Registers and keeps the key for the calls that follow; the key is shown here and never again. */
  register(options?: CallOptions): Promise<Registration>
  heartbeat(metrics?: Readonly<Record<string, unknown>>, options?: HeartbeatOptions): Promise<HeartbeatAnswer>
  plan(roundId: string, options?: CallOptions): Promise<Plan>
  /** The plan's global model, complete and with the right sha256; null when the plan has none. */
  model(plan: Plan, options?: CallOptions): Promise<Uint8Array<ArrayBuffer> | null>
  /** The plan's control variate (SCAFFOLD), checked likewise; null when the plan has none. */
  control(plan: Plan, options?: CallOptions): Promise<Uint8Array<ArrayBuffer> | null>
  /** The model into a sink of yours, which may hold the beginning already. */
  download(plan: Plan, sink: DownloadSink, options?: CallOptions): Promise<void>
  submit(
    roundId: string,
    weights: Uint8Array<ArrayBuffer> | Blob,
    report: TrainingReport,
    options?: CallOptions & {
      readonly fileName?: string
      /** SCAFFOLD: the change of the device's control variate, laid out as the model. */
      readonly control?: Uint8Array<ArrayBuffer> | Blob
    },
  ): Promise<Submission>
  /** The steps of a round in which only the sum of all updates is learnt; `takeSecurePart` takes them all. */
  readonly secure: SecureCalls
  /** Says that this device will not deliver. False when the round no longer cares. */
  reportFailure(roundId: string, reason: string, options?: CallOptions): Promise<boolean>
  /** What `pendingEvaluationId` asks for. */
  evaluationPlan(roundId: string, options?: CallOptions): Promise<EvaluationPlan>
  /** The model to evaluate, into a sink of yours, which may hold the beginning already. */
  downloadEvaluated(plan: EvaluationPlan, sink: DownloadSink, options?: CallOptions): Promise<void>
  /** What was found of it, or why nothing. False when nobody waits for it any more. */
  submitEvaluation(
    roundId: string,
    answer: EvaluationReport | { readonly failureReason: string },
    options?: CallOptions,
  ): Promise<boolean>
  /** Where the round stands: pending, active, aggregating, completed or failed. */
  roundStatus(roundId: string, options?: CallOptions): Promise<string>
  /** What this device is to run, at most one version of each model; asks with the ETag of the last answer. */
  assignments(options?: CallOptions): Promise<readonly Assignment[]>
  /**
   * An assignment's file into a sink, which may hold the beginning already; goes on as long as bytes come. Throws
   * DamagedDownload when they keep arriving whole and wrong; the sink is then empty.
   */
  downloadVersion(assignment: Assignment, sink: DownloadSink, options?: DownloadOptions): Promise<void>
  /** Says how far it has come; twice is once. `current` is false when the plan no longer gives this device that version. */
  reportAssignment(
    planId: string,
    report: DeliveryReport,
    options?: CallOptions,
  ): Promise<{ readonly current: boolean }>
}
