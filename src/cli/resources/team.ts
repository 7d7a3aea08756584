import { ROLES } from '../../domain/roles.ts'
import { Failure } from '../failure.ts'
import { action, argument, option, type Resource, type Row } from './resource.ts'

const AT = '/api/v1/team/{member_id}'
const member = argument('email', 'a member, by email address or id', { find: 'member' })

const refuseInvited = ({ email, status }: Row): Failure | null =>
  status === 'active' ? null : new Failure(`${email} has not accepted the invitation, so there is no second factor.`)

export const team: Resource = {
  name: 'team',
  summary: 'manage people, roles, and the sign-in policy',
  actions: [
    action('add', 'invite a person', 'POST /api/v1/team', {
      args: [argument('email', 'email address', { field: 'email' })],
      options: [option('--role <role>', 'what they may do (default: member)', 'role', { choices: ROLES })],
      org: 'body',
      done: 'Invited {email} as {role} to {org_id} until {expires_at}. Mail: {mail}.\n{link}',
      hint: 'The link works once.',
    }),
    action('list', 'list members and invitations', 'GET /api/v1/team', {
      rows: 'members',
      paged: false,
      columns: [
        ['EMAIL', 'email'],
        ['NAME', 'name'],
        ['ROLE', 'role'],
        ['STATUS', 'status'],
        ['MFA', (row) => (row.mfa ? 'yes' : 'no')],
        ['SIGNED IN', 'signed_in_at', 'ago'],
        ['EXPIRES', 'expires_at', 'time'],
        ['ID', 'id', 'id'],
      ],
      org: 'query',
      none: 'No members yet. Invite someone with: svc team add <email> --role admin',
    }),
    action('remove', 'remove a member or revoke an invitation', `DELETE ${AT}`, {
      args: [member],
      confirm: 'Removing {email}',
      done: 'Removed.',
    }),
    action('set-role', 'change the role of a member', `PATCH ${AT}`, {
      args: [member, argument('role', ROLES.join(', '), { field: 'role' })],
      done: '{email} is now {role}.',
    }),
    action('reset-factor', "reset a member's second factor", `DELETE ${AT}/second-factor`, {
      args: [{ ...member, refuse: refuseInvited }],
      confirm: 'Resetting the second factor of {email}',
      done: 'Reset: the password alone signs them in until they set up another.',
    }),
    action('policy', 'show the sign-in policy', 'GET /api/v1/team/policy', { org: 'query' }),
    action('set-policy', 'change the sign-in policy', 'PATCH /api/v1/team/policy', {
      options: [
        option('--require-mfa <who>', 'who must sign in with two factors', 'require_mfa', {
          choices: ['off', 'admins', 'all'],
        }),
        option('--session-hours <hours>', 'hours until a session ends', 'session_hours', 'number'),
        option(
          '--reauthenticate-minutes <n>',
          'ask again after this much inactivity; none: never',
          'reauthenticate_minutes',
          'number or none',
        ),
      ],
      org: 'body',
    }),
  ],
}
