import { DEFAULT_ORG } from '../../domain/access.ts'
import { meantBy } from '../../domain/misspelling.ts'
import { isUuid } from '../../domain/model.ts'
import { Failure } from '../failure.ts'
import { knownModel, nullIfNotFound } from '../model-sources/catalog.ts'
import { isSameService } from '../service-address.ts'
import { type Kind, LISTS, type ListedKind } from './kinds.ts'
import { MAX_PAGE, readRows, send } from './requests.ts'
import type { Argument, FindContext, Row } from './resource.ts'

/** The beginning of an id, which is enough if no other id begins with it. */
const START_OF_ID = /^[0-9a-f]{6}[0-9a-f-]{0,30}$/i
const NOTHING = { path: {}, query: {}, body: null }
/** The number of records in which names are looked up, newest first. */
const SEARCHED = 1000

/** --org, else the organization from `init` or `login`, else the key's; for an unbound key, the default organization. */
export const orgOf = async ({ connection, session, org }: FindContext): Promise<string> => {
  if (org !== undefined) return org
  const config = await session.home.config()
  if (config !== null && isSameService(config.apiBase, connection.baseUrl)) return config.orgId
  const kept = await session.home.credentials(connection.baseUrl)
  if (kept?.orgId) return kept.orgId
  const key = await nullIfNotFound(connection.request((client) => client.GET('/api/v1/keys/self')))
  return key?.org_id ?? DEFAULT_ORG
}

const listOf = async (
  context: FindContext,
  kind: ListedKind,
  limit = SEARCHED,
  filter: Row = {},
): Promise<readonly Row[]> => {
  const { request, field, ofOrg, maxPage = MAX_PAGE } = LISTS[kind]
  const query: Row = ofOrg ? { ...filter, org_id: await orgOf(context) } : filter
  const paging = { field, limit, isPaged: maxPage !== null, pageSize: maxPage ?? MAX_PAGE }
  return (await readRows(context.connection, { ...NOTHING, request, query }, paging)).rows
}

/** Returns names for completion and for suggestions. */
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
    const { rows } = await readRows(context.connection, parts, paging)
    return rows.map((row) => String(row.device_id))
  }
  const { id, name, isSearchable } = LISTS[kind]
  const rows = await listOf(context, kind, limit, isSearchable ? { q: begins } : {})
  return [
    ...new Set(
      rows.flatMap((row) => (name === null ? [String(row[id])] : row[name] === null ? [] : [String(row[name])])),
    ),
  ]
}

/** Returns the failure for a missing object, with the closest name as a suggestion. */
export const unknown = async (context: FindContext, kind: Kind, text: string, cause?: unknown): Promise<Failure> => {
  const kinds: readonly Kind[] = kind === 'job' ? ['job', 'model'] : [kind]
  const namesIn = (each: Kind) => namesOf(context, each, each === 'device' ? text.slice(0, 3) : '').catch(() => [])
  const meant = meantBy(text, (await Promise.all(kinds.map(namesIn))).flat())
  const suggestion = meant === null ? '' : ` Did you mean '${meant}'?`
  const named = kinds.join(' or ')
  const capitalized = named.charAt(0).toUpperCase() + named.slice(1)
  return new Failure(`${capitalized} '${text}' does not exist, or this key has no access to it.${suggestion}`, {
    advice: `List them with: svc ${(kind !== 'device' && LISTS[kind].listedBy) || `${kind}s list`}`,
    cause: cause ?? new Error(`unknown ${kind}`),
  })
}

/** Returns the row with this name or id, or the only row whose id begins with the text. @throws Failure */
const pick = async (context: FindContext, kind: ListedKind, text: string, rows: readonly Row[]): Promise<Row> => {
  const { id, name } = LISTS[kind]
  const exact = rows.filter((row) => row[id] === text.toLowerCase() || (name !== null && String(row[name]) === text))
  // Integrations of one organization may have the same name; pages of a growing list may repeat a row.
  const found = new Map(exact.map((row) => [row[id], row.org_id]))
  if (found.size > 1) {
    const ids = [...found].map(([each, org]) => (org == null ? each : `${each} (of ${org})`)).join(', ')
    throw new Failure(`There are several ${kind}s '${text}': ${ids}.`, { advice: 'Use its id instead.' })
  }
  if (exact[0] !== undefined) return exact[0]
  const begun = START_OF_ID.test(text) ? rows.filter((row) => String(row[id]).startsWith(text.toLowerCase())) : []
  if (begun.length === 1) return begun[0]!
  if (begun.length > 1)
    throw new Failure(`${begun.length} ids of ${kind}s begin with ${text}.`, { advice: 'Give more characters.' })
  throw await unknown(context, kind, text)
}

/** Returns the newest one of a model; null if there is no such model, or it has none. */
const newestOf = async (context: FindContext, kind: 'rollout' | 'deployment', name: string): Promise<Row | null> => {
  const { connection } = context
  const paging = { field: LISTS[kind].field, limit: 1, isPaged: true }
  if (kind === 'deployment') {
    const parts = { ...NOTHING, request: LISTS[kind].request, query: { model_name: name } }
    return (await readRows(connection, parts, paging)).rows[0] ?? null
  }
  const parts = { ...NOTHING, request: 'GET /api/v1/models/{model_id}/rollouts', path: { model_id: name } }
  return (await nullIfNotFound(readRows(connection, parts, paging)))?.rows[0] ?? null
}

/** Finds a plan by id, by the beginning of an id, or as the newest one of a model. */
const planOf = async (context: FindContext, kind: 'rollout' | 'deployment', text: string): Promise<Row> => {
  const newest = isUuid(text) ? null : await newestOf(context, kind, text)
  return newest ?? pick(context, kind, text, await listOf(context, kind))
}

/** Finds a job by id, as the newest one of a model, by name, or by the beginning of its id. */
const jobOf = async (context: FindContext, text: string, prefer: Prefer): Promise<Row> => {
  const { connection } = context
  if (isUuid(text)) {
    const parts = { ...NOTHING, request: 'GET /api/v1/training/jobs/{job_id}', path: { job_id: text } }
    const job = await nullIfNotFound(send(connection, parts))
    if (job !== null) return job
  }
  const listed = async (query: Row): Promise<readonly Row[]> => {
    const paging = { field: 'jobs', limit: SEARCHED, isPaged: true, pageSize: MAX_PAGE }
    return (await readRows(connection, { ...NOTHING, request: LISTS.job.request, query }, paging)).rows
  }
  const chosen = (jobs: readonly Row[]): Row | undefined => jobs.find(prefer) ?? jobs[0]
  const ofModel = await nullIfNotFound(listed({ model: text }))
  const newest = chosen(ofModel ?? [])
  if (newest !== undefined) return newest
  const jobs = await listed({})
  const begun = START_OF_ID.test(text) ? jobs.filter(({ id }) => String(id).startsWith(text.toLowerCase())) : []
  const job = chosen(jobs.filter(({ name }) => name === text)) ?? (begun.length === 1 ? begun[0] : undefined)
  if (job !== undefined) return job
  if (ofModel === null) throw await unknown(context, 'job', text)
  throw new Failure(`No training job has trained '${text}'.`, { advice: `Start one: svc train start ${text}` })
}

/** Selects among jobs with the same name or model; if it selects none, the newest is used. */
type Prefer = NonNullable<Argument['prefer']>

/** Resolves a name to path parameters. @throws Failure with the closest name as a suggestion */
export const find = async (
  context: FindContext,
  kind: Kind,
  text: string,
  { prefer = () => true, refuse = () => null }: Pick<Argument, 'prefer' | 'refuse'> = {},
): Promise<Row> => {
  const { connection } = context
  switch (kind) {
    case 'device':
      return { device_id: text }
    case 'model':
      return { model_id: (await knownModel(connection, text)).id }
    case 'job':
      return { job_id: (await jobOf(context, text, prefer)).id }
    case 'round': {
      if (isUuid(text)) return { round_id: text }
      if (text === 'latest') {
        const round = await nullIfNotFound(
          send(connection, { ...NOTHING, request: 'GET /api/v1/training/rounds/current' }),
        )
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
      return { deployment_id: isUuid(text) ? text : (await planOf(context, kind, text)).deployment_id }
    default: {
      if (isUuid(text)) return { [`${kind}_id`]: text }
      // The service itself finds federations by name, among any number of them.
      const named = kind === 'federation' ? await listOf(context, kind, SEARCHED, { name: text }) : []
      const rows = named.length > 0 ? named : await listOf(context, kind)
      const found = await pick(context, kind, text, rows)
      const refusal = refuse(found)
      if (refusal !== null) throw refusal
      return { [`${kind}_id`]: found.id }
    }
  }
}
