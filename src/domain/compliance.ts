/** An organization's settings; null: no setting at this level. */
export interface OrgSettings {
  /** Who must sign in with two factors. */
  readonly requireMfa: 'off' | 'admins' | 'all'
  /** How long a session lasts. */
  readonly sessionHours: number
  /** How long a session may be idle before the user must confirm their identity; null: no limit. */
  readonly reauthenticateMinutes: number | null
  /** How long audit log entries are kept; null: forever. */
  readonly auditRetentionDays: number | null
  /** The maximum lifetime of an API key; null: unlimited. */
  readonly keyLifetimeDays: number | null
  /** How long a round's updates are kept after its end; null: the service's setting. */
  readonly updateRetentionDays: number | null
  /** Analytics omit groups with fewer devices; null: the service's default, 5. */
  readonly minGroupSize: number | null
  /** Whether rollouts roll back automatically when their health check fails. */
  readonly automaticRollback: boolean
  /** Whether a second admin must approve alias moves and deliveries to most of the fleet. */
  readonly requireApproval: boolean
}

export const DEFAULT_SETTINGS: OrgSettings = {
  requireMfa: 'off',
  sessionHours: 24,
  reauthenticateMinutes: null,
  auditRetentionDays: null,
  keyLifetimeDays: null,
  updateRetentionDays: null,
  minGroupSize: null,
  automaticRollback: false,
  requireApproval: false,
}

export const COMPLIANCE = ['hipaa', 'gdpr', 'pci', 'soc2'] as const
export type Compliance = (typeof COMPLIANCE)[number]

/**
 * The presets for each regime: starting points, not certification. Sources: HIPAA, 45 CFR 164.312(a)(2)(iii) and 164.316(b)(2)
 * (six years), and CMS's minimum cell size, 11; GDPR, article 5(1)(e), and five years for claims; PCI DSS 4.0.1, 8.2.8 (15
 * minutes), 6.5.1 (approved changes), 8.4.2, 10.5.1 (twelve months); SOC 2, CC6, CC7 and CC8.1. Numbers without a source are
 * customary.
 */
export const PRESETS: Readonly<Record<Compliance, OrgSettings>> = {
  hipaa: {
    requireMfa: 'all',
    sessionHours: 8,
    reauthenticateMinutes: 30,
    auditRetentionDays: 2190,
    keyLifetimeDays: 90,
    updateRetentionDays: 7,
    minGroupSize: 11,
    automaticRollback: true,
    requireApproval: true,
  },
  gdpr: {
    requireMfa: 'admins',
    sessionHours: 24,
    reauthenticateMinutes: null,
    auditRetentionDays: 1825,
    keyLifetimeDays: 365,
    updateRetentionDays: 7,
    minGroupSize: 10,
    automaticRollback: true,
    requireApproval: false,
  },
  pci: {
    requireMfa: 'all',
    sessionHours: 12,
    reauthenticateMinutes: 15,
    auditRetentionDays: 365,
    keyLifetimeDays: 90,
    updateRetentionDays: 7,
    minGroupSize: 5,
    automaticRollback: true,
    requireApproval: true,
  },
  soc2: {
    requireMfa: 'admins',
    sessionHours: 24,
    reauthenticateMinutes: 60,
    auditRetentionDays: 365,
    keyLifetimeDays: 365,
    updateRetentionDays: 30,
    minGroupSize: 5,
    automaticRollback: true,
    requireApproval: true,
  },
}

const MFA_ORDER = ['off', 'admins', 'all'] as const

const atMost = (value: number | null, limit: number | null): boolean =>
  limit === null || (value !== null && value <= limit)
const atLeast = (value: number | null, limit: number | null, absent: number): boolean =>
  limit === null || (value ?? absent) >= limit

/** Whether a setting is at least as strict as the preset. */
const KEEPS: {
  readonly [Name in keyof OrgSettings]: (value: OrgSettings[Name], preset: OrgSettings[Name]) => boolean
} = {
  requireMfa: (value, preset) => MFA_ORDER.indexOf(value) >= MFA_ORDER.indexOf(preset),
  sessionHours: atMost,
  reauthenticateMinutes: atMost,
  auditRetentionDays: (value, preset) => atLeast(value, preset, Number.POSITIVE_INFINITY),
  keyLifetimeDays: atMost,
  updateRetentionDays: atMost,
  minGroupSize: (value, preset) => atLeast(value, preset, 5),
  automaticRollback: (value, preset) => value || !preset,
  requireApproval: (value, preset) => value || !preset,
}

/** No admin may loosen these below the preset, which would allow undoing the others unseen, or alone. */
const FIXED: readonly SettingName[] = ['auditRetentionDays', 'requireApproval']

/** Returns the first setting in `change` that must not be looser than the preset but is; null if there is none. */
export const forbiddenIn = (change: Partial<OrgSettings>, compliance: Compliance | null): SettingName | null => {
  const broken = violationsOf({ ...DEFAULT_SETTINGS, ...change }, compliance)
  return FIXED.find((name) => change[name] !== undefined && broken.includes(name)) ?? null
}

/** True if a change weakens what needs a second admin: the approval requirement itself, or the audit log's retention. */
export const needsSecondAdmin = (before: OrgSettings, after: OrgSettings): boolean =>
  before.requireApproval &&
  (!after.requireApproval ||
    (after.auditRetentionDays ?? Number.POSITIVE_INFINITY) < (before.auditRetentionDays ?? Number.POSITIVE_INFINITY))

export type SettingName = keyof OrgSettings
export const SETTING_NAMES = Object.keys(DEFAULT_SETTINGS) as readonly SettingName[]

/** Returns the settings that are less strict than the preset of `compliance`. */
export const violationsOf = (settings: OrgSettings, compliance: Compliance | null): readonly SettingName[] => {
  if (compliance === null) return []
  const preset = PRESETS[compliance]
  const keeps = (name: SettingName) =>
    (KEEPS[name] as (value: unknown, preset: unknown) => boolean)(settings[name], preset[name])
  return SETTING_NAMES.filter((name) => !keeps(name))
}
