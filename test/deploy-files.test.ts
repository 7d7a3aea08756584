import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
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

it('each alert has a runbook', () => {
  const alerts = [...readFileSync('deploy/prometheus/alerts.yml', 'utf8').matchAll(/- alert: (\w+)/g)].map(
    ([, name]) => name,
  )
  const runbooks = [...readFileSync('docs/operations.md', 'utf8').matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
  expect(alerts.length).toBeGreaterThan(5)
  expect(runbooks).toEqual(alerts)
})

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

it.skipIf(!hasSystemd)('the systemd unit is one (skipped without systemd-analyze)', () => {
  const unit = readFileSync('deploy/systemd/tributary.service', 'utf8')
  const folder = mkdtempSync(join(inject('folders'), 'systemd-'))
  // The program that the unit starts is not installed here.
  writeFileSync(join(folder, 'tributary.service'), unit.replace(/^ExecStart=.*$/m, `ExecStart=${process.execPath}`))
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', join(folder, 'tributary.service')])
  expect(String(stderr)).not.toContain('tributary.service')
  expect(status).toBe(0)
})
