import { Type } from 'typebox'
import { COMPLIANCE } from '../../../domain/compliance.ts'
import { Body, Nullable, OneOf, Part, Timestamp } from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'

const Compliance = OneOf(COMPLIANCE, { title: 'Compliance', description: 'A compliance regime' })
const Region = OneOf(['us', 'eu', 'ap'], { title: 'Region', description: 'Where data is kept' })

export const CreateOrgBody = Body('NewOrg', 'An organization to create', examples.newOrg, {
  name: Type.String({ minLength: 1, maxLength: 128 }),
  compliance: Type.Optional(Compliance),
  region: Type.Optional(Region),
})

export const Org = Body('Org', 'An organization', examples.org, {
  id: Type.String(),
  name: Type.String(),
  compliance: Nullable(Compliance),
  region: Region,
  created_at: Timestamp,
})

const settingFields = {
  require_mfa: OneOf(['off', 'admins', 'all'], { description: 'Who must sign in by two factors' }),
  session_hours: Type.Integer({ minimum: 1, maximum: 8760, description: 'A session ends so long after it began' }),
  reauthenticate_minutes: Nullable(
    Type.Integer({
      minimum: 1,
      maximum: 525_600,
      description: 'After so long without use a session asks again; null: never',
    }),
  ),
  audit_retention_days: Nullable(
    Type.Integer({ minimum: 1, maximum: 36_500, description: 'How long the audit log is kept; null: for ever' }),
  ),
  key_lifetime_days: Nullable(
    Type.Integer({ minimum: 1, maximum: 3650, description: 'How long a new API key lasts at most; null: for ever' }),
  ),
  update_retention_days: Nullable(
    Type.Integer({
      minimum: 0,
      maximum: 3650,
      description: "How long a round's updates are kept; null: as the service",
    }),
  ),
  min_group_size: Nullable(
    Type.Integer({
      minimum: 5,
      maximum: 1_000_000,
      description: 'Analytics show no smaller group; null: as the service, 5',
    }),
  ),
  automatic_rollback: Type.Boolean({ description: 'Every rollout goes back by itself when its health fails' }),
  require_approval: Type.Boolean({
    description: 'A second admin approves moves of aliases, and what reaches more than half of the devices',
  }),
}

export const Settings = Body('OrgSettings', 'The rules of an organization', examples.orgSettings, {
  org_id: Type.String(),
  compliance: Nullable(Compliance),
  ...settingFields,
  violations: Type.Array(
    Part('SettingViolation', 'A setting that is less strict than the preset', {
      setting: Type.String(),
      value: Type.Unknown(),
      preset: Type.Unknown(),
    }),
  ),
  warnings: Type.Array(Type.String(), { description: 'What keeps the rules from working' }),
  approval_id: Nullable(Type.String({ description: 'The change waits for this approval; null: it holds' })),
})
export const ChangeSettings = Body('ChangeOrgSettings', 'Rules to change', examples.changeOrgSettings, {
  require_mfa: Type.Optional(settingFields.require_mfa),
  session_hours: Type.Optional(settingFields.session_hours),
  reauthenticate_minutes: Type.Optional(settingFields.reauthenticate_minutes),
  audit_retention_days: Type.Optional(settingFields.audit_retention_days),
  key_lifetime_days: Type.Optional(settingFields.key_lifetime_days),
  update_retention_days: Type.Optional(settingFields.update_retention_days),
  min_group_size: Type.Optional(settingFields.min_group_size),
  automatic_rollback: Type.Optional(settingFields.automatic_rollback),
  require_approval: Type.Optional(settingFields.require_approval),
})

export const OrgParams = Type.Object({ org_id: Type.String() })
