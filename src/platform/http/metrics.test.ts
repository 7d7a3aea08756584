import { expect, test } from 'vitest'
import { createMetrics } from './metrics.ts'

test('counts requests, and puts their durations into every bucket whose bound they do not exceed', async () => {
  const { registry, countRequest } = createMetrics()
  for (const seconds of [0.0005, 0.0006, 0.3, 1000]) countRequest('GET', '/models', 200, seconds)
  countRequest('GET', '/models', 404, 0.002)

  const text = await registry.getSingleMetricAsString('http_requests_total')
  expect(text.split('\n')).toEqual([
    '# HELP http_requests_total Requests completed or aborted (499), by method, route pattern, and status',
    '# TYPE http_requests_total counter',
    'http_requests_total{method="GET",route="/models",status="200"} 4',
    'http_requests_total{method="GET",route="/models",status="404"} 1',
  ])

  const durations = await registry.getSingleMetricAsString('http_request_duration_seconds')
  const of200 = durations.split('\n').filter((line) => line.includes('status="200"'))
  const counts = Object.fromEntries(
    of200.flatMap((line) => {
      const bound = /le="([^"]+)"/.exec(line)?.[1]
      return bound === undefined ? [] : [[bound, Number(line.split(' ').at(-1))]]
    }),
  )
  expect(counts).toEqual({
    ...Object.fromEntries(['0.001', '0.0025', '0.005', '0.01', '0.025', '0.05', '0.1', '0.25'].map((le) => [le, 2])),
    ...Object.fromEntries(['0.5', '1', '2.5', '10', '30', '120', '600'].map((le) => [le, 3])),
    '0.0005': 1,
    '+Inf': 4,
  })
  expect(of200.slice(-2)).toEqual([
    'http_request_duration_seconds_sum{method="GET",route="/models",status="200"} 1000.3011',
    'http_request_duration_seconds_count{method="GET",route="/models",status="200"} 4',
  ])
})

test('the registry lists these metrics like any other', async () => {
  const { registry, countRequest } = createMetrics()
  countRequest('GET', '/', 200, 0.1)
  const listed = await registry.getMetricsAsJSON()
  expect(listed.map(({ name }) => name)).toContain('http_requests_total')
})
