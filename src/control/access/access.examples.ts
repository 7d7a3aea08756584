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
  device_id: null,
  created_at: times.created,
  expires_at: '2026-05-31T09:00:00.000Z',
  revoked_at: null,
  last_used_at: times.reported,
  approved_by: null,
}
const apiKey = 'sk_live_Xq3vR8mTzL0pW5nYc2JfK7dHs9BgUa1E'
const org = { name: 'acme', compliance: 'gdpr', region: 'eu' }
const state = 'Yk3nQ0aVx8JrT5mW'

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

export const examples = {
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
  newKey,
  key,
  createdKey: { ...key, last_used_at: null, api_key: apiKey },
  keyList: { keys: [key] },
  newOrg: org,
  org: { id: 'acme', ...org, created_at: times.created },
  loginRequest: {
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    redirect_uri: 'http://127.0.0.1:53682/callback',
    state,
  },
  loginApproval: { redirect_to: `http://127.0.0.1:53682/callback?code=4fT9sZ2kQmC7&state=${state}` },
  loginCode: { code: '4fT9sZ2kQmC7', code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' },
  loginToken: { api_key: apiKey, org_id: 'acme' },
} as const
