import { DEFAULT_ORG } from '../../domain/access.ts'
import { meantBy } from '../../domain/misspelling.ts'
import { Failure } from '../failure.ts'
import { knownModel, orNull } from '../model-sources/catalog.ts'
import { isSameService } from '../service-address.ts'
import { readPages, send } from './requests.ts'
import type { FindContext, Kind, Row } from './resource.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** So much of an id is enough to mean it, where no other begins alike. */
const START_OF_ID = /^[0-9a-f]{6}[0-9a-f-]{0,30}$/i
const NOTHING = { path: {}, query: {}, body: null }
/** Names are looked for among so many, newest first. */
const SEARCHED = 1000

/** --org, else that of `init` or `login`, else that of the key; an unbound key works in the default one. */
export const orgOf = async ({ connection, session, org }: FindContext): Promise<string> => {
  if (org !== undefined) return org
  const config = await session.home.config()
  if (config !== null && isSameService(config.apiBase, connection.baseUrl)) return config.orgId
  const kept = await session.home.credentials(connection.baseUrl)
  if (kept?.orgId) return kept.orgId
  const key = await orNull(connection.ask((client) => client.GET('/api/v1/keys/self')))
  return key?.org_id ?? DEFAULT_ORG
}

interface Listed {
  readonly request: string
  readonly field: string
  readonly id: string
  /** What people call it by; null where there is only the id. */
  readonly name: string | null
}

const LISTS: Readonly<Record<Exclude<Kind, 'device'>, Listed>> = {
  group: { request: 'GET /api/v1/device-groups', field: 'groups', id: 'id', name: 'name' },
  model: { request: 'GET /api/v1/models', field: 'models', id: 'id', name: 'name' },
  round: { request: 'GET /api/v1/training/rounds', field: 'rounds', id: 'id', name: 'round_number' },
  rollout: { request: 'GET /api/v1/rollouts', field: 'rollouts', id: 'rollout_id', name: null },
  deployment: { request: 'GET /api/v1/deployments', field: 'deployments', id: 'deployment_id', name: null },
  experiment: { request: 'GET /api/v1/experiments', field: 'experiments', id: 'id', name: 'name' },
  federation: { request: 'GET /api/v1/federations', field: 'federations', id: 'id', name: 'name' },
  integration: { request: 'GET /api/v1/integrations', field: 'integrations', id: 'id', name: 'name' },
  member: { request: 'GET /api/v1/team', field: 'members', id: 'id', name: 'email' },
  job: { request: 'GET /api/v1/training/jobs', field: 'jobs', id: 'id', name: 'name' },
}

const listOf = async (
  context: FindContext,
  kind: Exclude<Kind, 'device'>,
  limit = SEARCHED,
): Promise<readonly Row[]> => {
  const { request, field } = LISTS[kind]
  const query: Row = kind === 'group' || kind === 'member' ? { org_id: await orgOf(context) } : {}
  return (
    await readPages(
      context.connection,
      { ...NOTHING, request, query },
      { field, limit, isPaged: kind !== 'integration' && kind !== 'member' },
    )
  ).rows
}

/** Names that a text may become: for completion, and for what was meant. */
export const namesOf = async (
  context: FindContext,
  kind: Kind,
  begins: string,
  limit = SEARCHED,
): Promise<readonly string[]> => {
  if (kind === 'device') {
    const query = { q: begins }
    const parts = { ...NOTHING, request: 'GET /api/v1/fleet/devices', query }
    const paging = { field: 'devices', limit: Math.min(limit, 100), isPaged: true }
    const { rows } = await readPages(context.connection, parts, paging)
    return rows.map((row) => String(row.device_id))
  }
  const { id, name } = LISTS[kind]
  const rows = await listOf(context, kind, limit)
  return [
    ...new Set(
      rows.flatMap((row) => (name === null ? [String(row[id])] : row[name] === null ? [] : [String(row[name])])),
    ),
  ]
}

/** The failure of something that is not there, with the name that was probably meant. */
export const unknown = async (context: FindContext, kind: Kind, text: string, cause?: unknown): Promise<Failure> => {
  const names = await namesOf(context, kind, kind === 'device' ? text.slice(0, 3) : '').catch(() => [])
  const meant = meantBy(text, names)
  const article = kind === 'experiment' || kind === 'integration' ? 'an' : 'a'
  return new Failure(
    `There is no ${kind} '${text}' that this key may see${meant === null ? '.' : `; did you mean '${meant}'?`}`,
    {
      advice:
        kind === 'federation'
          ? 'List them with: svc federation list'
          : kind === 'job'
            ? 'List them with: svc train list'
            : kind === 'member'
              ? 'List them with: svc team list'
              : `List them with: svc ${kind}s list`,
      cause: cause ?? new Error(`not ${article} ${kind}`),
    },
  )
}

/** The one of a list that has this name, this id, or an id that begins so. */
const pick = async (
  context: FindContext,
  kind: Exclude<Kind, 'device'>,
  text: string,
  rows: readonly Row[],
): Promise<Row> => {
  const { id, name } = LISTS[kind]
  const exact = rows.filter((row) => row[id] === text.toLowerCase() || (name !== null && String(row[name]) === text))
  if (new Set(exact.map((row) => row.org_id)).size > 1) {
    const ids = exact.map((row) => `${row[id]} (of ${row.org_id})`).join(', ')
    throw new Failure(`There are several ${kind}s '${text}': ${ids}.`, { advice: 'Name it by its id.' })
  }
  if (exact[0] !== undefined) return exact[0]
  const begun = START_OF_ID.test(text) ? rows.filter((row) => String(row[id]).startsWith(text.toLowerCase())) : []
  if (begun.length === 1) return begun[0]!
  if (begun.length > 1)
    throw new Failure(`${begun.length} ids of ${kind}s begin with ${text}.`, { advice: 'Give more characters.' })
  throw await unknown(context, kind, text)
}

/** The newest of a model; null where there is no such model, or nothing of it is delivered. */
const newestOf = async (context: FindContext, kind: 'rollout' | 'deployment', name: string): Promise<Row | null> => {
  const { connection } = context
  const paging = { field: LISTS[kind].field, limit: 1, isPaged: true }
  if (kind === 'deployment') {
    const parts = { ...NOTHING, request: LISTS[kind].request, query: { model_name: name } }
    return (await readPages(connection, parts, paging)).rows[0] ?? null
  }
  const parts = { ...NOTHING, request: 'GET /api/v1/models/{model_id}/rollouts', path: { model_id: name } }
  return (await orNull(readPages(connection, parts, paging)))?.rows[0] ?? null
}

/** By id, by the beginning of it, or the newest of a model. */
const planOf = async (context: FindContext, kind: 'rollout' | 'deployment', text: string): Promise<Row> => {
  const newest = UUID.test(text) ? null : await newestOf(context, kind, text)
  return newest ?? pick(context, kind, text, await listOf(context, kind))
}

/** The parameters of the path for what was named. @throws Failure that names what was probably meant */
export const find = async (context: FindContext, kind: Kind, text: string): Promise<Row> => {
  const { connection } = context
  switch (kind) {
    case 'device':
      return { device_id: text }
    case 'model':
      return { model_id: (await knownModel(connection, text)).id }
    case 'round': {
      if (UUID.test(text)) return { round_id: text }
      if (text === 'latest') {
        const round = await orNull(send(connection, { ...NOTHING, request: 'GET /api/v1/training/rounds/current' }))
        if (round !== null) return { round_id: round.id }
        throw new Failure('There are no rounds yet.', { advice: 'Train with: svc train start <model>' })
      }
      return { round_id: (await pick(context, kind, text, await listOf(context, kind))).id }
    }
    case 'rollout': {
      const { rollout_id, model_id } = await planOf(context, kind, text)
      return { rollout_id, model_id }
    }
    case 'deployment':
      return { deployment_id: UUID.test(text) ? text : (await planOf(context, kind, text)).deployment_id }
    default: {
      const found = UUID.test(text) ? { id: text } : await pick(context, kind, text, await listOf(context, kind))
      return { [`${kind}_id`]: found.id }
    }
  }
}
