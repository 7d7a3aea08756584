import type { Platform } from '../domain/device.ts'
import type { KeysMessage, Roster, SharesMessage, UnmaskMessage } from '../secure-aggregation/messages.ts'
import type { SecureStatus } from '../secure-aggregation/server-round.ts'
import type { SecureSettings } from '../secure-aggregation/settings.ts'
import type { Assignment, DeliveryReport } from './assignment.ts'
import type { DownloadSink } from './download.ts'
import type { Sleep } from './retry.ts'
import type { EvaluationPlan, HeartbeatResponse, Plan, Registration } from './wire.ts'

export interface DeviceOptions {
  /** The service's address, such as http://127.0.0.1:8000, without /api/v1. */
  readonly baseUrl: string
  /** Chosen by you, unique in your organization, 1 to 255 characters. */
  readonly deviceId: string
  readonly platform?: Platform
  readonly capabilities?: Readonly<Record<string, unknown>>
  /** False: the device only runs models; rounds do not select it. Sent at registration and with heartbeats. Default: true. */
  readonly trains?: boolean
  /** From an earlier registration; required for all calls but `register`. Null, as from localStorage: none. */
  readonly apiKey?: string | null | undefined
  /** The organization to register in, if there is no enrollment token. Default: none. */
  readonly orgId?: string | undefined
  /** A key with devices:write, if the service requires one at registration. */
  readonly enrollmentToken?: string | undefined
  readonly fetch?: typeof globalThis.fetch
  /** Whether to fetch files from the object store if the service offers it; not in a browser. Default: false. */
  readonly directDownloads?: boolean
  readonly sleep?: Sleep
  readonly now?: () => number
  readonly random?: () => number
  /** Called for every retry, and once for each distinct warning from the service. */
  readonly log?: (message: string) => void
}

/** Metrics of a model on a number of samples. Non-finite values are not sent. */
export interface EvaluationReport {
  readonly numSamples: number
  /** By name, such as loss, accuracy and f1. */
  readonly metrics: Readonly<Record<string, number>>
  /** With an update: offers to evaluate the job's last model when `pendingEvaluationId` requests it. */
  readonly finalModel?: boolean | undefined
}

export interface TrainingReport {
  readonly numSamples: number
  readonly localLoss?: number | undefined
  readonly localAccuracy?: number | undefined
  readonly trainingTimeSeconds?: number | undefined
  /** Of the trained model, in addition to loss and accuracy. */
  readonly metrics?: Readonly<Record<string, number>> | undefined
  /** Of the received model, on held-out data. */
  readonly evaluation?: EvaluationReport | undefined
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** No attempt starts later than this (milliseconds since the epoch). */
  readonly until?: number | undefined
}

export interface HeartbeatOptions extends CallOptions {
  readonly status?: 'active' | 'inactive'
  /** How long the service may wait until a round awaits this device or its assignments change, up to 55 s. */
  readonly waitSeconds?: number
  /** `assignmentsTag` of an earlier response: these assignments are not repeated. Empty: none are known yet. */
  readonly knownAssignments?: string
}

export interface DownloadOptions extends CallOptions {
  /** Called with the number of bytes received. */
  readonly onProgress?: (received: number) => void
  /** Called when all bytes have arrived, before they are hashed. */
  readonly onVerify?: () => void
}

export interface Submission {
  /** Null if the service already had the update, and only the response was lost. */
  readonly updateId: string | null
  readonly alreadyKept: boolean
}

/** A secure round's state, as seen by this device. */
export interface SecureState {
  readonly status: SecureStatus
  readonly reason: string | null
  readonly settings: SecureSettings
  /** This device's name in the protocol. */
  readonly device: string | null
  /** Whether the current step waits for this device, and whether it has answered. */
  readonly counted: boolean
  readonly answered: boolean
  /** Each is set only in the step that needs it. */
  readonly roster: Roster | null
  readonly shares: Readonly<Record<string, string>> | null
  readonly delivered: readonly string[] | null
}

/** A device's calls in a secure round. */
export interface SecureCalls {
  /** Returns at once; with `while`, when the status differs, or after 25 s. */
  state(roundId: string, options?: CallOptions & { readonly while?: SecureStatus }): Promise<SecureState>
  sendKeys(roundId: string, message: KeysMessage, options?: CallOptions): Promise<SecureState>
  sendShares(roundId: string, message: SharesMessage, options?: CallOptions): Promise<SecureState>
  sendUnmask(roundId: string, message: UnmaskMessage, options?: CallOptions): Promise<SecureState>
}

/** One device of a service. Every method retries as described for `retrying`, and throws ApiError or NetworkError. */
export interface Device {
  readonly deviceId: string
  /** Registers, and keeps the key for later calls; the key is never shown again. */
  register(options?: CallOptions): Promise<Registration>
  heartbeat(metrics?: Readonly<Record<string, unknown>>, options?: HeartbeatOptions): Promise<HeartbeatResponse>
  plan(roundId: string, options?: CallOptions): Promise<Plan>
  /** Returns the plan's global model, complete and verified by its SHA-256; null if the plan has none. */
  model(plan: Plan, options?: CallOptions): Promise<Uint8Array<ArrayBuffer> | null>
  /** Returns the plan's control variate (SCAFFOLD), also verified; null if the plan has none. */
  control(plan: Plan, options?: CallOptions): Promise<Uint8Array<ArrayBuffer> | null>
  /** Downloads the model to your sink, which may already contain its beginning. */
  download(plan: Plan, sink: DownloadSink, options?: CallOptions): Promise<void>
  submit(
    roundId: string,
    weights: Uint8Array<ArrayBuffer> | Blob,
    report: TrainingReport,
    options?: CallOptions & {
      readonly fileName?: string
      /** SCAFFOLD: the change of the device's control variate, in the layout of the model. */
      readonly control?: Uint8Array<ArrayBuffer> | Blob
    },
  ): Promise<Submission>
  /** The steps of a secure round, which reveals only the sum of the updates; `takeSecurePart` takes all of them. */
  readonly secure: SecureCalls
  /** Reports that this device will not deliver. False if the round no longer needs to know. */
  reportFailure(roundId: string, reason: string, options?: CallOptions): Promise<boolean>
  /** Returns the plan for the evaluation that `pendingEvaluationId` requests. */
  evaluationPlan(roundId: string, options?: CallOptions): Promise<EvaluationPlan>
  /** Downloads the model to evaluate to your sink, which may already contain its beginning. */
  downloadEvaluated(plan: EvaluationPlan, sink: DownloadSink, options?: CallOptions): Promise<void>
  /** Sends the evaluation, or why there is none. False if it is no longer needed. */
  submitEvaluation(
    roundId: string,
    response: EvaluationReport | { readonly failureReason: string },
    options?: CallOptions,
  ): Promise<boolean>
  /** Returns the round's status: pending, active, aggregating, completed or failed. */
  roundStatus(roundId: string, options?: CallOptions): Promise<string>
  /** Returns whether the round has this device's update, for when the response to `submit` was lost. */
  isDelivered(roundId: string, options?: CallOptions): Promise<boolean>
  /** Returns this device's assignments, at most one version per model; sends the ETag of the last response. */
  assignments(options?: CallOptions): Promise<readonly Assignment[]>
  /**
   * Downloads an assignment's file to a sink, which may already contain its beginning; continues as long as there is progress.
   * Throws DamagedDownload if complete files repeatedly have the wrong bytes; the sink is then empty.
   */
  downloadVersion(assignment: Assignment, sink: DownloadSink, options?: DownloadOptions): Promise<void>
  /** Reports progress; repeating a report is harmless. `current` is false if the plan no longer assigns that version. */
  reportAssignment(
    planId: string,
    report: DeliveryReport,
    options?: CallOptions,
  ): Promise<{ readonly current: boolean }>
  /** Returns the plans that this device has reported on, at most 100, with the newest report first. */
  reportedPlans(options?: CallOptions): Promise<readonly string[]>
}
