/** How the records of a kind are listed, to find one by name and to complete names in a shell. */
interface Listed {
  readonly request: string
  readonly field: string
  readonly id: string
  /** The field with the display name; null if records have only an id. */
  readonly name: string | null
  /** The list and its names are those of one organization. */
  readonly ofOrg?: true
  /** Its parameter `q` finds records by a part of their names. */
  readonly isSearchable?: true
  /** The maximum page size; null if the response is the whole list. Default: 1000. */
  readonly maxPage?: number | null
  /** The command that lists them, if it is not `<kind>s list`. */
  readonly listedBy?: string
}

const TABLE = {
  group: { request: 'GET /api/v1/device-groups', field: 'groups', id: 'id', name: 'name', ofOrg: true },
  model: { request: 'GET /api/v1/models', field: 'models', id: 'id', name: 'name', maxPage: 100, isSearchable: true },
  round: { request: 'GET /api/v1/training/rounds', field: 'rounds', id: 'id', name: 'round_number' },
  rollout: { request: 'GET /api/v1/rollouts', field: 'rollouts', id: 'rollout_id', name: null },
  deployment: { request: 'GET /api/v1/deployments', field: 'deployments', id: 'deployment_id', name: null },
  experiment: { request: 'GET /api/v1/experiments', field: 'experiments', id: 'id', name: 'name' },
  federation: {
    request: 'GET /api/v1/federations',
    field: 'federations',
    id: 'id',
    name: 'name',
    listedBy: 'federation list',
  },
  integration: { request: 'GET /api/v1/integrations', field: 'integrations', id: 'id', name: 'name', maxPage: null },
  member: {
    request: 'GET /api/v1/team',
    field: 'members',
    id: 'id',
    name: 'email',
    ofOrg: true,
    maxPage: null,
    listedBy: 'team list',
  },
  job: { request: 'GET /api/v1/training/jobs', field: 'jobs', id: 'id', name: 'name', listedBy: 'train list' },
} as const satisfies Readonly<Record<string, Listed>>

export type ListedKind = keyof typeof TABLE

/** Objects that can be found by name or id and completed in a shell. */
export type Kind = 'device' | ListedKind

export const LISTS: Readonly<Record<ListedKind, Listed>> = TABLE

/** Kinds with names that are unique only within an organization. */
export const KINDS_OF_ORG: readonly Kind[] = [
  'device',
  ...(Object.keys(TABLE) as ListedKind[]).filter((kind) => LISTS[kind].ofOrg),
]
