import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'
import type { App } from './app.ts'
import { createRequestCounts } from './request-counts.ts'
import type { RouteConfig } from './route-config.ts'

export interface Metrics {
  /** Modules register their own gauges and counters here. */
  readonly registry: Registry
  /** Further metrics, in the Prometheus text format: read for every answer. */
  readonly texts: (() => Promise<string>)[]
  countRequest(method: string, route: string, status: number, seconds: number): void
}

/** Delays of a monitor that wakes the process at an interval; they include that interval. */
const DELAYS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (part) => `nodejs_eventloop_lag_${part}_seconds`,
)

// Of the process, however many servers it runs: prom-client's monitors have no end.
const ofProcess = new Map<boolean, readonly Metric[]>()

const processMetrics = (monitors: boolean): readonly Metric[] => {
  const made = ofProcess.get(monitors)
  if (made !== undefined) return made
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, ...(!monitors && { eventLoopMonitoringPrecision: 1000 }) })
  if (!monitors) for (const name of DELAYS) registry.removeSingleMetric(name)
  // The type leaves out that these are the metrics themselves.
  const metrics = registry.getMetricsAsArray() as unknown as readonly Metric[]
  ofProcess.set(monitors, metrics)
  return metrics
}

/** @param monitors false where waking up 100 times a second costs too much: event loop lag then has no percentiles */
export const createMetrics = ({ monitors = true }: { readonly monitors?: boolean } = {}): Metrics => {
  const registry = new Registry()
  for (const metric of processMetrics(monitors)) registry.registerMetric(metric)
  const requests = createRequestCounts()
  for (const metric of requests.metrics) {
    // The registry only ever asks a metric for `name` and `get()`; its type demands prom-client's own classes.
    registry.registerMetric(metric as unknown as Metric)
  }
  return { registry, texts: [], countRequest: requests.count }
}

/** GET /metrics in the Prometheus text form. */
export const serveMetrics = (app: App, { registry, texts }: Metrics, access: 'public' | 'metrics:read'): void => {
  const config: RouteConfig = { access, rateLimit: false }
  app.get('/metrics', { config, schema: { hide: true } }, async (_request, reply) => {
    reply.type(registry.contentType)
    return [await registry.metrics(), ...(await Promise.all(texts.map((text) => text())))].join('')
  })
}
