import type { Generated } from 'kysely'

// Organizations, keys, logins and sessions, in the manner of rows.ts.

export interface OrgRow {
  id: string
  name: string
  compliance: string | null
  region: string
  created_at: Date
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

export interface AccessTables {
  orgs: OrgRow
  keys: KeyRow
  login_codes: LoginCodeRow
  device_logins: DeviceLoginRow
  sessions: SessionRow
  rate_counts: RateCountRow
}
