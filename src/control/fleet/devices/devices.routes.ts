import { readFilter } from '../../../domain/device-filter.ts'
import { outsideWarning, reportedValues } from '../../../domain/reported-number.ts'
import { callerOf, optionalCallerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import { parseJsonField } from '../../../platform/http/input.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { warn } from '../../../platform/http/warnings.ts'
import type { DeviceSearchService } from './device-search.service.ts'
import { present, presentListed, presentRegistration } from './devices.present.ts'
import {
  Device,
  DeviceList,
  DeviceParams,
  FleetDevices,
  FleetQuery,
  FleetSummary,
  ListQuery,
  OrgQuery,
  RegisterBody,
  Registration,
  SummaryQuery,
} from './devices.schema.ts'
import type { DevicesService } from './devices.service.ts'

export const devicesRoutes = (app: App, devices: DevicesService, now: () => Date): void => {
  app.post(
    '/api/v1/devices/register',
    {
      // For 65,536 characters of capabilities, which may have three bytes each.
      bodyLimit: 256 * 1024,
      schema: {
        operationId: 'registerDevice',
        summary: 'Register a device',
        description: 'Register a device. The response shows its API key once.',
        body: RegisterBody,
        response: { 201: Registration },
      },
      config: {
        access: 'public',
        rateLimit: false,
        errors: ['bad_request', 'unauthorized', 'forbidden', 'conflict', 'rate_limited'],
      } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { device_id, platform, org_id, trains } = request.body
      const { values: capabilities, outside } = reportedValues(request.body.capabilities ?? {})
      if (outside.length > 0) warn(request, outsideWarning('capabilities', outside))
      const { device, token } = await devices.register(await optionalCallerOf(request), {
        deviceId: device_id,
        platform: platform ?? 'unknown',
        capabilities,
        orgId: org_id,
        trains: trains ?? true,
      })
      return reply.code(201).send(presentRegistration(device, token, now()))
    },
  )

  app.get(
    '/api/v1/devices',
    {
      schema: {
        operationId: 'listDevices',
        summary: 'List devices',
        description:
          'List the devices of an organization, oldest first. With a filter, `total` is up to a minute old if the organization has 50,000 devices or more.',
        querystring: ListQuery,
        response: { 200: DeviceList },
      },
      config: { access: 'devices:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { org_id, platform, status, limit, offset } = request.query
      const found = await devices.list(callerOf(request), { orgId: org_id, platform, status }, { limit, offset })
      return {
        devices: found.devices.map((device) => presentListed(device, org_id, now())),
        total: found.total,
        limit,
        offset,
      }
    },
  )

  app.get(
    '/api/v1/devices/:device_id',
    {
      schema: {
        operationId: 'getDevice',
        summary: 'Get a device',
        description: 'One device, by its user-chosen id.',
        params: DeviceParams,
        querystring: OrgQuery,
        response: { 200: Device },
      },
      config: { access: 'devices:read', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) =>
      present(await devices.get(callerOf(request), request.params.device_id, { orgId: request.query.org_id }), now()),
  )
}

export const deviceSearchRoutes = (app: App, search: DeviceSearchService, now: () => Date): void => {
  app.get(
    '/api/v1/fleet/devices',
    {
      schema: {
        operationId: 'searchDevices',
        summary: 'Search and sort devices',
        description: 'Devices that the key may see, with cursor pagination: later pages take no longer than the first.',
        querystring: FleetQuery,
        response: { 200: FleetDevices },
      },
      config: { access: 'devices:read', errors: ['bad_request'] } satisfies RouteConfig,
    },
    async (request) => {
      const { q, order, filter, org_id: orgId, device_id: deviceId, ...question } = request.query
      const found = await search.page(callerOf(request), {
        ...question,
        orgId,
        deviceId,
        text: q.trim(),
        filter: filter === undefined ? [] : readFilter(parseJsonField('filter', filter, 'list')),
        descending: order === 'desc',
      })
      return { ...found, devices: found.devices.map((device) => present(device, now())) }
    },
  )

  app.get(
    '/api/v1/fleet/summary',
    {
      schema: {
        operationId: 'getFleetSummary',
        summary: 'Count devices by status and platform',
        description: 'The counts are up to a minute old if the key can see 50,000 devices or more.',
        querystring: SummaryQuery,
        response: { 200: FleetSummary },
      },
      config: { access: 'devices:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { lastHeard, platforms, ...counts } = await search.summary(callerOf(request), request.query.org_id)
      return { ...counts, platforms: [...platforms], last_heard: [...lastHeard] }
    },
  )
}
