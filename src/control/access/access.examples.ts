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

export const examples = {
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
