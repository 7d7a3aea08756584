// From a heartbeat's half millisecond to the minutes of an upload.
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 120, 600]

interface Sample {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/** The part of a prom-client metric that its registry uses. */
export interface RequestMetric {
  readonly name: string
  get(): Promise<{
    readonly name: string
    readonly help: string
    readonly type: 'counter' | 'histogram'
    readonly aggregator: 'sum'
    readonly values: readonly Sample[]
  }>
}

interface Series {
  readonly labels: Sample['labels']
  /** Requests per bucket; the last one counts those above all bounds. */
  readonly places: number[]
  seconds: number
}

const metric = (
  name: string,
  help: string,
  type: 'counter' | 'histogram',
  samples: () => readonly Sample[],
): RequestMetric => ({
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
 * Counts and durations of requests by method, route pattern and status. Kept by hand because prom-client's own
 * counters hash their labels on every call, which costs a heartbeat more than its validation.
 */
export const createRequestCounts = () => {
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
        'Requests answered or aborted (499), by method, route pattern and status',
        'counter',
        () => all().map(({ labels, places }) => ({ labels, value: sum(places) })),
      ),
      metric(DURATION, 'Time from the arrival of a request to the end of its answer', 'histogram', () =>
        all().flatMap(histogramOf),
      ),
    ] as const,
  }
}
