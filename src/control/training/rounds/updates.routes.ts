import type { MetricReport } from '../../../domain/metrics.ts'
import { type BlobStore, blobPath } from '../../../platform/blobs/blob-store.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { readUpload } from '../../../platform/http/upload.ts'
import { warn } from '../../../platform/http/warnings.ts'
import { RoundUpdates } from './round-records.schema.ts'
import type { RoundRecords } from './round-records.service.ts'
import { present as presentRound } from './rounds.present.ts'
import { FailureBody, ListRoundsQuery, Round, RoundParams } from './rounds.schema.ts'
import type { RoundsService } from './rounds.service.ts'
import type { UpdateCounts } from './update-counts.service.ts'
import { ModelUpdate, readReport, UpdateFields } from './updates.schema.ts'
import type { StoredUpdate, UpdatesService } from './updates.service.ts'
import type { VisibleRounds } from './visible-rounds.service.ts'

export const updatesRoutes = (
  app: App,
  {
    updates,
    rounds,
    records,
    updateCounts: counts,
    visibleRounds,
  }: {
    readonly updates: UpdatesService
    readonly rounds: Pick<RoundsService, 'get'>
    readonly records: Pick<RoundRecords, 'updates'>
    readonly updateCounts: UpdateCounts
    readonly visibleRounds: Pick<VisibleRounds, 'one'>
  },
  storage: { readonly blobs: BlobStore; readonly maxUploadBytes: number },
): void => {
  app.post(
    '/api/v1/training/rounds/:round_id/updates',
    {
      schema: {
        operationId: 'submitUpdate',
        summary: 'Submit a model update',
        description: 'Submit locally trained weights; counts for the device that owns the key.',
        consumes: ['multipart/form-data'],
        params: RoundParams,
        response: { 201: ModelUpdate },
      },
      config: {
        access: ['training:write', 'self'],
        errors: ['bad_request', 'not_found', 'conflict'],
        form: UpdateFields,
        furtherFiles: {
          control:
            "SCAFFOLD only, and required there: the change of the device's control variate, with the model's layout",
        },
      } satisfies RouteConfig,
      onError: async (_request, _reply, error) => counts.refuse(error),
    },
    async (request, reply) => {
      const caller = callerOf(request)
      const round = await updates.admit(caller, request.params.round_id)
      const { file, others, fields } = await readUpload(request, {
        blobs: storage.blobs,
        maxBytes: storage.maxUploadBytes,
        also: ['control'],
      })
      const control = others.control ?? null
      try {
        const { report, warnings } = readReport(fields)
        for (const message of warnings) warn(request, message)
        const submitted = await updates.submit(caller, round, { file, control }, report)
        for (const message of submitted.warnings) warn(request, message)
        counts.accept()
        return reply.code(201).send(presentUpdate(submitted.update))
      } finally {
        await file.discard()
        await control?.discard()
      }
    },
  )

  app.get(
    '/api/v1/training/rounds/:round_id/updates',
    {
      schema: {
        operationId: 'listUpdates',
        summary: 'List the updates of a round',
        description: 'The submitted updates in order of device id, and how each compares with the others.',
        params: RoundParams,
        querystring: ListRoundsQuery,
        response: { 200: RoundUpdates },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset } = request.query
      const found = await records.updates(callerOf(request), request.params.round_id, { limit, offset })
      return {
        updates: found.updates.map(presentReviewed),
        total: found.total,
        limit,
        offset,
      }
    },
  )

  app.post(
    '/api/v1/training/rounds/:round_id/failures',
    {
      schema: {
        operationId: 'reportFailure',
        summary: 'Report a failed participation',
        description: 'Report that the device failed, with a reason. The round no longer waits for it.',
        params: RoundParams,
        body: FailureBody,
        response: { 200: Round },
      },
      config: {
        access: ['training:write', 'self'],
        errors: ['not_found', 'conflict'],
        beforeInvalid: async (request) => {
          await rounds.get(callerOf(request), (request.params as { round_id: string }).round_id)
        },
      } satisfies RouteConfig,
    },
    async (request) => {
      const round = await updates.fail(callerOf(request), request.params.round_id, request.body.reason)
      return presentRound(await visibleRounds.one(callerOf(request), round))
    },
  )
}

/** An update in the API. */
const presentUpdate = (update: StoredUpdate) => ({
  id: update.id,
  round_id: update.roundId,
  device_id: update.deviceId,
  model_path: blobPath(update.fileHash),
  model_size_bytes: update.size,
  model_hash: `sha256:${update.fileHash}`,
  num_samples: update.numSamples,
  local_loss: update.localLoss,
  local_accuracy: update.localAccuracy,
  training_time_seconds: update.trainingTimeSeconds,
  created_at: update.createdAt.toISOString(),
})

type Reviewed = Awaited<ReturnType<RoundRecords['updates']>>['updates'][number]

/** An update and how it compares with the others of its round. */
const presentReviewed = ({ update, deviceName, screened, weight }: Reviewed) => ({
  ...presentUpdate(update),
  device_identifier: deviceName,
  metrics: update.metrics,
  evaluation: update.evaluation && presentReport(update.evaluation),
  norm: screened?.norm ?? null,
  cosine: screened?.cosine ?? null,
  non_finite: screened?.non_finite ?? null,
  weight,
  staleness: update.staleness,
  base_round_id: update.baseRoundId,
})

const presentReport = ({ numSamples, metrics }: MetricReport) => ({ num_samples: numSamples, metrics })
