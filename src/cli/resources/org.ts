import { action, argument, option, type Resource } from './resource.ts'

const NUMBER = { parse: 'number or none' } as const

/** What stands beside `svc org`, which shows the settings. */
export const org: Resource = {
  name: 'org',
  summary: 'settings of the organization',
  actions: [
    action('set', 'change the rules of the organization', 'PATCH /api/v1/orgs/{org_id}/settings', {
      args: [argument('org_id', 'id of the organization', { field: 'org_id' })],
      options: [
        option('--require-mfa <who>', 'who must sign in by two factors', 'require_mfa', {
          choices: ['off', 'admins', 'all'],
        }),
        option('--session-hours <hours>', 'how long a session lasts', 'session_hours', { parse: 'number' }),
        option(
          '--reauthenticate-minutes <n>',
          'ask again after so long; none: never',
          'reauthenticate_minutes',
          NUMBER,
        ),
        option('--audit-retention-days <n>', 'how long the audit log is kept, or none', 'audit_retention_days', NUMBER),
        option('--key-lifetime-days <n>', 'how long a new key lasts at most, or none', 'key_lifetime_days', NUMBER),
        option('--update-retention-days <n>', 'how long updates are kept, or none', 'update_retention_days', NUMBER),
        option('--min-group-size <n>', 'analytics show no smaller group; or none', 'min_group_size', NUMBER),
        option('--automatic-rollback <on>', 'true: every rollout goes back by itself', 'automatic_rollback', {
          parse: 'json',
        }),
        option('--require-approval <on>', 'true: a second admin approves what is risky', 'require_approval', {
          parse: 'json',
        }),
      ],
    }),
  ],
}
