import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { FleetDevices, FleetQuery, FleetSummary } from './device-search.schema.ts'
import type { DeviceSearchService } from './device-search.service.ts'
import { present } from './devices.present.ts'

export const deviceSearchRoutes = (app: App, search: DeviceSearchService, now: () => Date): void => {
  app.get(
    '/api/v1/fleet/devices',
    {
      schema: {
        operationId: 'searchDevices',
        summary: 'Search and sort devices',
        description: 'Devices that the key may see, by cursor: a late page takes no longer than the first.',
        'x-extension': true,
        querystring: FleetQuery,
        response: { 200: FleetDevices },
      },
      config: { access: 'devices:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { q, order, ...question } = request.query
      const found = await search.page(callerOf(request), {
        ...question,
        platform: question.platform,
        status: question.status,
        after: question.after,
        text: q.trim(),
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
        'x-extension': true,
        response: { 200: FleetSummary },
      },
      config: { access: 'devices:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { lastHeard, platforms, ...counts } = await search.summary(callerOf(request))
      return { ...counts, platforms: [...platforms], last_heard: [...lastHeard] }
    },
  )
}
