import type { OrgSettings } from '../../domain/compliance.ts'
import { plural } from '../../domain/plural.ts'
import type { OrgConfig } from '../home.ts'

const daysOf = (days: number | null, none: string): string => (days === null ? none : plural(days, 'day'))

/** Settings formatted for display. */
const TEXTS: readonly (readonly [name: string, text: (settings: OrgSettings) => string])[] = [
  [
    'Second factor',
    ({ requireMfa }) =>
      ({ off: 'not required', admins: 'required for admins', all: 'required for everyone' })[requireMfa],
  ],
  ['Sessions', ({ sessionHours }) => `end after ${sessionHours} h`],
  [
    'Unused sessions',
    ({ reauthenticateMinutes: minutes }) => (minutes === null ? 'stay signed in' : `ask again after ${minutes} min`),
  ],
  ['Audit log', ({ auditRetentionDays }) => `kept ${daysOf(auditRetentionDays, 'forever')}`],
  [
    'API keys',
    ({ keyLifetimeDays: days }) => (days === null ? 'no maximum lifetime' : `last at most ${plural(days, 'day')}`),
  ],
  ['Updates', ({ updateRetentionDays }) => `kept ${daysOf(updateRetentionDays, 'as long as the service keeps them')}`],
  ['Analytics', ({ minGroupSize }) => `show groups of at least ${minGroupSize ?? 5} devices`],
  [
    'Rollouts',
    ({ automaticRollback }) =>
      automaticRollback ? 'always roll back automatically' : 'roll back automatically if requested',
  ],
  [
    'Approvals',
    ({ requireApproval }) =>
      requireApproval ? 'a second admin, for aliases and changes to most of the fleet' : 'not required',
  ],
]

export const settingFields = (settings: OrgSettings): readonly (readonly [string, string])[] =>
  TEXTS.map(([name, text]) => [name, text(settings)])

export const orgFields = (config: OrgConfig): readonly (readonly [string, string | null])[] => [
  ['Organization', config.orgName],
  ['Id', config.orgId],
  ['Compliance', config.compliance],
  ['Region', config.region],
  ['Service', config.apiBase],
]
