import type { ColumnType, Generated } from 'kysely'
import type { Json } from './json-column.ts'

// Rows of the access module's tables; see rows.ts.

export interface OrgRow {
  id: string
  name: string
  compliance: string | null
  region: string
  created_at: Date
}

export interface OrgSettingsRow {
  org_id: string
  require_mfa: Generated<string>
  session_hours: Generated<number>
  reauthenticate_minutes: number | null
  /** This and the next four columns were added by 0029-compliance. */
  audit_retention_days: number | null
  key_lifetime_days: number | null
  update_retention_days: number | null
  min_group_size: number | null
  automatic_rollback: Generated<boolean>
  updated_at: Date
  /** Added by 0034-approvals. */
  require_approval: Generated<boolean>
}

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

export interface KeyRow {
  id: string
  name: string
  prefix: string
  hash: string
  grants: string[]
  org_id: string | null
  device_id: string | null
  created_at: Date
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
  approved_by: string | null
  root_id: string | null
  person_id: string | null
  created_by: string | null
  replaces: string | null
}

export interface LoginCodeRow {
  hash: string
  challenge: string
  redirect_uri: string
  grants: string[]
  org_id: string | null
  expires_at: Date
  approved_by: string | null
  person_id: string | null
  session_id: string | null
}

export interface DeviceLoginRow {
  device_hash: string
  user_hash: string
  client_name: string
  address: string
  created_at: Date
  expires_at: Date
  interval_seconds: number
  next_poll_at: Date
  decision: string | null
  grants: Generated<string[]>
  org_id: string | null
  approved_by: string | null
  person_id: string | null
  session_id: string | null
}

export interface SessionRow {
  id: string
  hash: string
  key_id: string | null
  browser: string
  created_at: Date
  used_at: Date
  expires_at: Date
  person_id: string | null
  authenticated_at: Date | null
  mfa: Generated<boolean>
}

export interface RateCountRow {
  name: string
  requests: number
  counted_at: Date
}

export interface AuditEntryRow {
  id: Generated<number>
  org_id: string
  seq: number
  at: Date
  actor_kind: string
  actor_id: string | null
  credential_id: string | null
  address_id: string | null
  action: string
  object_kind: string | null
  object_id: string | null
  changes: string
  result: string
  status: number | null
  request_id: string
  prev_hash: string
  hash: string
}

export interface AuditHeadRow {
  org_id: string
  seq: number
  hash: string
  pruned_seq: Generated<number>
  pruned_hash: Generated<string>
  pruned_signature: string | null
}

export interface AuditNameRow {
  org_id: string
  kind: string
  id: string
  name: string
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

/** Added by 0043-key-fingerprints. */
export interface KeyFingerprintRow {
  name: string
  fingerprint: string
}

export interface AccessTables {
  orgs: OrgRow
  org_settings: OrgSettingsRow
  people: PersonRow
  invitations: InvitationRow
  recovery_codes: RecoveryCodeRow
  passkeys: PasskeyRow
  sign_in_steps: SignInStepRow
  keys: KeyRow
  login_codes: LoginCodeRow
  device_logins: DeviceLoginRow
  sessions: SessionRow
  rate_counts: RateCountRow
  audit_entries: AuditEntryRow
  audit_heads: AuditHeadRow
  audit_names: AuditNameRow
  approvals: ApprovalRow
  key_fingerprints: KeyFingerprintRow
}
