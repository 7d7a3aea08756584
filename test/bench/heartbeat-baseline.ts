// The baseline of the heartbeat benchmark: the same server, route, validation, rate limit, and log, with a service that
// responds from memory. The difference is the cost of the durable write.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { heartbeatsRoutes } from '../../src/control/fleet/heartbeats/heartbeats.routes.ts'
import type { HeartbeatsService } from '../../src/control/fleet/heartbeats/heartbeats.service.ts'
import type { Caller } from '../../src/domain/access.ts'
import { SCOPES } from '../../src/domain/access.ts'
import { composeKey, isWellFormedKey } from '../../src/domain/api-key.ts'
import { createMetrics } from '../../src/platform/http/metrics.ts'
import { buildServer } from '../../src/platform/http/server.ts'

const callers = new Map<string, Caller>()
const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex')

const heartbeats: HeartbeatsService = {
  contribute: () => undefined,
  history: async () => ({ from: new Date(), counts: [] }),
  announce: async () => undefined,
  withdraw: async () => undefined,
  flush: async () => undefined,
  close: async () => undefined,
  resetTimesAhead: async () => undefined,
  async heartbeat(caller, { deviceId }, { status }) {
    return {
      device: {
        id: caller.deviceId ?? '',
        deviceId,
        orgId: null,
        reported: status ?? 'active',
        trains: true,
        lastHeartbeat: new Date(),
      },
      pendingRoundId: null,
      pendingEvaluationId: null,
      assignments: [],
      nextSeconds: 20,
    }
  },
}

const absent = async (): Promise<never> => {
  throw new Error('The baseline keeps no devices.')
}

const app = await buildServer({
  log: { level: 'info' },
  authenticate: async (token) => (isWellFormedKey(token) ? (callers.get(hashOf(token)) ?? null) : null),
  metrics: createMetrics(),
  rateLimit: { perMinute: Number(process.env.SERVICE_RATE_LIMIT_PER_MINUTE) },
  corsOrigins: [],
  version: 'baseline',
  readiness: {},
  now: Date.now,
})
heartbeatsRoutes(app, heartbeats, { register: absent, get: absent, owner: absent, list: absent, census: absent })
app.post('/api/v1/devices/register', { config: { access: 'public', rateLimit: false } }, async (_request, reply) => {
  const token = composeKey(randomBytes)
  callers.set(hashOf(token), {
    keyId: randomUUID(),
    orgId: null,
    deviceId: randomUUID(),
    grants: [...SCOPES, 'self'],
  })
  return reply.code(201).send({ api_key: token })
})
const address = await app.listen({ host: '127.0.0.1', port: 0 })
console.log(`The baseline is listening on ${address}`)
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)))
