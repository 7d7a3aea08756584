import { describe, expect, it } from 'vitest'
import { COMPLIANCE, DEFAULT_SETTINGS, type OrgSettings, PRESETS, violationsOf } from './compliance.ts'

/** Makes each setting a little less strict. */
const LOOSER: { readonly [Name in keyof OrgSettings]: (value: OrgSettings[Name]) => OrgSettings[Name] } = {
  requireMfa: (value) => (value === 'all' ? 'admins' : 'off'),
  sessionHours: (value) => value + 1,
  reauthenticateMinutes: () => null,
  auditRetentionDays: (value) => value! - 1,
  keyLifetimeDays: () => null,
  updateRetentionDays: (value) => value! + 1,
  minGroupSize: (value) => value! - 1,
  automaticRollback: () => false,
  requireApproval: () => false,
}

describe.each(COMPLIANCE)('the preset of %s', (compliance) => {
  it('satisfies itself, and loosening any of its settings violates it', () => {
    const preset = PRESETS[compliance]
    expect(violationsOf(preset, compliance)).toEqual([])
    for (const name of Object.keys(LOOSER) as (keyof OrgSettings)[]) {
      if (preset[name] === null || preset[name] === false) continue
      const looser = { ...preset, [name]: (LOOSER[name] as (value: unknown) => unknown)(preset[name]) }
      expect([name, violationsOf(looser, compliance)]).toEqual([name, [name]])
    }
  })
})

it('without a regime, no setting is a violation', () => {
  expect(violationsOf(DEFAULT_SETTINGS, null)).toEqual([])
})
