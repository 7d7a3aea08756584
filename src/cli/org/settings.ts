import { type Compliance, type OrgSettings, PRESETS } from '../../domain/compliance.ts'

const daysOf = (days: number | null, none: string): string => (days === null ? none : `${days} days`)

/** Settings as people read them. */
const TEXTS: readonly (readonly [name: string, text: (settings: OrgSettings) => string])[] = [
  [
    'Second factor',
    ({ requireMfa }) => ({ off: 'not required', admins: 'of admins', all: 'of everybody' })[requireMfa],
  ],
  ['Sessions', ({ sessionHours }) => `end after ${sessionHours} h`],
  [
    'Unused sessions',
    ({ reauthenticateMinutes: minutes }) => (minutes === null ? 'go on' : `ask who you are after ${minutes} min`),
  ],
  ['Audit log', ({ auditRetentionDays }) => `kept ${daysOf(auditRetentionDays, 'for ever')}`],
  [
    'API keys',
    ({ keyLifetimeDays: days }) => (days === null ? 'last as long as they are made for' : `last ${days} days at most`),
  ],
  ['Updates', ({ updateRetentionDays }) => `kept ${daysOf(updateRetentionDays, 'as long as the service has it')}`],
  ['Analytics', ({ minGroupSize }) => `show groups of ${minGroupSize ?? 5} devices and more`],
  [
    'Rollouts',
    ({ automaticRollback }) =>
      automaticRollback ? 'always go back by themselves' : 'go back by themselves where they say so',
  ],
  [
    'Approvals',
    ({ requireApproval }) => (requireApproval ? 'a second admin for aliases and most of the fleet' : 'not required'),
  ],
]

export const settingFields = (settings: OrgSettings): readonly (readonly [string, string])[] =>
  TEXTS.map(([name, text]) => [name, text(settings)])

export const presetOf = (compliance: Compliance): OrgSettings => PRESETS[compliance]
