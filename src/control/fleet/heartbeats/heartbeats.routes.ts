import { tagOfAll } from '../../../domain/assignment.ts'
import { SLOT_SECONDS } from '../../../domain/heartbeat.ts'
import { outsideWarning, reportedValues } from '../../../domain/reported-number.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import { abortOnDisconnect } from '../../../platform/http/client-disconnect.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import { warn } from '../../../platform/http/warnings.ts'
import { DeviceParams, OrgQuery } from '../devices/devices.schema.ts'
import type { DevicesService } from '../devices/devices.service.ts'
import { presentAssignment } from './heartbeats.present.ts'
import { HeartbeatBody, HeartbeatHistory, HeartbeatQuery, HeartbeatResponse } from './heartbeats.schema.ts'
import type { HeartbeatsService } from './heartbeats.service.ts'

export const heartbeatsRoutes = (app: App, heartbeats: HeartbeatsService, devices: DevicesService): void => {
  app.put(
    '/api/v1/devices/:device_id/heartbeat',
    {
      schema: {
        operationId: 'sendHeartbeat',
        summary: 'Send a heartbeat',
        description:
          'Report that the device is active, with metrics. The response names the round that awaits it and its assignments.',
        params: DeviceParams,
        querystring: HeartbeatQuery,
        body: optionalBody(HeartbeatBody),
        response: { 200: HeartbeatResponse },
      },
      config: {
        access: ['devices:write', 'self'],
        flushHeartbeats: false,
        errors: ['bad_request', 'forbidden', 'not_found', 'conflict'],
        beforeInvalid: async (request) => {
          const { org_id: orgId } = request.query as { org_id?: string }
          await devices.get(callerOf(request), (request.params as { device_id: string }).device_id, { orgId })
        },
      } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { status, metrics, capabilities, trains } = request.body ?? {}
      const kept = (field: string, values: Readonly<Record<string, unknown>> | undefined) => {
        const reported = values && reportedValues(values)
        if (reported !== undefined && reported.outside.length > 0)
          warn(request, outsideWarning(field, reported.outside))
        return reported?.values
      }
      const waitMs = Math.round(request.query.wait_seconds * 1000)
      const known = request.query.known_assignments
      const received = await heartbeats.heartbeat(
        callerOf(request),
        { deviceId: request.params.device_id, orgId: request.query.org_id },
        { status, metrics: kept('metrics', metrics), capabilities: kept('capabilities', capabilities), trains },
        { ms: waitMs, gone: waitMs > 0 ? abortOnDisconnect(reply.raw) : NEVER, known },
      )
      const { assignments } = received
      const tag = known === undefined && assignments.length === 0 ? undefined : tagOfAll(assignments)
      return {
        status: received.device.reported,
        last_heartbeat: received.device.lastHeartbeat.toISOString(),
        ...(received.pendingRoundId === null ? {} : { pending_round_id: received.pendingRoundId }),
        ...(received.pendingEvaluationId === null ? {} : { pending_evaluation_round_id: received.pendingEvaluationId }),
        ...(assignments.length === 0 || tag === known ? {} : { assignments: assignments.map(presentAssignment) }),
        ...(tag === undefined ? {} : { assignments_tag: tag }),
        next_heartbeat_seconds: received.nextSeconds,
        message:
          received.pendingRoundId === null ? 'Heartbeat recorded.' : 'Heartbeat recorded. A round awaits this device.',
      }
    },
  )

  app.get(
    '/api/v1/devices/:device_id/heartbeats',
    {
      schema: {
        operationId: 'getHeartbeatHistory',
        summary: "Get a device's heartbeats from the last day",
        description: 'Number of heartbeats in each 15-minute interval.',
        params: DeviceParams,
        querystring: OrgQuery,
        response: { 200: HeartbeatHistory },
      },
      config: { access: 'devices:read', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const { device_id } = request.params
      const device = await devices.get(callerOf(request), device_id, { orgId: request.query.org_id })
      const { from, counts } = await heartbeats.history(device)
      return { device_id, from: from.toISOString(), slot_seconds: SLOT_SECONDS, counts: [...counts] }
    },
  )
}

// Aborting creates an error with a stack, a sixth of a heartbeat's CPU time: only heartbeats that wait have their own signal.
const NEVER = new AbortController().signal
