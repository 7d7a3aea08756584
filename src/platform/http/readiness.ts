import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from './app.ts'
import type { RouteConfig } from './route-config.ts'

/** Each check resolves if its dependency works, and throws or times out otherwise. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<unknown>>>

/** While it is `starting` or `stopping`, load balancers and scripts should not use the service. */
export type Phase = 'starting' | 'ready' | 'stopping'

const PATIENCE_MS = 5000

const passes = (check: () => Promise<unknown>): Promise<boolean> => {
  const passed = check().then(
    () => true,
    () => false,
  )
  return Promise.race([passed, sleep(PATIENCE_MS, false, { ref: false })])
}

/** GET /ready for load balancers: 200 while all checks pass and the service neither starts nor stops, otherwise 503. */
export const serveReadiness = (app: App, checks: ReadinessChecks, phaseOf: () => Phase): void => {
  const config: RouteConfig = { access: 'public', rateLimit: false }
  app.get('/ready', { config, schema: { hide: true } }, async (_request, reply) => {
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, (await passes(check)) ? 'ok' : 'failed'] as const),
    )
    const isSound = results.every(([, result]) => result === 'ok')
    const status = isSound ? phaseOf() : 'not_ready'
    return reply.code(status === 'ready' ? 200 : 503).send({ status, checks: Object.fromEntries(results) })
  })
}
