import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { STATE_METRICS } from '../src/control/operations/metrics/metrics.report.ts'

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

it.each(['prometheus/alerts.yml', 'prometheus/alerts.test.yml', 'grafana/tributary.json'])(
  'deploy/%s names only metrics that the service has',
  (name) => {
    const text = readFileSync(`deploy/${name}`, 'utf8')
    const known = new Set([...STATE_METRICS.map((metric) => metric.name), 'tributary_database_up'])
    const named = text.match(/\btributary_[a-z_]+/g) ?? []
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((metric) => !known.has(metric))).toEqual([])
  },
)

it.skipIf(!hasPromtool)("the alert rules do what their tests say (skipped without Prometheus' promtool)", () => {
  const output = execFileSync('promtool', ['test', 'rules', 'alerts.test.yml'], { cwd: 'deploy/prometheus' })
  expect(String(output)).toContain('SUCCESS')
})
