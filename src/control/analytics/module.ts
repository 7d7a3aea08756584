import type { Access } from '../access/module.ts'
import type { Context } from '../context.ts'
import type { Federations } from '../federations/module.ts'
import type { Module } from '../module.ts'
import { analyticsRoutes } from './analytics.routes.ts'
import { createAnalyticsService } from './analytics.service.ts'
import { createReadingsReport } from './readings.report.ts'

interface Earlier {
  readonly access: Access
  readonly federations: Federations
}

const create = (context: Context, earlier: Earlier) => {
  const { federations, changed } = earlier.federations
  const analytics = createAnalyticsService(context, {
    readings: createReadingsReport(),
    minGroupSize: earlier.access.settings.minGroupSize,
    federations,
    changed,
  })
  return { analytics, federations }
}

/** Statistics over data that the devices of a federation report. */
export type Analytics = ReturnType<typeof create>

export const analytics: Module<Analytics, Earlier> = {
  description: 'Federated analytics: descriptive statistics and hypothesis tests',
  tables: ['analytics_queries'],
  create,
  routes: (app, parts) => analyticsRoutes(app, parts.analytics, parts.federations),
}
