import { standingOf } from '../federation/federations.ts'
import { action, argument, ofSeveral, option, type Resource, type Row } from './resource.ts'

const federation = argument('federation', 'a federation, by name or id', { find: 'federation' })
const AT = '/api/v1/federations/{federation_id}'

/** Organizations are separated by spaces or commas. */
const invited = async ({ org_ids }: Row): Promise<Row> => ({
  org_ids: (org_ids as readonly string[]).flatMap((part) => part.split(',')).filter((orgId) => orgId !== ''),
})

export const federations: Resource = {
  name: 'federation',
  summary: 'train together with other organizations',
  actions: [
    action('create', 'create a federation', 'POST /api/v1/federations', {
      org: 'body',
      args: [argument('name', 'unique in the organization', { field: 'name' })],
      options: [option('--description <text>', 'description', 'description')],
      done: 'Created federation {name} ({id}), which {org_id} owns.',
      hint: 'Invite others: svc federation invite {id} <org_ids>',
    }),
    action('invite', 'invite organizations to a federation', `POST ${AT}/invite`, {
      args: [
        federation,
        argument('org_ids', 'organizations, separated by spaces or commas', { field: 'org_ids', many: true }),
      ],
      body: invited,
      done: 'Invited {invited}.',
      ...ofSeveral('invited', 'No organization was invited', 'invited before, or a member'),
    }),
    action('join', 'accept an invitation', `POST ${AT}/join`, {
      org: 'body',
      args: [federation],
      done: '{org_id} is a member of federation {federation_id}.',
    }),
    action('list', 'list federations', 'GET /api/v1/federations', {
      options: [option('--org <org_id>', 'only federations of this organization', 'org_id')],
      rows: 'federations',
      columns: [
        ['ID', 'id'],
        ['NAME', 'name'],
        ['OWNER', 'org_id'],
        ['YOUR ROLE', (row) => standingOf(row as never)],
        ['MEMBERS', 'member_count', 'count'],
        ['CREATED', 'created_at', 'time'],
      ],
      none: 'No federations. Create one with: svc federation create <name>',
    }),
    { name: 'show', summary: 'show a federation', load: () => import('../federation/show.command.ts') },
    action('members', 'list members and their contributions', `GET ${AT}/members`, {
      args: [federation],
      rows: 'members',
      columns: [
        ['ORGANIZATION', 'org_id'],
        ['ROLE', 'role'],
        ['STATUS', 'status'],
        ['ROUNDS', 'rounds_contributed', 'count'],
        ['SAMPLES', 'total_samples', 'count'],
        ['ACCURACY', 'avg_accuracy', 'share'],
        ['LOSS', 'avg_loss', 'figure'],
        ['LAST CONTRIBUTION', 'last_contribution_at', 'time'],
      ],
    }),
    action('share', 'share a model with the members', `POST ${AT}/models`, {
      args: [argument('model', 'a model, by name or id', { field: 'model_id' }), federation],
      done: 'Members of the federation may read {name} ({model_id}).',
    }),
    {
      name: 'budget',
      summary: 'show or set the privacy budget',
      load: () => import('../federation/budget.command.ts'),
    },
    {
      name: 'privacy',
      summary: 'list private rounds, or estimate the cost of one',
      load: () => import('../federation/privacy.command.ts'),
    },

    action('remove', 'leave a federation or remove a member', `DELETE ${AT}/members/{org_id}`, {
      args: [federation, argument('org_id', 'the organization', { field: 'org_id' })],
      confirm: 'Removing {org_id} from {federation}',
      done: '{message}',
    }),
    action('models', 'list models shared with a federation', `GET ${AT}/models`, {
      args: [federation],
      rows: 'models',
      columns: [
        ['MODEL', (row) => row.name ?? row.model_id],
        ['OWNER', 'org_id'],
        ['VERSION', 'latest_version', 'count'],
        ['FRAMEWORK', 'framework'],
        ['ACCURACY', 'accuracy', 'share'],
        ['LOSS', 'loss', 'figure'],
        ['SHARED', 'shared_at', 'time'],
      ],
      none: 'No models are shared. Share one with: svc federation share <model> <federation>',
    }),
    action('unshare', 'stop sharing a model', `DELETE ${AT}/models/{model_id}`, {
      args: [argument('model', 'a model, by name or id', { find: 'model' }), federation],
      done: '{message}',
    }),
    action('noise', 'compute the least noise that stays within an epsilon', `GET ${AT}/privacy/noise-for-epsilon`, {
      args: [federation],
      options: [
        option('--sample-rate <rate>', 'target devices / eligible devices', 'sample_rate', {
          parse: 'number',
          required: true,
        }),
        option('--rounds <count>', 'number of rounds (default: 1)', 'num_steps', { parse: 'number' }),
        option('--target-epsilon <epsilon>', 'epsilon to stay within (default: the budget)', 'target_epsilon', {
          parse: 'number',
        }),
        option('--target-delta <delta>', "delta (default: the budget's)", 'target_delta', { parse: 'number' }),
      ],
    }),
    action('rounds-left', 'compute the number of private rounds left', `GET ${AT}/privacy/rounds-left`, {
      args: [federation],
      options: [
        option('--noise-multiplier <ratio>', 'noise multiplier of each round', 'noise_multiplier', {
          parse: 'number',
          required: true,
        }),
        option('--sample-rate <rate>', 'target devices / eligible devices', 'sample_rate', {
          parse: 'number',
          required: true,
        }),
        option('--steps <count>', 'number of rounds to count as one (default: 1)', 'num_steps', { parse: 'number' }),
        option('--target-delta <delta>', "delta (default: the budget's)", 'target_delta', { parse: 'number' }),
      ],
    }),
  ],
}
