import { Type } from 'typebox'
import { COMPLIANCE } from '../../../domain/compliance.ts'
import { Body, Line, Nullable, OneOf, Part, Timestamp } from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'

const Compliance = OneOf(COMPLIANCE, { title: 'Compliance', description: 'A compliance regime' })
const Region = OneOf(['us', 'eu', 'ap'], {
  title: 'Region',
  description: 'Where data must be kept; enforced where SERVICE_REGION is set',
})

export const CreateOrgBody = Body('NewOrg', 'An organization to create', examples.newOrg, {
  name: Line(128, 'Its id is derived from it'),
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

export const settingFields = {
  require_mfa: OneOf(['off', 'admins', 'all'], { description: 'Who must use two-factor sign-in' }),
  session_hours: Type.Integer({ minimum: 1, maximum: 8760, description: 'Maximum length of a session' }),
  reauthenticate_minutes: Nullable(
    Type.Integer({
      minimum: 1,
      maximum: 525_600,
      description: 'Inactivity after which a session must be confirmed again; null: never',
    }),
  ),
  audit_retention_days: Nullable(
    Type.Integer({ minimum: 1, maximum: 36_500, description: 'Retention of the audit log; null: forever' }),
  ),
  key_lifetime_days: Nullable(
    Type.Integer({ minimum: 1, maximum: 3650, description: 'Maximum lifetime of a new API key; null: unlimited' }),
  ),
  update_retention_days: Nullable(
    Type.Integer({
      minimum: 0,
      maximum: 3650,
      description: "Retention of a round's updates; null: the service's setting",
    }),
  ),
  min_group_size: Nullable(
    Type.Integer({
      minimum: 5,
      maximum: 1_000_000,
      description: "Smallest group that analytics show; null: the service's setting, 5",
    }),
  ),
  automatic_rollback: Type.Boolean({
    description: 'Rollouts created while this is on are rolled back automatically if their health check fails',
  }),
  require_approval: Type.Boolean({
    description:
      'A second admin must approve moving an alias, and deliveries that name neither devices nor a group or reach more than half of the devices',
  }),
}

export const Settings = Body('OrgSettings', 'The settings of an organization', examples.orgSettings, {
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
  warnings: Type.Array(Type.String(), { description: 'Problems that keep a setting from taking effect' }),
  approval_id: Nullable(
    Type.String({ description: 'The approval that the change is waiting for; null: the change is in effect' }),
  ),
})
export const ChangeSettings = Body(
  'ChangeOrgSettings',
  'Settings to change',
  examples.changeOrgSettings,
  Type.Partial(Type.Object(settingFields)).properties,
)

export const OrgParams = Type.Object({ org_id: Type.String() })
