import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { apiOf, formOf, startWorld } from '../../../../test/world.ts'
import { COMPLIANCE, PRESETS } from '../../../domain/compliance.ts'

const DAY_S = 24 * 3600

const start = async (
  config: Parameters<typeof startWorld>[0] extends { config?: infer C } | undefined ? C : never = {},
) => {
  const world = await startWorld({ config: { enrollment: 'token', ...config } })
  const admin = world.service.firstAdminKey!
  const call = apiOf<TestResponse>(world, admin)
  const found = async (compliance?: string) => {
    expect((await call('POST', '/orgs', { name: 'acme', compliance })).status).toBe(201)
    return (await call('POST', '/keys', { name: 'k', org_id: 'acme', scopes: [...SCOPES, 'admin'] })).body.api_key
  }
  return { world, call, found }
}

/** The fields of the responses here; the assertions show which of them a response has. */
interface TestResponse {
  readonly id: string
  readonly api_key: string
  readonly expires_at: string | null
  readonly violations: readonly { readonly setting: string }[]
  readonly updates: readonly unknown[]
  readonly warnings: readonly string[]
  readonly keys: readonly { readonly id: string; readonly exceeds_lifetime: boolean }[]
}

const SCOPES = ['devices:read', 'devices:write', 'models:read', 'models:write', 'training:read', 'training:write']

describe.each(COMPLIANCE)('an organization under %s', (compliance) => {
  it('begins with the settings of the preset, and sees which settings are less strict', async () => {
    const { call, found } = await start()
    const key = await found(compliance)
    const begun = await call('GET', '/orgs/acme/settings', undefined, key)
    expect(begun.body).toMatchObject({
      compliance,
      session_hours: PRESETS[compliance].sessionHours,
      audit_retention_days: PRESETS[compliance].auditRetentionDays,
      violations: [],
    })
    const loosened = await call('PATCH', '/orgs/acme/settings', { key_lifetime_days: null, require_mfa: 'off' }, key)
    expect(loosened.body.violations.map(({ setting }) => setting)).toEqual(['require_mfa', 'key_lifetime_days'])
  })
})

it('keys end when their organization requires it, even if a longer lifetime was requested', async () => {
  const { world, call, found } = await start()
  const key = await found('pci')
  const { expires_at } = (
    await call('POST', '/keys', { name: 'x', scopes: ['models:read'], expires_in_days: 3650 }, key)
  ).body
  expect(Date.parse(expires_at!)).toBe(world.now().getTime() + 90 * DAY_S * 1000)
  await world.advance(91 * DAY_S)
  expect((await call('GET', '/keys', undefined, key)).status).toBe(401)
})

it('keys that were created before the rule and last longer are counted and marked until they are rotated', async () => {
  const { world, call, found } = await start()
  const key = await found()
  const made = (await call('POST', '/keys', { name: 'old', scopes: ['models:read'] }, key)).body
  const short = (await call('POST', '/keys', { name: 'new', scopes: ['models:read'], expires_in_days: 30 }, key)).body
  const limited = await call('PATCH', '/orgs/acme/settings', { key_lifetime_days: 30 }, key)
  expect(limited.body.warnings).toEqual([expect.stringMatching(/^2 keys last longer than key_lifetime_days allows\./)])
  const { keys } = (await call('GET', '/keys', undefined, key)).body
  expect(keys.find(({ id }) => id === made.id)?.exceeds_lifetime).toBe(true)
  expect(keys.find(({ id }) => id === short.id)?.exceeds_lifetime).toBe(false)

  expect((await call('POST', `/keys/${made.id}/rotate`, { overlap_hours: 1 }, key)).status).toBe(201)
  await world.advance(2 * 60 * 60)
  const { warnings } = (await call('GET', '/orgs/acme/settings', undefined, key)).body
  expect(warnings).toEqual([expect.stringMatching(/^One key lasts longer than key_lifetime_days allows\./)])
})

it('every rollout rolls back automatically', async () => {
  const { call, found } = await start()
  const key = await found('soc2')
  const { id } = (await call('POST', '/models', { name: 'm' }, key)).body
  await call('POST', `/models/${id}/versions/upload`, formOf(Uint8Array.of(1, 2, 3, 4), { version: '1' }), key)
  const rollout = { version: '1', rollout_percentage: 10, auto_rollback: false }
  expect((await call('POST', `/models/${id}/rollouts`, rollout, key)).body).toMatchObject({ auto_rollback: true })
})

it('analytics show no group smaller than the minimum of the organization', async () => {
  const { call, found } = await start()
  const key = await found('hipaa')
  for (let n = 0; n < 10; n++) {
    const device = (await call('POST', '/devices/register', { device_id: `d${n}` }, key)).body
    await call('PUT', `/devices/d${n}/heartbeat`, { metrics: { bpm: n } }, device.api_key)
  }
  const { id } = (await call('POST', '/federations', { name: 'f', org_id: 'acme' }, key)).body
  const ask = () =>
    call('POST', `/federations/${id}/analytics/descriptive`, { variable: 'bpm', group_by: 'federation_member' }, key)
  expect(JSON.stringify((await ask()).body)).toContain('fewer than 11 devices')
  await call('PATCH', '/orgs/acme/settings', { min_group_size: null }, key)
  expect(JSON.stringify((await ask()).body)).not.toContain('fewer than')
})

it('an installation in one region refuses organizations of another', async () => {
  const { call } = await start({ region: 'eu' })
  expect(await call('POST', '/orgs', { name: 'acme', region: 'us' })).toMatchObject({
    status: 400,
    body: { message: "region: this installation keeps data in 'eu', not in 'us'." },
  })
  expect((await call('POST', '/orgs', { name: 'acme', region: 'eu' })).status).toBe(201)
  const { id } = (await call('POST', '/orgs', { name: 'beta' })).body
  expect(await call('GET', `/orgs/${id}`)).toMatchObject({ body: { region: 'eu' } })
})

it('an installation does not start with organizations of another region, whose data it would store', async () => {
  const world = await startWorld({
    durable: true,
    database: hasPostgres() ? 'postgres' : 'embedded',
    config: { enrollment: 'token' },
  })
  const key = world.service.firstAdminKey!
  const made = await world.request('POST', '/api/v1/orgs', { key, body: { name: 'acme', region: 'us' } })
  expect(made.status).toBe(201)
  await expect(world.restart({ region: 'eu' })).rejects.toThrow(
    /^SERVICE_REGION is 'eu', but .* elsewhere: acme \(us\)/,
  )
  await world.restart({ region: 'us' })
  expect((await world.request('GET', '/api/v1/orgs/acme', { key })).status).toBe(200)
})

it('an organization can change only its own rules', async () => {
  const { call, found } = await start()
  await found('hipaa')
  const { api_key: foreign } = (await call('POST', '/keys', { name: 'x', org_id: 'beta', scopes: ['admin'] })).body
  expect((await call('PATCH', '/orgs/acme/settings', { require_mfa: 'off' }, foreign)).status).toBe(404)
  expect((await call('GET', '/orgs/acme/settings', undefined, foreign)).status).toBe(404)
})
