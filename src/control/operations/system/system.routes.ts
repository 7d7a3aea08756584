import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { Health, SystemStatus } from './system.schema.ts'
import type { SystemService } from './system.service.ts'

export const systemRoutes = (
  app: App,
  system: SystemService,
  about: { readonly version: string; readonly now: () => Date },
): void => {
  app.get(
    '/api/v1/health',
    {
      schema: {
        operationId: 'getHealth',
        summary: 'Check health',
        description: 'Responds with 200 while the service is running.',
        response: { 200: Health },
      },
      config: { access: 'public', rateLimit: false } satisfies RouteConfig,
    },
    async () => ({ status: 'healthy', version: about.version, timestamp: about.now().toISOString() }),
  )

  app.get(
    '/api/v1/status',
    {
      schema: {
        operationId: 'getStatus',
        summary: 'Get the status of the service',
        description: 'The number of devices and models, and the state of the latest round.',
        response: { 200: SystemStatus },
      },
      config: { access: 'devices:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { devices, models, round } = await system.status(callerOf(request))
      return {
        status: 'operational' as const,
        active_devices: devices.active,
        total_devices: devices.total,
        current_round_number: round?.roundNumber ?? null,
        current_round_status: round?.status ?? null,
        total_models: models,
        timestamp: about.now().toISOString(),
      }
    },
  )
}
