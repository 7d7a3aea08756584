import { type ApiClient, ApiError } from '../client/client.ts'
import { NetworkError } from './api-error.ts'
import type { CallOptions, Device, TrainingReport } from './device.ts'
import { type DownloadSink, downloadOnce, memorySink } from './download.ts'
import { evaluationBody, evaluationCalls } from './evaluation-calls.ts'
import { multipart } from './multipart.ts'
import { isTransient, retrying } from './retry.ts'
import { policyOf, type Transport } from './transport.ts'
import { type Plan, planOf, reasonOf } from './wire.ts'

const STALL_MS = 30_000
/** An upload may take half a minute, plus one second per this many bytes. */
const SLOWEST_BYTES_PER_SECOND = 64 * 1024

const isConflict = (error: unknown): boolean => error instanceof ApiError && error.status === 409

/**
 * Whether the round has this device's update. @throws errors after which that is unknown for now, such as a refused key:
 * false in their place would mean that the update is lost
 */
export const hasArrived = (
  device: Pick<Device, 'isDelivered'>,
  roundId: string,
  options: CallOptions,
): Promise<boolean> =>
  device.isDelivered(roundId, options).catch((error: unknown) => {
    if (error instanceof ApiError && error.status !== 401 && !isTransient(error)) return false
    throw error
  })

/** Returns the parts of a report that the round may receive from a single device. */
export const reportFor = (plan: Plan, report: TrainingReport): TrainingReport =>
  plan.private ? { ...report, metrics: undefined, evaluation: undefined } : report

const fieldsOf = (report: TrainingReport): Record<string, string> => {
  const { numSamples, localLoss, localAccuracy, trainingTimeSeconds, metrics, evaluation } = report
  return {
    num_samples: String(numSamples),
    // A NaN loss is omitted rather than refused.
    ...(localLoss !== undefined && !Number.isNaN(localLoss) && { local_loss: String(localLoss) }),
    ...(localAccuracy !== undefined && { local_accuracy: String(localAccuracy) }),
    ...(trainingTimeSeconds !== undefined && { training_time_seconds: String(Math.round(trainingTimeSeconds)) }),
    ...(metrics !== undefined && { metrics: JSON.stringify(metrics) }),
    ...(evaluation !== undefined && { evaluation: JSON.stringify(evaluationBody(evaluation)) }),
  }
}

type RoundCalls = Pick<
  Device,
  | 'plan'
  | 'model'
  | 'control'
  | 'download'
  | 'submit'
  | 'reportFailure'
  | 'evaluationPlan'
  | 'downloadEvaluated'
  | 'submitEvaluation'
  | 'roundStatus'
  | 'isDelivered'
>

const paramsOf = (roundId: string) => ({ path: { round_id: roundId } })

const statusCalls = (transport: Transport): Pick<RoundCalls, 'roundStatus' | 'isDelivered'> => ({
  roundStatus: async (roundId, options = {}) => {
    const params = paramsOf(roundId)
    const path = '/api/v1/training/rounds/{round_id}/status'
    const send = (api: ApiClient, signal: AbortSignal) => api.GET(path, { params, signal })
    return (await transport.call(['round status', 'status'], send, options)).status
  },

  isDelivered: async (roundId, options = {}) => {
    const params = paramsOf(roundId)
    const path = '/api/v1/training/rounds/{round_id}/selection'
    const send = (api: ApiClient, signal: AbortSignal) => api.GET(path, { params, signal })
    return (await transport.call(['selection', 'state'], send, options)).state === 'delivered'
  },
})

/** A device's calls in a round. `clockLeadMs`: how far the service's clock is ahead of ours. */
export const roundCalls = (transport: Transport, clockLeadMs: () => number): RoundCalls => {
  const { runtime } = transport
  const status = statusCalls(transport)

  /** Downloads one of the round's files, within the round's time. */
  const fetchFile = async (
    plan: Pick<Plan, 'roundId' | 'timeoutAt'>,
    what: 'model' | 'control' | 'evaluation/model',
    file: { readonly sizeBytes: number; readonly sha256: string },
    sink: DownloadSink,
    options: CallOptions,
  ): Promise<void> => {
    const params = paramsOf(plan.roundId)
    const path = `/api/v1/training/rounds/{round_id}/${what}` as const
    let furthest = sink.received()
    await retrying(
      `${what} download`,
      (progress) =>
        downloadOnce({
          send: async (headers, signal) => {
            const init = { params, headers, signal, parseAs: 'stream' } as const
            return (await transport.once((api, stop) => api.GET(path, { ...init, signal: stop }), signal)).response
          },
          sink,
          size: file.sizeBytes,
          sha256: file.sha256,
          stallMs: STALL_MS,
          signal: options.signal,
          progress: () => {
            if (sink.received() <= furthest) return
            furthest = sink.received()
            progress()
          },
        }),
      runtime,
      // A large model over a slow connection may take the round's time, not just the usual two minutes.
      policyOf({ until: options.until ?? plan.timeoutAt }, runtime),
      options.signal,
    )
  }

  const download = async (plan: Plan, sink: DownloadSink, options: CallOptions = {}): Promise<void> => {
    if (plan.model !== null) await fetchFile(plan, 'model', plan.model, sink, options)
  }

  return {
    plan: async (roundId, options = {}) => {
      const params = paramsOf(roundId)
      const path = '/api/v1/training/rounds/{round_id}/plan'
      const body = await transport.call(
        ['plan', 'timeout_at'],
        (api, signal) => api.GET(path, { params, signal }),
        options,
      )
      return planOf(body, clockLeadMs())
    },

    download,

    model: async (plan, options = {}) => {
      if (plan.model === null) return null
      const sink = memorySink()
      await download(plan, sink, options)
      return sink.bytes()
    },

    control: async (plan, options = {}) => {
      if (plan.control === null) return null
      const sink = memorySink()
      await fetchFile(plan, 'control', plan.control, sink, options)
      return sink.bytes()
    },

    submit: async (roundId, weights, report, options = {}) => {
      const params = paramsOf(roundId)
      const path = '/api/v1/training/rounds/{round_id}/updates'
      const file = weights instanceof Blob ? weights : new Blob([weights])
      const given = options.control
      const control = given === undefined ? null : given instanceof Blob ? given : new Blob([given])
      const form = multipart(fieldsOf(report), [
        ...(control === null ? [] : [{ field: 'control', fileName: 'control', content: control }]),
        { field: 'file', fileName: options.fileName ?? 'update.safetensors', content: file },
      ])
      const timeoutMs = 30_000 + ((file.size + (control?.size ?? 0)) / SLOWEST_BYTES_PER_SECOND) * 1000
      try {
        const { id } = await transport.call(
          ['update', 'id'],
          (api, signal) => {
            // The form itself is what is sent.
            const body = { file, num_samples: report.numSamples }
            const headers = { 'content-type': form.type }
            return api.POST(path, { params, body, headers, bodySerializer: () => form, signal })
          },
          { ...options, timeoutMs },
        )
        return { updateId: id, alreadyKept: false }
      } catch (error) {
        // An earlier attempt may have arrived although its response was lost; that update counts, so this is success. A service
        // that refuses early may also cut off the upload before its response can be read.
        const mayHaveArrived = isConflict(error) || error instanceof NetworkError
        if (mayHaveArrived && (await hasArrived(status, roundId, options))) return { updateId: null, alreadyKept: true }
        throw error
      }
    },

    reportFailure: async (roundId, reason, options = {}) => {
      const params = paramsOf(roundId)
      const path = '/api/v1/training/rounds/{round_id}/failures'
      const body = { reason: reasonOf(reason) }
      try {
        await transport.call(
          ['failure report', 'id'],
          (api, signal) => api.POST(path, { params, body, signal }),
          options,
        )
        return true
      } catch (error) {
        if (isConflict(error) || (error instanceof ApiError && error.status === 404)) return false
        throw error
      }
    },

    ...evaluationCalls(transport, clockLeadMs, fetchFile),

    ...status,
  }
}
