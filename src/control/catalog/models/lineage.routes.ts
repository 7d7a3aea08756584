import { Type } from 'typebox'
import { readMetadataChanges } from '../../../domain/version-metadata.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { VersionLineage } from './lineage.schema.ts'
import type { Lineage, LineageService } from './lineage.service.ts'
import { presentNamedVersion } from './models.present.ts'
import { VersionChanges, VersionParams } from './models.schema.ts'
import type { ModelsService } from './models.service.ts'

export const lineageRoutes = (app: App, lineage: LineageService, models: ModelsService): void => {
  app.get(
    '/api/v1/models/:model_id/versions/:version',
    {
      schema: {
        operationId: 'getVersion',
        summary: 'Get a version with its lineage',
        description: 'Where the version came from (job, round, strategy, devices, privacy spent) and where it runs.',
        params: VersionParams,
        response: { 200: VersionLineage },
      },
      config: { access: 'models:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { model_id, version } = request.params
      return present(await lineage.of(callerOf(request), model_id, version))
    },
  )

  app.patch(
    '/api/v1/models/:model_id/versions/:version',
    {
      schema: {
        operationId: 'updateVersion',
        summary: 'Change the metadata of a version',
        description: 'Merges entries into the metadata of a version; its file cannot be changed.',
        params: VersionParams,
        body: VersionChanges,
        response: { 200: VersionLineage },
      },
      config: {
        access: 'models:write',
        errors: ['not_found'],
        beforeInvalid: async (request) => {
          const { model_id, version } = request.params as { model_id: string; version: string }
          await models.findVersion(callerOf(request), model_id, version)
        },
      } satisfies RouteConfig,
    },
    async (request) => {
      const { model_id, version } = request.params
      const caller = callerOf(request)
      const changes = readMetadataChanges(request.body.metadata)
      const changed = await models.changeMetadata(caller, model_id, version, changes)
      return present(await lineage.of(caller, changed.modelId, String(changed.version)))
    },
  )

  app.delete(
    '/api/v1/models/:model_id/versions/:version',
    {
      schema: {
        operationId: 'deleteVersion',
        summary: 'Delete a version',
        description:
          'Deletes a version with its files. Refused while an alias names it, a plan delivers it, or a training job starts from it. ' +
          'Its number and label are not used again.',
        params: VersionParams,
        response: { 204: Type.Null() },
      },
      config: { access: 'models:write', errors: ['bad_request', 'not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { model_id, version } = request.params
      await models.deleteVersion(callerOf(request), model_id, version)
      return reply.code(204).send(null)
    },
  )
}

const present = ({ model, version, aliases, conversions, training, runs }: Lineage) => ({
  ...presentNamedVersion({ ...version, aliases, conversions }),
  model_id: model.id,
  model_name: model.name ?? model.roundName,
  description: version.description,
  training: training && {
    job_id: training.jobId,
    job_name: training.jobName,
    round_id: training.roundId,
    round_number: training.roundNumber,
    strategy: training.strategy,
    strategy_options: { ...training.strategyOptions },
    selected_devices: training.selectedDevices,
    completed_devices: training.completedDevices,
    failed_devices: training.failedDevices,
    trained_from: training.trainedFrom && {
      model_id: training.trainedFrom.modelId,
      version: training.trainedFrom.version,
    },
    privacy_spent: training.spent && {
      epsilon: Math.min(training.spent.epsilon, Number.MAX_VALUE),
      target_delta: training.spent.delta,
      rounds: training.spent.rounds,
    },
    receipt_path: `/api/v1/training/rounds/${training.roundId}/receipt`,
    ended_at: training.endedAt?.toISOString() ?? null,
  },
  runs: runs && {
    devices: { ...runs.devices },
    uses: runs.uses.map(({ createdAt, ...use }) => ({ ...use, created_at: createdAt.toISOString() })),
  },
})
