import { Refusal } from './api-error.ts'
import { type Assignment, assignmentOf } from './assignment.ts'
import type { Device } from './device.ts'
import { downloadOnce, WrongBytes } from './download.ts'
import { retrying } from './retry.ts'
import { policyOf, type Transport } from './transport.ts'
import { reasonOf } from './wire.ts'

const STALL_MS = 30_000
/** How often a complete file may have wrong bytes before the download fails. */
const WRONG_ARRIVALS = 3

/** The file arrived complete several times, each time with the wrong bytes. */
export class DamagedDownload extends Error {
  override readonly name = 'DamagedDownload'
}

type DeliveryCalls = Pick<Device, 'assignments' | 'reportAssignment' | 'reportedPlans' | 'downloadVersion'>

/** A device's calls about its assignments. */
export const deliveryCalls = (transport: Transport, deviceId: string): DeliveryCalls => {
  const { runtime } = transport
  let kept: { readonly etag: string; readonly assignments: readonly Assignment[] } | null = null

  const download: DeliveryCalls['downloadVersion'] = async (assignment, sink, options = {}) => {
    const { modelId, versionNumber, file } = assignment
    if (file === null || modelId === null) {
      throw new Error(
        `There is no file to download for '${assignment.modelName}': its name must be resolved elsewhere.`,
      )
    }
    const params = { path: { model_id: modelId, version: String(versionNumber) } }
    const path = '/api/v1/models/{model_id}/versions/{version}/download'
    let furthest = sink.received()
    let wrong = 0
    await retrying(
      'version download',
      (progress) =>
        downloadOnce({
          send: async (headers, signal) => {
            const init = { params, headers, parseAs: 'stream' } as const
            return (await transport.once((api, stop) => api.GET(path, { ...init, signal: stop }), signal)).response
          },
          sink,
          size: file.sizeBytes,
          sha256: file.sha256,
          stallMs: STALL_MS,
          signal: options.signal,
          progress: () => {
            options.onProgress?.(sink.received())
            if (sink.received() <= furthest) return
            furthest = sink.received()
            progress()
          },
          verifying: options.onVerify,
        }).catch((error: unknown) => {
          if (error instanceof WrongBytes && ++wrong >= WRONG_ARRIVALS) {
            throw new DamagedDownload(`${error.message} Attempt ${wrong}, the last one, failed.`, { cause: error })
          }
          throw error
        }),
      runtime,
      // However large the file and slow the connection, only lack of progress ends the download.
      policyOf({ until: options.until ?? Number.POSITIVE_INFINITY }, runtime),
      options.signal,
    )
  }

  return {
    assignments: async (options = {}) => {
      const path = '/api/v1/devices/{device_id}/assignments'
      let etag: string | null = null
      const headers = kept === null ? {} : { 'if-none-match': kept.etag }
      const params = { path: { device_id: deviceId } }
      try {
        const { assignments } = await transport.call(
          ['assignments', 'assignments'],
          async (api, signal) => {
            const response = await api.GET(path, { params, headers, signal })
            etag = response.response.headers.get('etag')
            return response
          },
          options,
        )
        const found = assignments.map(assignmentOf)
        kept = etag === null ? null : { etag, assignments: found }
        return found
      } catch (error) {
        if (kept !== null && error instanceof Refusal && error.status === 304) return kept.assignments
        throw error
      }
    },

    reportAssignment: async (planId, report, options = {}) => {
      const path = '/api/v1/devices/{device_id}/assignments/{plan_id}/report'
      const params = { path: { device_id: deviceId, plan_id: planId } }
      const reason = report.reason?.trim() && reasonOf(report.reason)
      const { state, version, metrics } = report
      const body = { state, version, ...(reason && { reason }), ...(metrics && { metrics: { ...metrics } }) }
      const { current } = await transport.call(
        ['delivery report', 'current'],
        (api, signal) => api.POST(path, { params, body, signal }),
        options,
      )
      return { current }
    },

    reportedPlans: async (options = {}) => {
      const params = { path: { device_id: deviceId } }
      const { reports } = await transport.call(
        ['list of reports', 'reports'],
        (api, signal) => api.GET('/api/v1/devices/{device_id}/reports', { params, signal }),
        options,
      )
      return reports.map(({ plan_id }) => plan_id)
    },

    downloadVersion: download,
  }
}
