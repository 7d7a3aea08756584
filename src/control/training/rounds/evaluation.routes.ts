import { badRequest } from '../../../domain/errors.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import { DOWNLOADED, sendBlob } from '../../../platform/http/download.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { warn } from '../../../platform/http/warnings.ts'
import type { Downloads } from '../../downloads.ts'
import { EvaluationPlan, EvaluationTaken, NewEvaluation } from './evaluation.schema.ts'
import type { EvaluationSteps } from './evaluation-steps.service.ts'
import { RoundParams } from './rounds.schema.ts'
import { readMetricReport } from './updates.schema.ts'

export const evaluationRoutes = (app: App, steps: EvaluationSteps, downloads: Downloads): void => {
  app.get(
    '/api/v1/training/rounds/:round_id/evaluation',
    {
      schema: {
        operationId: 'getEvaluationPlan',
        summary: "Get a device's evaluation plan",
        description: 'For devices that received pending_evaluation_round_id in a heartbeat.',
        tags: ['training'],
        params: RoundParams,
        response: { 200: EvaluationPlan },
      },
      config: { access: 'training:read', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const { round, version, until } = await steps.plan(callerOf(request), request.params.round_id)
      return {
        round_id: round.id,
        round_number: round.roundNumber,
        hyperparameters: round.plan.hyperparameters,
        timeout_at: until.toISOString(),
        ...(round.jobId === null ? {} : { job_id: round.jobId }),
        ...(round.plan.rawVector ? { raw_vector: true } : {}),
        model: {
          model_id: version.modelId,
          version: version.version,
          format: version.format,
          model_size_bytes: version.size,
          model_hash: `sha256:${version.sha256}`,
        },
      }
    },
  )

  app.get(
    '/api/v1/training/rounds/:round_id/evaluation/model',
    {
      schema: {
        operationId: 'downloadEvaluationModel',
        summary: 'Download the model to evaluate',
        tags: ['training'],
        produces: ['application/octet-stream'],
        params: RoundParams,
        response: DOWNLOADED,
      },
      config: { access: 'training:read', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { version } = await steps.plan(callerOf(request), request.params.round_id)
      const { size, sha256, fileName } = version
      return sendBlob(request, reply, downloads({ size, sha256, fileName }))
    },
  )

  app.post(
    '/api/v1/training/rounds/:round_id/evaluation',
    {
      schema: {
        operationId: 'submitEvaluation',
        summary: "Report an evaluation of a round's model",
        description: 'Metrics of the new model on held-out data; counts for the device that owns the key, once.',
        tags: ['training'],
        params: RoundParams,
        body: NewEvaluation,
        response: { 201: EvaluationTaken },
      },
      config: {
        access: ['training:write', 'self'],
        errors: ['bad_request', 'not_found', 'conflict'],
      } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { failure_reason: reason, ...found } = request.body
      const warnings: string[] = []
      const report = reason === undefined ? readMetricReport(found, '', warnings) : null
      if (reason === undefined && report === null) throw badRequest('metrics has no number in range.')
      for (const message of warnings) warn(request, message)
      const { round_id } = request.params
      await steps.record(callerOf(request), round_id, report === null ? { reason: reason! } : { report })
      return reply.code(201).send({ round_id })
    },
  )
}
