import { times } from '../story.examples.ts'

const integration = {
  id: '5f0c7f0a-51c6-4b41-9a2f-6f4a1c0f9d11',
  org_id: 'acme',
  kind: 'logs',
  type: 'webhook',
  name: 'Release channel',
  endpoint: 'https://hooks.acme.example/tributary',
  format: 'json',
  config: { secret: '(secret)' },
  status: 'active',
  pending: 0,
  oldest_pending_at: null,
  dead_letters: 0,
  failures: 0,
  last_error: null,
  last_error_at: null,
  delivered_at: times.reported,
  created_at: times.created,
}
const event = {
  id: '812',
  type: 'rollout.changed',
  org_id: 'acme',
  subject: { kind: 'rollout', id: 'c0a8f1d2-3b4e-4f5a-8b6c-7d8e9f0a1b2c' },
  payload: { status: 'completed', percentage: 100 },
  time: times.created,
}
const backup = {
  id: '7d0b9c1e-5f6a-4b2c-8d3e-1a2b3c4d5e6f',
  name: '2026-03-02T09-00-00-000Z-7d0b',
  target: '/mnt/backups/tributary',
  scheduled: true,
  status: 'completed',
  reason: null,
  database: 'embedded',
  files: 1284,
  bytes: 5_368_709_120,
  copied_files: 61,
  copied_bytes: 48_234_496,
  unreadable_files: 0,
  verified_at: null,
  created_at: times.created,
  ended_at: times.reported,
}

export const examples = {
  newBackup: { target: '/mnt/backups/tributary', verify: true },
  backup,
  backupList: { backups: [backup] },
  newIntegration: {
    kind: 'logs',
    type: 'webhook',
    name: 'Release channel',
    endpoint: 'https://hooks.acme.example/tributary',
  },
  integration,
  createdIntegration: { ...integration, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
  integrationList: { integrations: [integration] },
  integrationTest: { ok: true, status: 204, response: '', milliseconds: 41 },
  deadLetterList: {
    dead_letters: [
      { id: 3, type: 'rollout.changed', event, reason: 'The receiver answered 400: unknown type', at: times.reported },
    ],
  },
  redelivery: { delivered: 1, remaining: 0, error: null },
  health: { status: 'healthy', version: '1.1.0', timestamp: times.reported },
  status: {
    status: 'operational',
    active_devices: 118,
    total_devices: 120,
    current_round_number: 7,
    current_round_status: 'active',
    total_models: 2,
    timestamp: times.reported,
  },
} as const
