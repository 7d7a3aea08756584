import { ids, times } from '../story.examples.ts'

const newKey = {
  name: 'ml-team',
  scopes: ['devices:read', 'models:write', 'training:write'],
  org_id: 'acme',
  expires_in_days: 90,
}
const key = {
  id: ids.key,
  name: newKey.name,
  prefix: 'sk_live_Xq3v',
  scopes: newKey.scopes,
  org_id: 'acme',
  kind: 'service',
  device_id: null,
  created_at: times.created,
  expires_at: '2026-05-31T09:00:00.000Z',
  revoked_at: null,
  last_used_at: times.reported,
  approved_by: null,
  person_id: null,
  created_by: null,
  replaces: null,
  replaced_by: null,
}
const apiKey = 'sk_live_Xq3vR8mTzL0pW5nYc2JfK7dHs9BgUa1E'
const org = { name: 'acme', compliance: 'gdpr', region: 'eu' }
const state = 'Yk3nQ0aVx8JrT5mW'
const userCode = 'WDJB-MKHT'
const deviceLogin = {
  client_name: 'svc on build-server-7',
  address: '203.0.113.24',
  created_at: times.created,
  expires_at: '2026-03-02T09:10:00.000Z',
  decision: null,
}

const member = {
  id: '7c1d6a52-0a3e-4b8e-9a44-1f0f4c0f7b21',
  email: 'ada@acme.example',
  name: 'Ada',
  role: 'admin',
  status: 'active',
  mfa: true,
  signed_in_at: times.reported,
  created_at: times.created,
  expires_at: null,
}
const invited = {
  ...member,
  id: 'e0a8f1c4-3b52-4f0a-8a7b-6a2f9c1d5e33',
  email: 'bob@acme.example',
  name: null,
  role: 'member',
  status: 'invited',
  mfa: false,
  signed_in_at: null,
  expires_at: '2026-02-07T09:00:00.000Z',
}
const invitationToken = 'mB92K27uhbUJU1p1r_wW1gFWFOEjXkdBjftJeZ4CVPw'
const signInPolicy = { org_id: 'acme', require_mfa: 'admins', session_hours: 12, reauthenticate_minutes: null }

const hash = '3f0e6a8b5f4d4c1f9e1c7a2b8d6e5f40312233445566778899aabbccddeeff00'
const auditEntry = {
  id: 4182,
  org_id: 'acme',
  seq: 57,
  at: times.reported,
  actor_kind: 'key',
  actor_id: ids.key,
  actor_name: newKey.name,
  credential_id: ids.key,
  address: '203.0.113.7',
  address_id: 'q1J0c2Zr3v8mTzL0pW5nYc',
  action: 'pauseRollout',
  object_kind: 'rollout',
  object_id: ids.rollout,
  object_name: null,
  changes: [{ field: 'status', from: '"active"', to: '"paused"' }],
  result: 'ok',
  status: null,
  request_id: '0b6c4f0e-2c1d-4b57-9a55-0c9a6f0f3b11',
  prev_hash: '9c1185a5c5e9fc54612808977ee8f548b2258d31aa3bb1f3f8a1f3a0c2d4e6f8',
  hash,
}
const auditHead = {
  org_id: 'acme',
  seq: 57,
  hash,
  at: times.reported,
  signature: 'Yk3nQ0aVx8JrT5mWZ2mB4Vt0cK8x1yq5o3n7p9rUeWdHgJfLaSiTkMvXzYYk3nQ0aVx8JrT5mWZ2mB4Vt0cKw==',
}

const orgSettings = {
  org_id: 'acme',
  compliance: 'gdpr',
  require_mfa: 'admins',
  session_hours: 24,
  reauthenticate_minutes: null,
  audit_retention_days: 1825,
  key_lifetime_days: null,
  update_retention_days: 7,
  min_group_size: 10,
  automatic_rollback: true,
  violations: [{ setting: 'key_lifetime_days', value: null, preset: 365 }],
}

const passkey = {
  id: 'mT5kZ2QmC7fB4Vt0cK8x1g',
  name: "Ada's laptop",
  created_at: times.created,
  last_used_at: times.reported,
}
const credential = {
  id: passkey.id,
  rawId: passkey.id,
  type: 'public-key',
  response: { clientDataJSON: 'eyJ0eXBlIjoi…' },
  clientExtensionResults: {},
}

export const examples = {
  orgSettings,
  changeOrgSettings: { key_lifetime_days: 365 },
  newInvitation: { email: invited.email, role: invited.role, org_id: 'acme' },
  invitation: {
    ...invited,
    org_id: 'acme',
    token: invitationToken,
    link: `https://fleet.acme.example/#invitation=${invitationToken}`,
    mail: 'sent',
  },
  member,
  team: { org_id: 'acme', members: [member, invited] },
  newRole: { role: 'viewer' },
  invitationToken: { token: invitationToken },
  invitationView: { org_id: 'acme', email: invited.email, role: invited.role, expires_at: invited.expires_at },
  acceptance: { token: invitationToken, name: 'Bob', password: 'correct horse battery staple' },
  signInPolicy,
  newSignInPolicy: { require_mfa: 'admins', session_hours: 12 },
  auditEntry,
  auditPage: { entries: [auditEntry], next: '4182' },
  auditHeads: { public_key: 'MCowBQYDK2VwAyEAYk3nQ0aVx8JrT5mWZ2mB4Vt0cK8x1yq5o3n7p9rUeWd=', heads: [auditHead] },
  verifyAudit: { org_id: 'acme', heads: [auditHead] },
  auditVerification: {
    valid: false,
    chains: [
      {
        org_id: 'acme',
        valid: false,
        entries: 41,
        first_seq: 1,
        last_seq: 41,
        last_hash: hash,
        heads: 1,
        fault_seq: 42,
        fault: 'Entry 42: its content is not what was hashed.',
      },
    ],
  },
  newKey,
  key,
  createdKey: { ...key, last_used_at: null, api_key: apiKey },
  keyList: { keys: [key] },
  keyRotation: { overlap_hours: 24 },
  newOrg: org,
  org: { id: 'acme', ...org, created_at: times.created },
  loginRequest: {
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    redirect_uri: 'http://127.0.0.1:53682/callback',
    state,
  },
  loginApproval: { redirect_to: `http://127.0.0.1:53682/callback?code=4fT9sZ2kQmC7&state=${state}` },
  loginCode: { code: '4fT9sZ2kQmC7', code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' },
  loginToken: { api_key: apiKey, org_id: 'acme', expires_at: null },
  newDeviceLogin: { client_name: deviceLogin.client_name },
  deviceLoginStart: {
    device_code: 'GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS8Q',
    user_code: userCode,
    verification_uri: 'https://fleet.example.org/login/device',
    verification_uri_complete: `https://fleet.example.org/login/device?user_code=${userCode}`,
    expires_in: 600,
    interval: 5,
  },
  deviceCode: { device_code: 'GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS8Q' },
  userCode: { user_code: userCode },
  deviceLogin,
  account: {
    id: '7c1d6a52-0a3e-4b8e-9a44-1f0f4c0f7b21',
    org_id: 'acme',
    email: 'ada@acme.example',
    name: 'Ada',
    role: 'admin',
    password: true,
    identity_provider: false,
    totp: true,
    passkeys: 0,
    recovery_codes_left: 10,
    must_confirm: false,
  },
  newPassword: { old_password: 'correct horse battery staple', new_password: 'four unrelated words here' },
  totpSecret: {
    secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    uri: 'otpauth://totp/Tributary:ada%40acme.example?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Tributary',
  },
  recoveryCodes: { recovery_codes: ['7kx2m-q4w9t-hz3nb-8pcrf', 'd5vga-2mxk7-t9qhn-w3zpb'] },
  signInStep: { next: 'second_factor', factors: ['totp', 'recovery_code'], expires_in: 300 },
  secondFactor: { code: '492039' },
  passkey,
  passkeyList: { passkeys: [passkey] },
  passkeyOptions: {
    public_key: { challenge: 'Yk3nQ0aVx8JrT5mWZ2mB4Vt0cK8x1yq5o3n7p9rUeWd', rpId: 'fleet.acme.example' },
  },
  newPasskey: { name: passkey.name, credential },
  addedPasskey: { ...passkey, last_used_at: null, recovery_codes: ['7kx2m-q4w9t-hz3nb-8pcrf'] },
  passkeyName: { name: passkey.name },
  passkeySignIn: { credential },
  providerSignIn: { org_id: 'acme' },
  providerAddress: {
    redirect_to: `https://login.acme.example/authorize?client_id=tributary&response_type=code&scope=openid+email+profile&state=${state}`,
  },
  providerAnswer: { query: `code=4fT9sZ2kQmC7&state=${state}&iss=https%3A%2F%2Flogin.acme.example` },
  confirmation: { password: 'correct horse battery staple' },
  deviceLoginDecision: { user_code: userCode, approve: true },
} as const
