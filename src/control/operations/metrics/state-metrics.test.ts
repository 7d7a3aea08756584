import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { formOf, startWorld } from '../../../../test/world.ts'
import { encodeElements } from '../../../tensors/elements.ts'
import { writeSafetensors } from '../../../tensors/write-safetensors.ts'
import { STATE_METRICS } from './metrics.report.ts'

const weights = (...values: number[]) =>
  new Uint8Array(
    writeSafetensors([{ name: 'w', dtype: 'f32', shape: [values.length], data: encodeElements(values, 'f32') }]),
  )

it('GET /metrics shows what the database has about devices, rounds, and rollouts', async () => {
  const world = await startWorld()
  const [first] = await Promise.all([world.register('a'), world.register('b')])
  const { key } = first!
  const post = async (path: string, body: unknown) => {
    const response = await world.request('POST', `/api/v1${path}`, { key, body })
    expect(response.status).toBeLessThan(300)
    return response.body as { id: string }
  }
  await post('/models', { name: 'm' })
  await post('/models/m/versions/upload', formOf(weights(1, 2)))
  await post('/models/m/rollouts', { version: '1', rollout_percentage: 30 })
  const round = await post('/training/rounds/start', { target_devices: 1, min_devices: 1, global_model_id: 'm' })
  const sent = async (body: FormData): Promise<number> =>
    (await world.request('POST', `/api/v1/training/rounds/${round.id}/updates`, { key, body })).status
  expect(await sent(formOf(weights(3, 4, 5), { num_samples: 1 }))).toBe(400)
  expect(await sent(formOf(weights(3, 4), { num_samples: -1 }))).toBe(400)
  expect(await sent(formOf(weights(3, 4), { num_samples: 1 }))).toBe(201)
  expect(await sent(formOf(weights(3, 4), { num_samples: 1 }))).toBe(409)
  await world.advance(0)

  const receiver = { kind: 'logs', type: 'webhook', endpoint: 'http://127.0.0.1:9' }
  const integration = await post('/integrations', receiver)
  await post('/device-groups', { org_id: 'o', name: 'g' })
  await world.advance(60)
  // May already be running in the background because of an event.
  const shown = async () => (await world.request('GET', `/api/v1/integrations/${integration.id}`, { key })).body
  await expect.poll(shown).not.toMatchObject({ failures: 0 })
  const text = String((await world.request('GET', '/metrics', { key })).body)
  const lines = text.split('\n')
  for (const { name } of STATE_METRICS) expect(text).toContain(`# TYPE ${name} gauge\n`)
  for (const line of [
    'tributary_rounds{status="completed",reason=""} 1',
    'tributary_round_duration_seconds{phase="collecting",quantile="0.5"} 0',
    'tributary_round_overdue_seconds 0',
    'tributary_updates 1',
    'tributary_updates_accepted_total 1',
    'tributary_updates_refused_total{reason="duplicate"} 1',
    'tributary_updates_refused_total{reason="tensors"} 1',
    'tributary_updates_refused_total{reason="bad_request"} 1',
    `tributary_update_bytes ${weights(3, 4).length}`,
    'tributary_rollouts{status="active"} 1',
    'tributary_models{kind="model"} 1',
    'tributary_models{kind="round_model"} 1',
    'tributary_database_up 1',
    'tributary_storage_up 1',
    'tributary_integration_dead_letters 0',
    'tributary_conversion_oldest_seconds 0',
    'tributary_lease_expired_seconds{work="aggregation"} 0',
    'tributary_lease_expired_seconds{work="conversion"} 0',
  ]) {
    expect(lines).toContain(line)
  }
  // An alert cannot compare a series that does not exist.
  for (const series of [
    'rounds{status="failed",reason="timed_out"}',
    'round_participants{state="absent"}',
    'jobs{status="failed",ended_by="no_devices"}',
    'rollouts{status="rolled_back"}',
    'rollout_reports{state="failed"}',
    'deployments{status="failed"}',
  ])
    expect(lines).toContain(`tributary_${series} 0`)
  expect(lines.filter((line) => /^tributary_devices\{platform="\w+",state="active"\} 2$/.test(line))).toHaveLength(1)
  const ofIntegration = (name: string) =>
    Number(
      lines
        .find((line) => line.startsWith(`${name}{integration_id="${integration.id}"`))!
        .split(' ')
        .at(-1),
    )
  expect(ofIntegration('tributary_integration_lag_seconds')).toBeGreaterThanOrEqual(60)
  expect(ofIntegration('tributary_integration_failures')).toBeGreaterThan(0)
  // The metrics of the dashboard and the alerts exist; a gauge without rows has only its head.
  const names = new Set(lines.map((line) => /^(?:# TYPE )?([a-z_:0-9]+)/.exec(line)?.[1]))
  for (const file of ['grafana/tributary.json', 'prometheus/alerts.yml']) {
    const named = readFileSync(`deploy/${file}`, 'utf8').match(/\b(tributary|http|nodejs|process)_[a-z0-9_]+/g) ?? []
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((name) => !names.has(name))).toEqual([])
  }
  // Every line is a comment, or a name with labels and a number.
  for (const line of lines.filter((each) => each !== '')) {
    expect(line).toMatch(/^(# (HELP|TYPE) .+|[a-z_:0-9]+(\{[^{}]*\})? [-+]?[\d.eInfNa+-]+)$/)
  }
})

it('GET /metrics shows that no device is active', async () => {
  const world = await startWorld()
  const { key } = await world.register('a')
  await world.advance(360)
  const lines = String((await world.request('GET', '/metrics', { key })).body).split('\n')
  const devices = lines.filter((line) => line.startsWith('tributary_devices{'))
  expect(devices.map((line) => line.replace(/platform="\w+",/, ''))).toEqual([
    'tributary_devices{state="active"} 0',
    'tributary_devices{state="inactive"} 1',
  ])
})
