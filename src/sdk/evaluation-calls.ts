import { ApiError } from '../client/client.ts'
import type { CallOptions, Device, EvaluationReport } from './device.ts'
import type { DownloadSink } from './download.ts'
import type { Transport } from './transport.ts'
import { type EvaluationPlan, evaluationPlanOf, reasonOf } from './wire.ts'

/** JSON.stringify writes non-finite values as null, which the service treats as absent. */
export const evaluationBody = ({ numSamples, metrics, finalModel }: EvaluationReport) => ({
  num_samples: numSamples,
  metrics,
  ...(finalModel && { final_model: true }),
})

type Fetch = (
  plan: EvaluationPlan,
  what: 'evaluation/model',
  file: EvaluationPlan['model'],
  sink: DownloadSink,
  options: CallOptions,
) => Promise<void>

type EvaluationCalls = Pick<Device, 'evaluationPlan' | 'downloadEvaluated' | 'submitEvaluation'>

/** The calls of a device that evaluates a job's last model. */
export const evaluationCalls = (
  transport: Transport,
  clockLeadMs: () => number,
  fetchFile: Fetch,
): EvaluationCalls => ({
  evaluationPlan: async (roundId, options = {}) => {
    const params = { path: { round_id: roundId } }
    const path = '/api/v1/training/rounds/{round_id}/evaluation'
    const body = await transport.call(
      ['evaluation plan', 'timeout_at'],
      (api, signal) => api.GET(path, { params, signal }),
      options,
    )
    return evaluationPlanOf(body, clockLeadMs())
  },

  downloadEvaluated: (plan, sink, options = {}) => fetchFile(plan, 'evaluation/model', plan.model, sink, options),

  submitEvaluation: async (roundId, response, options = {}) => {
    const params = { path: { round_id: roundId } }
    const path = '/api/v1/training/rounds/{round_id}/evaluation'
    const body =
      'failureReason' in response ? { failure_reason: reasonOf(response.failureReason) } : evaluationBody(response)
    try {
      await transport.call(
        ['evaluation', 'round_id'],
        (api, signal) => api.POST(path, { params, body, signal }),
        options,
      )
      return true
    } catch (error) {
      if (error instanceof ApiError && (error.status === 409 || error.status === 404)) return false
      throw error
    }
  },
})
