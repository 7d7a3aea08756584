import type { ColumnType, Generated } from 'kysely'
import type { Json } from './json-column.ts'

/** Row types of 0024-people, in the manner of rows.ts. */
export interface PersonRow {
  id: string
  org_id: string
  email: string | null
  name: string | null
  role: string
  password_hash: string | null
  totp_secret: string | null
  totp_confirmed_at: Date | null
  totp_step: number | null
  oidc_identity: string | null
  failed_attempts: Generated<number>
  last_failed_at: Date | null
  created_at: Date
  signed_in_at: Date | null
  removed_at: Date | null
}

export interface InvitationRow {
  id: string
  org_id: string
  email: string
  role: string
  hash: string
  invited_by: string
  created_at: Date
  expires_at: Date
  accepted_at: Date | null
}

export interface RecoveryCodeRow {
  person_id: string
  hash: string
  used_at: Date | null
}

export interface PasskeyRow {
  id: string
  person_id: string
  name: string
  public_key: Buffer
  counter: number
  transports: string[]
  created_at: Date
  last_used_at: Date | null
}

export interface SignInStepRow {
  hash: string
  kind: string
  person_id: string | null
  data: ColumnType<Record<string, unknown>, string, string>
  attempts: Generated<number>
  expires_at: Date
}

export interface OrgSettingsRow {
  org_id: string
  require_mfa: Generated<string>
  session_hours: Generated<number>
  reauthenticate_minutes: number | null
  /** From here on added by 0029-compliance. */
  audit_retention_days: number | null
  key_lifetime_days: number | null
  update_retention_days: number | null
  min_group_size: number | null
  automatic_rollback: Generated<boolean>
  updated_at: Date
  /** Added by 0034-approvals. */
  require_approval: Generated<boolean>
}

/** Added by 0034-approvals. */
export interface ApprovalRow {
  id: string
  ordinal: Generated<number>
  org_id: string
  kind: string
  subject: string
  title: string
  payload: Json<Record<string, unknown>>
  requester: Json<Record<string, unknown>>
  people: string[]
  status: string
  requested_at: Date
  expires_at: Date
  decided_at: Date | null
  decided_by: string | null
  reason: string | null
}

export interface PeopleTables {
  people: PersonRow
  invitations: InvitationRow
  recovery_codes: RecoveryCodeRow
  passkeys: PasskeyRow
  sign_in_steps: SignInStepRow
  org_settings: OrgSettingsRow
  approvals: ApprovalRow
}
