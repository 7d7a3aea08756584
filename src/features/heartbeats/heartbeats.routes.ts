import { callerOf } from '../../http/access.ts'
import type { App } from '../../http/app.ts'
import type { RouteConfig } from '../../http/route-config.ts'
import { optionalBody } from '../../http/validation.ts'
import type { DevicesService } from '../devices/devices.service.ts'
import { DeviceParams, HeartbeatBody, HeartbeatQuery, HeartbeatResult } from './heartbeats.schema.ts'
import type { HeartbeatsService } from './heartbeats.service.ts'

export const heartbeatsRoutes = (app: App, heartbeats: HeartbeatsService, devices: DevicesService): void => {
  app.put(
    '/api/v1/devices/:device_id/heartbeat',
    {
      schema: {
        operationId: 'sendHeartbeat',
        summary: 'A sign of life, with metrics; the answer tells of a round that awaits the device',
        tags: ['devices'],
        params: DeviceParams,
        querystring: HeartbeatQuery,
        body: optionalBody(HeartbeatBody),
        response: { 200: HeartbeatResult },
      },
      config: {
        access: ['devices:write', 'self'],
        errors: ['bad_request', 'forbidden', 'not_found'],
        beforeInvalid: async (request) => {
          await devices.get(callerOf(request), (request.params as { device_id: string }).device_id)
        },
      } satisfies RouteConfig,
    },
    async (request) => {
      const { status, metrics } = request.body ?? {}
      const gone = new AbortController()
      request.raw.once('close', () => gone.abort())
      const heard = await heartbeats.beat(
        callerOf(request),
        request.params.device_id,
        { status, metrics },
        request.query.wait_seconds * 1000,
        gone.signal,
      )
      return {
        status: heard.reported,
        last_heartbeat: heard.lastHeartbeat.toISOString(),
        ...(heard.pendingRoundId === null ? {} : { pending_round_id: heard.pendingRoundId }),
        message:
          heard.pendingRoundId === null ? 'Heartbeat recorded.' : 'Heartbeat recorded. A round awaits this device.',
      }
    },
  )
}
