import { expect, it } from 'vitest'
import { meantBy, otherNameOf } from './misspelling.ts'

const KNOWN = ['timeout_seconds', 'rounds', 'min_devices', 'target_devices', 'model', 'mu', 'group_a', 'group_b']

it.each([
  ['timout_seconds', 'timeout_seconds'],
  ['timeout_secnods', 'timeout_seconds'],
  ['timeoutSeconds', 'timeout_seconds'],
  ['TIMEOUT-SECONDS', 'timeout_seconds'],
  ['round', 'rounds'],
  ['ruonds', 'rounds'],
  ['mindevices', 'min_devices'],
  ['min_device', 'min_devices'],
  ['modle', 'model'],
  ['MU', 'mu'],
  ['group_c', 'group_a'],
])('%s is recognized as a misspelling of %s', (name, known) => {
  expect(meantBy(name, KNOWN)).toBe(known)
})

it.each(['nu', 'm', 'mod', 'seconds', 'devices', 'timeout', '', 'x'.repeat(100_000), 'rounds_left'])(
  'a name unlike any known one, such as %.20s, is not a misspelling',
  (name) => {
    expect(meantBy(name, KNOWN)).toBeNull()
  },
)

it.each([
  ['expires_at', 'expires_in_days'],
  ['expiresIn', 'expires_in_days'],
  ['permissions', 'scopes'],
  ['organization', 'org_id'],
  ['device_ids', 'devices'],
  ['epsilon', 'target_epsilon'],
  ['clip_norm', 'privacy'],
  ['canary_group_id', 'canary_group'],
  ['expires_in_hours', 'expires_in_days'],
  ['constructor', null],
  ['owner', null],
  ['training', null],
])('%s is another name for %s', (name, known) => {
  const limits = ['scopes', 'org_id', 'expires_in_days', 'devices', 'target_epsilon', 'privacy', 'canary_group']
  const fields = ['name', ...limits, 'trains']
  expect(otherNameOf(name, fields)).toBe(known)
})
