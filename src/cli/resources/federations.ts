import { entry } from '../command.ts'
import { wrongUsage } from '../failure.ts'
import { numberAboveZero } from '../options.ts'
import { fourDigits } from './cells.ts'
import { send } from './requests.ts'
import {
  action,
  argument,
  type Column,
  type FindContext,
  ofSeveral,
  option,
  PRIVACY_TIMEOUT_MS,
  type Resource,
  type Row,
} from './resource.ts'

const federation = argument('federation', 'a federation, by name or id', { find: 'federation' })
const AT = '/api/v1/federations/{federation_id}'

/** Organizations are separated by spaces or commas. */
const invited = async ({ org_ids }: Row): Promise<Row> => ({
  org_ids: (org_ids as readonly string[]).flatMap((part) => part.split(',')).filter((orgId) => orgId !== ''),
})

const isInvited = ({ membership }: Row): boolean => (membership as Row | null)?.status === 'invited'

/** Returns `owner`, `member`, or `invited`; null if the key is not bound to an organization. */
const roleOf = (row: Row): unknown => (isInvited(row) ? 'invited' : (row.membership as Row | null)?.role)

const OWN_FIELDS: readonly Column[] = [
  ['Id', 'id'],
  ['Name', 'name'],
  ['Description', 'description'],
  ['Owner', 'org_id'],
  ['Members', 'member_count'],
  ['Status', 'status'],
  ['Your role', roleOf],
  ['Created', 'created_at'],
]

/** Before joining, an organization can see only the federation's own record. */
const fieldsOf = async (row: Row, { connection }: FindContext): Promise<readonly Column[]> => {
  if (isInvited(row)) return OWN_FIELDS
  const read = (part: string): Promise<Row> =>
    send(connection, { request: `GET ${AT}/${part}`, path: { federation_id: row.id }, query: {}, body: null })
  const models = (await read('models')).models as readonly Row[]
  const budget = await read('privacy')
  const spent = `epsilon ${fourDigits(budget.current_epsilon_spent)} of ${fourDigits(budget.total_epsilon_budget)} spent`
  return [
    ...OWN_FIELDS,
    ['Models', () => models.map(({ name, model_id }) => name ?? model_id).join(', ')],
    ['Privacy', () => (budget.is_set === true ? spent : 'no budget')],
  ]
}

const BUDGET = { request: `PUT ${AT}/privacy/budget`, parse: numberAboveZero }

const budget = action('budget', 'show or set the privacy budget', `GET ${AT}/privacy`, {
  args: [federation],
  options: [
    option('--epsilon <number>', 'set the total epsilon budget', 'total_epsilon_budget', BUDGET),
    option('--delta <number>', 'delta of the budget (default: 1e-5)', 'total_delta_budget', BUDGET),
  ],
  body: async (sent) => {
    if ('total_delta_budget' in sent && !('total_epsilon_budget' in sent)) throw wrongUsage('--delta needs --epsilon.')
    return {}
  },
  fields: [
    ['Budget', ({ is_set, total_epsilon_budget: all }) => (is_set === true ? `epsilon ${fourDigits(all)}` : 'not set')],
    ['Delta', 'total_delta_budget'],
    [
      'Spent',
      ({ current_epsilon_spent: spent, accountant }) =>
        `${fourDigits(spent)} (${String(accountant).toUpperCase()} accounting)`,
    ],
    [
      'Reserved',
      ({ epsilon_committed: committed, current_epsilon_spent: spent }) =>
        fourDigits(Math.max(0, Number(committed) - Number(spent))),
    ],
    ['Remaining', ({ epsilon_remaining: remaining }) => fourDigits(remaining)],
    ['Rounds', 'rounds_tracked'],
  ],
  notes: async ({ is_exhausted }) =>
    is_exhausted === true ? ['The budget is spent: no more private rounds can start.'] : [],
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
        ['YOUR ROLE', roleOf],
        ['MEMBERS', 'member_count', 'count'],
        ['CREATED', 'created_at', 'time'],
      ],
      none: 'No federations. Create one with: svc federation create <name>',
    }),
    action('show', 'show a federation', `GET ${AT}`, {
      args: [federation],
      fields: fieldsOf,
      notes: async (row) => (isInvited(row) ? [`You are invited. Join with: svc federation join ${row.id}`] : []),
    }),
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
    budget,
    entry(
      'privacy',
      'list private rounds, or estimate the cost of one',
      () => import('./federation-privacy.command.ts'),
    ),

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
      timeoutMs: PRIVACY_TIMEOUT_MS,
      options: [
        option('--sample-rate <rate>', 'target devices / eligible devices', 'sample_rate', {
          parse: 'number',
          required: true,
        }),
        option('--rounds <count>', 'number of rounds (default: 1)', 'num_steps', 'number'),
        option(
          '--target-epsilon <epsilon>',
          'epsilon to stay within (default: the budget)',
          'target_epsilon',
          'number',
        ),
        option('--target-delta <delta>', "delta (default: the budget's)", 'target_delta', 'number'),
      ],
    }),
    action('rounds-left', 'compute the number of private rounds left', `GET ${AT}/privacy/rounds-left`, {
      args: [federation],
      timeoutMs: PRIVACY_TIMEOUT_MS,
      options: [
        option('--noise-multiplier <ratio>', 'noise multiplier of each round', 'noise_multiplier', {
          parse: 'number',
          required: true,
        }),
        option('--sample-rate <rate>', 'target devices / eligible devices', 'sample_rate', {
          parse: 'number',
          required: true,
        }),
        option('--rounds <count>', 'number of rounds to count as one (default: 1)', 'num_steps', 'number'),
        option('--target-delta <delta>', "delta (default: the budget's)", 'target_delta', 'number'),
      ],
    }),
  ],
}
