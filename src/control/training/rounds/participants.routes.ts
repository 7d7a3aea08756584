import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { ListParticipantsQuery, ParticipantList } from './participation.schema.ts'
import type { ListedParticipant, Participation } from './participation.service.ts'
import { RoundParams } from './rounds.schema.ts'

export const participantsRoutes = (app: App, participation: Pick<Participation, 'list'>): void => {
  app.get(
    '/api/v1/training/rounds/:round_id/participants',
    {
      schema: {
        operationId: 'listRoundParticipants',
        summary: 'List the participants of a round',
        'x-extension': true,
        params: RoundParams,
        querystring: ListParticipantsQuery,
        response: { 200: ParticipantList },
      },
      config: { access: 'training:read', errors: ['forbidden', 'not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset } = request.query
      const found = await participation.list(callerOf(request), request.params.round_id, { limit, offset })
      return { participants: found.participants.map(present), total: found.total, limit, offset }
    },
  )
}

const present = (participant: ListedParticipant) => ({
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
