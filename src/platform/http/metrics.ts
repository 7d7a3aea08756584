import type { FastifyReply } from 'fastify'
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'
import { asDatabaseAway } from '../../domain/outages.ts'
import type { App } from './app.ts'
import type { RouteConfig } from './route-config.ts'

export interface Metrics {
  /** Modules register their own gauges and counters here. */
  readonly registry: Registry
  /** Further metrics, in the Prometheus text format; called for every response. */
  readonly texts: (() => Promise<string>)[]
  /** The response while keys cannot be checked because the database does not respond. */
  outage: string | null
  countRequest(method: string, route: string, status: number, seconds: number): void
}

// From half a millisecond for a heartbeat to minutes for an upload.
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 120, 600]

interface Sample {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

interface Series {
  readonly labels: Sample['labels']
  /** Requests per bucket; the last one counts those above all bounds. */
  readonly places: number[]
  seconds: number
}

/** The part of a prom-client metric that its registry uses. */
const metric = (name: string, help: string, type: 'counter' | 'histogram', samples: () => readonly Sample[]) => ({
  name,
  get: async () => ({ name, help, type, aggregator: 'sum', values: samples() }),
})

const DURATION = 'http_request_duration_seconds'

const histogramOf = ({ labels, places, seconds }: Series): Sample[] => {
  let below = 0
  const buckets = places.map((count, i) => {
    below += count
    return { metricName: `${DURATION}_bucket`, labels: { ...labels, le: BOUNDS[i] ?? '+Inf' }, value: below }
  })
  return [
    ...buckets,
    { metricName: `${DURATION}_sum`, labels, value: seconds },
    { metricName: `${DURATION}_count`, labels, value: below },
  ]
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/**
 * Counts requests and their durations by method, route pattern and status. Implemented here because prom-client's own counters
 * hash their labels on every call, which costs a heartbeat more than its validation.
 */
const createRequestCounts = () => {
  const routes = new Map<string, Map<string, Series>>()
  const all = (): Series[] => [...routes.values()].flatMap((route) => [...route.values()])

  const seriesOf = (method: string, route: string, status: number): Series => {
    let known = routes.get(route)
    if (known === undefined) routes.set(route, (known = new Map()))
    const name = method + status
    let series = known.get(name)
    if (series === undefined) {
      series = { labels: { method, route, status }, places: new Array(BOUNDS.length + 1).fill(0), seconds: 0 }
      known.set(name, series)
    }
    return series
  }

  return {
    count(method: string, route: string, status: number, seconds: number): void {
      const series = seriesOf(method, route, status)
      let place = 0
      while (place < BOUNDS.length && seconds > BOUNDS[place]!) place++
      series.places[place]!++
      series.seconds += seconds
    },
    metrics: [
      metric(
        'http_requests_total',
        'Requests completed or aborted (499), by method, route pattern, and status',
        'counter',
        () => all().map(({ labels, places }) => ({ labels, value: sum(places) })),
      ),
      metric(DURATION, 'Time from the arrival of a request to the end of its response', 'histogram', () =>
        all().flatMap(histogramOf),
      ),
    ],
  }
}

/** Delays from a monitor that wakes the process at an interval; they include that interval. */
const DELAYS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (part) => `nodejs_eventloop_lag_${part}_seconds`,
)

// One set per process, however many servers it runs: prom-client's monitors cannot be stopped.
const ofProcess = new Map<boolean, readonly Metric[]>()

const processMetrics = (monitors: boolean): readonly Metric[] => {
  const made = ofProcess.get(monitors)
  if (made !== undefined) return made
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, ...(!monitors && { eventLoopMonitoringPrecision: 1000 }) })
  if (!monitors) for (const name of DELAYS) registry.removeSingleMetric(name)
  // The type does not show that these are the metrics themselves.
  const metrics = registry.getMetricsAsArray() as unknown as readonly Metric[]
  ofProcess.set(monitors, metrics)
  return metrics
}

/** @param monitors false if waking 100 times a second costs too much; event loop lag then has no percentiles */
export const createMetrics = ({ monitors = true }: { readonly monitors?: boolean } = {}): Metrics => {
  const registry = new Registry()
  for (const metric of processMetrics(monitors)) registry.registerMetric(metric)
  const requests = createRequestCounts()
  for (const metric of requests.metrics) {
    // The registry only uses a metric's `name` and `get()`; its type demands prom-client's own classes.
    registry.registerMetric(metric as unknown as Metric)
  }
  return { registry, texts: [], outage: null, countRequest: requests.count }
}

/** GET /metrics in the Prometheus text format. */
export const serveMetrics = (app: App, metrics: Metrics, access: 'public' | 'metrics:read'): void => {
  const { registry, texts } = metrics
  const config: RouteConfig = { access, rateLimit: false }
  // Otherwise the alert for an outage of the database could not fire. GET /ready shows anybody the same.
  const errorHandler = (error: Error, _request: unknown, reply: Pick<FastifyReply, 'type'>): void => {
    if (metrics.outage === null || asDatabaseAway(error) === undefined) throw error
    reply.type(registry.contentType).code(200).send(metrics.outage)
  }
  app.get('/metrics', { config: config as object, schema: { hide: true }, errorHandler }, async (_request, reply) => {
    reply.type(registry.contentType)
    return [await registry.metrics(), ...(await Promise.all(texts.map((text) => text())))].join('')
  })
}
