import type { FastifyRequest } from 'fastify'
import { withdrawnState } from '../../../domain/delivery-plan.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import type { Static } from '../../../platform/http/wire.schema.ts'
import type { AffectedDevice } from '../assignments/assignments.service.ts'
import { presentHistory } from '../assignments/plans.present.ts'
import { PageQuery, ReasonBody } from '../assignments/plans.schema.ts'
import { AffectedDevices, PercentageBody, Rollout, RolloutHistory, RolloutParams } from './rollouts.schema.ts'
import type { RolloutDetail, RolloutsService, StoredRollout } from './rollouts.service.ts'

const STARTING =
  'Where the organization requires approval, the rollout stays pending until another admin approves; `warnings` names the approval.'

const SUMMARIES = {
  start: 'Start a pending rollout',
  pause: 'Pause a rollout',
  resume: 'Resume a rollout',
  advance: 'Advance a rollout by one step',
  rollback: 'Roll back a rollout',
} as const

/** Routes for operators' actions. Each returns the rollout after the action, or 409 if its status does not allow the action. */
export const actionRoutes = (
  app: App,
  rollouts: RolloutsService,
  present: (found: RolloutDetail) => Promise<Static<typeof Rollout>>,
): void => {
  const beforeInvalid = async (request: FastifyRequest): Promise<void> => {
    const { model_id, rollout_id } = request.params as { model_id: string; rollout_id: string }
    await rollouts.get(callerOf(request), model_id, rollout_id)
  }
  const config = {
    access: 'models:write',
    errors: ['not_found', 'conflict'],
    beforeInvalid,
  } as const satisfies RouteConfig

  for (const event of ['start', 'pause', 'resume', 'advance', 'rollback'] as const) {
    app.post(
      `/api/v1/models/:model_id/rollouts/:rollout_id/${event}`,
      {
        schema: {
          operationId: `${event}Rollout`,
          summary: SUMMARIES[event],
          ...(event === 'start' && { description: STARTING }),
          params: RolloutParams,
          body: optionalBody(ReasonBody),
          response: { 200: Rollout },
        },
        config,
      },
      async (request) => {
        const { model_id, rollout_id } = request.params
        const reason = request.body?.reason
        return present(await rollouts.applyAction(callerOf(request), model_id, rollout_id, event, { reason }))
      },
    )
  }

  app.put(
    '/api/v1/models/:model_id/rollouts/:rollout_id/percentage',
    {
      schema: {
        operationId: 'setRolloutPercentage',
        summary: 'Set the percentage of a rollout',
        description:
          "The percentage of the fleet, or of the rollout's group. A lower one removes devices from the rollout. While its start waits for approval, a change makes that approval fail.",
        params: RolloutParams,
        body: PercentageBody,
        response: { 200: Rollout },
      },
      config,
    },
    async (request) => {
      const { model_id, rollout_id } = request.params
      const { percentage } = request.body
      return present(
        await rollouts.applyAction(callerOf(request), model_id, rollout_id, 'set_percentage', { percentage }),
      )
    },
  )
}

const presentDevice = ({ deviceId, report, assigned }: AffectedDevice, { status }: Pick<StoredRollout, 'status'>) => {
  const state = report?.state ?? ('assigned' as const)
  return {
    device_id: deviceId,
    state: status === 'rolled_back' && state !== 'assigned' ? withdrawnState(state) : state,
    version: report?.version ?? null,
    reason: report?.reason ?? null,
    reported_at: report?.reportedAt.toISOString() ?? null,
    current: assigned,
  }
}

/** Routes for a rollout's history, and for the devices that it reached. */
export const historyRoutes = (app: App, rollouts: RolloutsService): void => {
  app.get(
    '/api/v1/models/:model_id/rollouts/:rollout_id/history',
    {
      schema: {
        operationId: 'getRolloutHistory',
        summary: 'List the events of a rollout',
        description: 'All events of a rollout, oldest first.',
        params: RolloutParams,
        querystring: PageQuery,
        response: { 200: RolloutHistory },
      },
      config: { access: 'models:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { model_id, rollout_id } = request.params
      const found = await rollouts.history(callerOf(request), model_id, rollout_id, request.query)
      return presentHistory(found, request.query)
    },
  )

  app.get(
    '/api/v1/models/:model_id/rollouts/:rollout_id/devices',
    {
      schema: {
        operationId: 'listRolloutDevices',
        summary: 'List the devices of a rollout',
        description: 'The devices that the rollout includes or included, with their reports.',
        params: RolloutParams,
        querystring: PageQuery,
        response: { 200: AffectedDevices },
      },
      config: { access: 'devices:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { model_id, rollout_id } = request.params
      const { limit, offset } = request.query
      const found = await rollouts.affected(callerOf(request), model_id, rollout_id, { limit, offset })
      return {
        devices: found.devices.map((device) => presentDevice(device, found.rollout)),
        states: found.states,
        total: found.total,
        limit,
        offset,
      }
    },
  )
}
