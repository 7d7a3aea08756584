import { action, argument, option, type Resource } from './resource.ts'

const NUMBER = 'number or none'

/** The subcommands of `svc org`, which itself shows the settings. */
export const org: Resource = {
  name: 'org',
  summary: 'settings of the organization',
  actions: [
    action('set', "change the organization's settings", 'PATCH /api/v1/orgs/{org_id}/settings', {
      args: [argument('org_id', 'id of the organization', { field: 'org_id' })],
      options: [
        option('--require-mfa <who>', 'who must sign in with two factors', 'require_mfa', {
          choices: ['off', 'admins', 'all'],
        }),
        option('--session-hours <hours>', 'hours until a session ends', 'session_hours', 'number'),
        option(
          '--reauthenticate-minutes <n>',
          'ask again after this much inactivity; none: never',
          'reauthenticate_minutes',
          NUMBER,
        ),
        option(
          '--audit-retention-days <n>',
          'days to keep the audit log; none: forever',
          'audit_retention_days',
          NUMBER,
        ),
        option('--key-lifetime-days <n>', 'maximum lifetime of a new key; none: no limit', 'key_lifetime_days', NUMBER),
        option(
          '--update-retention-days <n>',
          'days to keep updates; none: the setting of the service',
          'update_retention_days',
          NUMBER,
        ),
        option(
          '--min-group-size <n>',
          'smallest group that analytics show; none: the setting of the service, 5',
          'min_group_size',
          NUMBER,
        ),
        option(
          '--automatic-rollback <on>',
          'whether new rollouts always roll back automatically',
          'automatic_rollback',
          'boolean',
        ),
        option('--require-approval <on>', 'whether risky changes need a second admin', 'require_approval', 'boolean'),
      ],
    }),
  ],
}
