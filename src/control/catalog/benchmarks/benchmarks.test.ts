import { expect, it } from 'vitest'
import { startWorld } from '../../../../test/world.ts'

const REPORT = {
  svc_version: '1.0.0',
  os: 'linux',
  arch: 'x64',
  cpu_model: 'Example CPU @ 2.60GHz',
  cpu_cores: 2,
  memory_gb: 16,
  engine: 'llama.cpp',
  model_architecture: 'llama',
  model_parameters: 2_600_000,
  model_quantization: 'q4_0',
  model_megabytes: 2,
  iterations: 10,
  max_tokens: 50,
  first_token_ms_p50: 12.5,
  first_token_ms_p90: 14,
  first_token_ms_p99: 20,
  tokens_per_second_p50: 300,
  tokens_per_second_p90: 280,
  tokens_per_second_p99: 250,
  total_ms_p50: 180,
  total_ms_p90: 200,
  total_ms_p99: 220,
  memory_megabytes: 40,
}

it('shared results are listed newest first, to every key, with the day and nothing about the sender', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const admin = world.service.firstAdminKey ?? ''
  const made = await world.request('POST', '/api/v1/keys', { key: admin, body: { name: 'acme', org_id: 'acme' } })
  const { api_key: key } = made.body as { api_key: string }
  await world.advance(13 * 60 * 60)
  const share = async (body: object) => (await world.request('POST', '/api/v1/benchmarks', { key, body })).body
  const first = await share(REPORT)
  const { id } = first as { id: string }
  expect(first).toEqual({ id, ...REPORT, reported_on: '2026-01-01' })
  const other = await share({ ...REPORT, engine: 'mnn', model_architecture: null, model_parameters: null })
  const list = async (query: string) => (await world.request('GET', `/api/v1/benchmarks${query}`, { key: admin })).body
  expect(await list('')).toEqual({ benchmarks: [other, first], total: 2, limit: 20, offset: 0 })
  expect(await list('?engine=llama.cpp&limit=1')).toEqual({ benchmarks: [first], total: 1, limit: 1, offset: 0 })
  expect(await list('?offset=1')).toEqual({ benchmarks: [first], total: 2, limit: 20, offset: 1 })
})

it('a report with an unknown field, without a required one, or without a key is refused', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey ?? ''
  const { engine, ...without } = REPORT
  const bodies = [
    { ...REPORT, device_id: 'd-1' },
    without,
    { ...REPORT, engine: 'echo' },
    { ...REPORT, total_ms_p50: -1 },
  ]
  const statuses = []
  for (const body of bodies) statuses.push((await world.request('POST', '/api/v1/benchmarks', { key, body })).status)
  statuses.push((await world.request('POST', '/api/v1/benchmarks', { body: { ...REPORT, engine } })).status)
  expect(statuses).toEqual([400, 400, 400, 400, 401])
  expect((await world.request('GET', '/api/v1/benchmarks', { key })).body).toMatchObject({ total: 0 })
})
