import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { App } from './app.ts'
import type { RouteConfig } from './route-config.ts'

export interface Metrics {
  /** Others register their own gauges and counters here. */
  readonly registry: Registry
  countRequest(method: string, route: string, status: number, seconds: number): void
}

// From a heartbeat's half millisecond to the minutes of an upload.
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 120, 600]

export const createMetrics = (): Metrics => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const total = new Counter({
    name: 'http_requests_total',
    help: 'Requests answered or broken off, by method, route pattern and status',
    labelNames: ['method', 'route', 'status'] as const,
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from a request line to the end of its answer',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: BUCKETS,
    registers: [registry],
  })
  // Looking a series up by its labels costs more than everything else here, so each is looked up once.
  const series = new Map<
    string,
    { total: Counter.Internal; duration: Histogram.Internal<'method' | 'route' | 'status'> }
  >()

  return {
    registry,
    countRequest(method, route, status, seconds) {
      const name = `${method} ${status} ${route}`
      let known = series.get(name)
      if (known === undefined) {
        const labels = { method, route, status: String(status) }
        known = { total: total.labels(labels), duration: duration.labels(labels) }
        series.set(name, known)
      }
      known.total.inc()
      known.duration.observe(seconds)
    },
  }
}

/** GET /metrics in the Prometheus text form. */
export const serveMetrics = (app: App, { registry }: Metrics): void => {
  const config: RouteConfig = { access: 'public', rateLimit: false }
  app.get('/metrics', { config, schema: { hide: true } }, async (_request, reply) => {
    reply.type(registry.contentType)
    return registry.metrics()
  })
}
