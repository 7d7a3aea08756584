import { ApiError } from './api-error.ts'
import { type DownloadSink, downloadOnce, memorySink } from './download.ts'
import { DEFAULT_POLICY, retrying, type Sleep, sleep } from './retry.ts'
import { createTransport } from './transport.ts'
import {
  type HeartbeatAnswer,
  type Plan,
  type Registration,
  readHeartbeat,
  readPlan,
  readRegistration,
} from './wire.ts'

export interface DeviceOptions {
  /** Where the service is, such as http://127.0.0.1:8000, without /api/v1. */
  readonly baseUrl: string
  /** Chosen by you, unique in the service, 1 to 255 characters. */
  readonly deviceId: string
  readonly platform?: string
  readonly capabilities?: Readonly<Record<string, unknown>>
  /** From an earlier registration; needed for everything but `register`. */
  readonly apiKey?: string
  /** A key with devices:write, where the service asks for one at registration. */
  readonly enrollmentToken?: string
  readonly fetch?: typeof globalThis.fetch
  readonly sleep?: Sleep
  readonly now?: () => number
  readonly random?: () => number
  /** Told about every try that is repeated. */
  readonly log?: (message: string) => void
}

export interface TrainingReport {
  readonly numSamples: number
  readonly localLoss?: number | undefined
  readonly localAccuracy?: number | undefined
  readonly trainingTimeSeconds?: number | undefined
}

export interface Patience {
  readonly signal?: AbortSignal | undefined
  /** No new try begins later than this (milliseconds since the epoch). */
  readonly until?: number | undefined
}

export interface HeartbeatOptions extends Patience {
  readonly status?: 'active' | 'inactive'
  /** Lets the service hold its answer until a round awaits this device, up to 55 s. */
  readonly waitSeconds?: number
}

export interface Submission {
  /** Null when the service had the update already and only its answer was lost. */
  readonly updateId: string | null
  readonly alreadyKept: boolean
}

/** One device of a service. Every method retries as `retrying` says and throws ApiError or NetworkError. */
export interface Device {
  readonly deviceId: string
  /** Registers and keeps the key for the calls that follow; the key is shown here and never again. */
  register(patience?: Patience): Promise<Registration>
  heartbeat(metrics?: Readonly<Record<string, unknown>>, options?: HeartbeatOptions): Promise<HeartbeatAnswer>
  plan(roundId: string, patience?: Patience): Promise<Plan>
  /** The plan's global model, complete and with the right sha256; null when the plan has none. */
  model(plan: Plan, patience?: Patience): Promise<Uint8Array<ArrayBuffer> | null>
  /** The same into a sink of yours, which may hold the beginning already. */
  download(plan: Plan, sink: DownloadSink, patience?: Patience): Promise<void>
  submit(
    roundId: string,
    weights: Uint8Array<ArrayBuffer> | Blob,
    report: TrainingReport,
    patience?: Patience & { readonly fileName?: string },
  ): Promise<Submission>
  /** Says that this device will not deliver. False when the round no longer cares. */
  reportFailure(roundId: string, reason: string, patience?: Patience): Promise<boolean>
}

const MAX_REASON = 2000
const STALL_MS = 30_000
/** An upload may take half a minute plus a second for each of these bytes. */
const SLOWEST_BYTES_PER_SECOND = 64 * 1024

/** Fetch must be called on the global object in browsers, hence the wrapping. */
const globalFetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init)

export const createDevice = (options: DeviceOptions): Device => {
  const { deviceId } = options
  let key = options.apiKey ?? null
  const world = {
    sleep: options.sleep ?? sleep,
    now: options.now ?? Date.now,
    random: options.random ?? Math.random,
    log: options.log ?? (() => undefined),
  }
  const transport = createTransport({
    baseUrl: options.baseUrl,
    fetch: options.fetch ?? globalFetch,
    bearer: () => key ?? options.enrollmentToken ?? null,
    world,
  })
  const api = '/api/v1'
  const roundPath = (roundId: string): string => `${api}/training/rounds/${encodeURIComponent(roundId)}`
  const until = (patience: Patience): { totalMs: number } | undefined =>
    patience.until === undefined ? undefined : { totalMs: Math.max(0, patience.until - world.now()) }
  const policyOf = (patience: Patience) => ({ signal: patience.signal, policy: { ...until(patience) } })

  const delivered = async (roundId: string, patience: Patience): Promise<boolean> => {
    const call = {
      what: 'selection',
      method: 'GET',
      path: `${roundPath(roundId)}/selection`,
      ...policyOf(patience),
    } as const
    const answer = await transport.json(call).catch(() => null)
    return (answer as { state?: unknown } | null)?.state === 'delivered'
  }

  return {
    deviceId,

    register: async (patience = {}) => {
      const { platform, capabilities } = options
      const json = { device_id: deviceId, ...(platform && { platform }), ...(capabilities && { capabilities }) }
      const path = `${api}/devices/register`
      const body = await transport.json({ what: 'register', method: 'POST', path, json, ...policyOf(patience) })
      const registration = readRegistration(body)
      key = registration.apiKey
      return registration
    },

    heartbeat: async (metrics, patience = {}) => {
      const { waitSeconds = 0, status } = patience
      const query = waitSeconds > 0 ? `?wait_seconds=${waitSeconds}` : ''
      const path = `${api}/devices/${encodeURIComponent(deviceId)}/heartbeat${query}`
      const json = { ...(status && { status }), ...(metrics && { metrics }) }
      const timeoutMs = (waitSeconds + 30) * 1000
      return readHeartbeat(
        await transport.json({ what: 'heartbeat', method: 'PUT', path, json, timeoutMs, ...policyOf(patience) }),
      )
    },

    plan: async (roundId, patience = {}) =>
      readPlan(
        await transport.json({
          what: 'plan',
          method: 'GET',
          path: `${roundPath(roundId)}/plan`,
          ...policyOf(patience),
        }),
      ),

    model: async (plan, patience = {}) => {
      if (plan.model === null) return null
      const sink = memorySink()
      await download(plan, sink, patience)
      return sink.bytes()
    },

    download: (plan, sink, patience = {}) => download(plan, sink, patience),

    submit: async (roundId, weights, report, patience = {}) => {
      const file = weights instanceof Blob ? weights : new Blob([weights])
      const form = new FormData()
      // Fields first: a service that reads the body as a stream knows them before the file begins.
      form.set('num_samples', String(report.numSamples))
      if (report.localLoss !== undefined) form.set('local_loss', String(report.localLoss))
      if (report.localAccuracy !== undefined) form.set('local_accuracy', String(report.localAccuracy))
      const seconds = report.trainingTimeSeconds
      if (seconds !== undefined) form.set('training_time_seconds', String(Math.round(seconds)))
      form.set('file', file, patience.fileName ?? 'update.safetensors')
      const path = `${roundPath(roundId)}/updates`
      const timeoutMs = 30_000 + (file.size / SLOWEST_BYTES_PER_SECOND) * 1000
      try {
        const body = await transport.json({
          what: 'submit',
          method: 'POST',
          path,
          form,
          timeoutMs,
          ...policyOf(patience),
        })
        return { updateId: (body as { id?: string }).id ?? null, alreadyKept: false }
      } catch (error) {
        // An earlier try may have arrived although its answer did not; that update counts, so this is success.
        if (error instanceof ApiError && error.status === 409 && (await delivered(roundId, patience))) {
          return { updateId: null, alreadyKept: true }
        }
        throw error
      }
    },

    reportFailure: async (roundId, reason, patience = {}) => {
      const json = { reason: reason.trim().slice(0, MAX_REASON) || 'no reason given' }
      const path = `${roundPath(roundId)}/failures`
      try {
        await transport.json({ what: 'report failure', method: 'POST', path, json, ...policyOf(patience) })
        return true
      } catch (error) {
        if (error instanceof ApiError && (error.status === 409 || error.status === 404)) return false
        throw error
      }
    },
  }

  async function download(plan: Plan, sink: DownloadSink, patience: Patience): Promise<void> {
    const { model } = plan
    if (model === null) return
    const path = `${roundPath(plan.roundId)}/model`
    let furthest = sink.received()
    await retrying(
      'model download',
      (progress) =>
        downloadOnce({
          send: (headers, signal) =>
            transport.once(
              { what: 'model download', method: 'GET', path, headers: { accept: '*/*', ...headers } },
              signal,
            ),
          sink,
          size: model.sizeBytes,
          sha256: model.sha256,
          stallMs: STALL_MS,
          now: world.now,
          signal: patience.signal,
          progress: () => {
            if (sink.received() <= furthest) return
            furthest = sink.received()
            progress()
          },
        }),
      world,
      // A large model over a slow line is bounded by its round, not by the usual two minutes.
      { ...DEFAULT_POLICY, totalMs: Math.max(0, (patience.until ?? plan.timeoutAt) - world.now()) },
      patience.signal,
    )
  }
}
