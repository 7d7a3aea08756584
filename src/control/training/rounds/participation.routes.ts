import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import { DOWNLOADED, sendBlob } from '../../../platform/http/download.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import type { Downloads } from '../../downloads.ts'
import { presentSettings } from '../secure-rounds/secure-rounds.present.ts'
import type { Participation as ParticipationService } from './participation.service.ts'
import { ParticipantList, Participation, SelectionQuery } from './round-records.schema.ts'
import type { RoundRecords } from './round-records.service.ts'
import { presentSampling } from './round-settings.present.ts'
import { ListRoundsQuery, Plan, RoundParams } from './rounds.schema.ts'
import type { RoundBeginning } from './rounds.service.ts'

export const participationRoutes = (
  app: App,
  participation: ParticipationService,
  records: Pick<RoundRecords, 'participants'>,
  downloads: Downloads,
): void => {
  app.get(
    '/api/v1/training/rounds/:round_id/plan',
    {
      schema: {
        operationId: 'getRoundPlan',
        summary: "Get a round's training plan",
        description:
          'What a device needs to take part in a round. If an asynchronous job has moved a device to this round, the device trains from ' +
          "this round's model once it fetches the plan or the model, and until then from the model of the round that it began with.",
        params: RoundParams,
        response: { 200: Plan },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { round, version, control } = await participation.plan(callerOf(request), request.params.round_id)
      return {
        round_id: round.id,
        round_number: round.roundNumber,
        strategy: round.plan.strategy,
        hyperparameters: round.plan.hyperparameters,
        timeout_at: (round.closesAt ?? round.timeoutAt).toISOString(),
        ...(round.plan.options === undefined ? {} : { strategy_options: round.plan.options }),
        ...(round.jobId === null ? {} : { job_id: round.jobId }),
        ...(round.plan.step === undefined ? {} : { rounds_completed: round.plan.step }),
        ...(round.plan.asynchronous ? { asynchronous: true } : {}),
        ...(STRATEGY_RULES[round.plan.strategy].controlVariates ? { control: presentControl(control) } : {}),
        ...(round.plan.secure === undefined ? {} : { secure_aggregation: presentSettings(round.plan.secure) }),
        ...(round.plan.rawVector ? { raw_vector: true } : {}),
        ...(round.privacy === null ? {} : { clip_norm: round.privacy.clipNorm, privacy: planOfPrivacy(round.privacy) }),
        model:
          version === null
            ? null
            : {
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
    '/api/v1/training/rounds/:round_id/model',
    fileOf('downloadRoundModel', "Download a round's global model"),
    async (request, reply) => {
      const fetches = request.method === 'GET'
      const version = await participation.modelFile(callerOf(request), request.params.round_id, fetches)
      const { size, sha256, fileName } = version
      return sendBlob(request, reply, downloads({ size, sha256, fileName }))
    },
  )

  app.get(
    '/api/v1/training/rounds/:round_id/control',
    fileOf('downloadRoundControl', "Download SCAFFOLD's global control variate"),
    async (request, reply) => {
      const { sha256, size } = await participation.controlFile(callerOf(request), request.params.round_id)
      return sendBlob(request, reply, downloads({ size, sha256, fileName: 'control' }))
    },
  )

  app.get(
    '/api/v1/training/rounds/:round_id/selection',
    {
      schema: {
        operationId: 'explainSelection',
        summary: 'Explain whether a device was selected',
        description: 'Whether a device was selected, and why or why not.',
        params: RoundParams,
        querystring: SelectionQuery,
        response: { 200: Participation },
      },
      config: { access: 'training:read', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const { round_id } = request.params
      const { device_id: deviceId, org_id: orgId } = request.query
      const { device, part, reason } = await participation.selection(callerOf(request), round_id, { deviceId, orgId })
      return { round_id, device_id: device.deviceId, selected: part !== null, state: part?.state ?? null, reason }
    },
  )

  app.get(
    '/api/v1/training/rounds/:round_id/participants',
    {
      schema: {
        operationId: 'listRoundParticipants',
        summary: 'List the participants of a round',
        description: 'In order of `device_identifier`.',
        params: RoundParams,
        querystring: ListRoundsQuery,
        response: { 200: ParticipantList },
      },
      config: { access: 'training:read', errors: ['forbidden', 'not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset } = request.query
      const found = await records.participants(callerOf(request), request.params.round_id, { limit, offset })
      return { participants: found.participants.map(presentParticipant), total: found.total, limit, offset }
    },
  )
}

const planOfPrivacy = (privacy: NonNullable<RoundBeginning['privacy']>) => ({
  noise_multiplier: privacy.noiseMultiplier,
  clip_norm: privacy.clipNorm,
  denominator: privacy.denominator,
  sample_rate: privacy.sampleRate,
  ...presentSampling(privacy),
})

const presentControl = (control: { readonly sha256: string; readonly size: number } | null) =>
  control === null ? null : { control_size_bytes: control.size, control_hash: `sha256:${control.sha256}` }

/** The API description of a route that returns a file of the round. */
const fileOf = (operationId: string, summary: string) => ({
  schema: {
    operationId,
    summary,
    produces: ['application/octet-stream'],
    params: RoundParams,
    response: DOWNLOADED,
  },
  config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
})

const presentParticipant = (
  participant: Awaited<ReturnType<RoundRecords['participants']>>['participants'][number],
) => ({
  device_id: participant.deviceId,
  device_identifier: participant.deviceName,
  org_id: participant.orgId,
  state: participant.state,
  chosen: participant.chosen,
  selected_at: participant.selectedAt.toISOString(),
  acknowledged_at: participant.acknowledgedAt?.toISOString() ?? null,
  model_fetched_at: participant.fetchedAt?.toISOString() ?? null,
  reported_at: participant.reportedAt?.toISOString() ?? null,
  reason: participant.failureReason,
})
