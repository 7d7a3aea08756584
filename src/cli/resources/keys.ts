import { InvalidArgumentError } from 'commander'
import { ApiError, unwrap } from '../../client/client.ts'
import { SCOPES, type Scope } from '../../domain/access.ts'
import { isSameService } from '../service-address.ts'
import { action, argument, type FindContext, option, type Resource, type Row } from './resource.ts'

const MAX_DAYS = 3650
const MAX_HOURS = 720

/** `30d` -> 30 */
const parseDays = (text: string): number => {
  const days = /^(\d{1,4})d$/.exec(text)?.[1]
  if (days !== undefined && Number(days) >= 1 && Number(days) <= MAX_DAYS) return Number(days)
  throw new InvalidArgumentError(`It must be a number of days from 1d to ${MAX_DAYS}d, such as 30d.`)
}

/** `24h` -> 24, `7d` -> 168 */
const parseHours = (text: string): number => {
  const [, count, unit] = /^(\d{1,3})([hd])$/.exec(text) ?? []
  const hours = Number(count) * (unit === 'd' ? 24 : 1)
  if (hours <= MAX_HOURS) return hours
  throw new InvalidArgumentError(`It must be hours or days from 0h to ${MAX_HOURS}h, such as 24h or 7d.`)
}

const addScope = (text: string, before: readonly Scope[] = []): readonly Scope[] => {
  const scope = SCOPES.find((known) => known === text)
  if (scope === undefined) throw new InvalidArgumentError(`Available scopes: ${SCOPES.join(', ')}.`)
  return before.includes(scope) ? before : [...before, scope]
}

/** Keys belong to the organization from `init`, if it was created on the same service. */
const orgOfInit = async ({ session, connection }: FindContext): Promise<Row> => {
  const config = await session.home.config()
  return config !== null && isSameService(config.apiBase, connection.baseUrl) ? { org_id: config.orgId } : {}
}

/** Whether `svc` uses the key that has just been replaced, which may already have ended. */
const usesReplaced = async ({ replaces }: Row, { connection }: FindContext): Promise<boolean> => {
  try {
    return (await unwrap(connection.client.GET('/api/v1/keys/self'))).id === replaces
  } catch (error) {
    if (error instanceof ApiError && error.code === 'unauthorized') return true
    throw error
  }
}

/** Signs `svc` in with the new key if it was with the old one. */
const keepSignedIn = async (made: Row, context: FindContext): Promise<readonly string[]> => {
  const { session, connection } = context
  const own = await session.apiKey(connection.baseUrl)
  if (own === null || !(await usesReplaced(made, context))) return []
  const { home } = session
  if (own.source !== home.credentialsPath) return [`svc uses the old key (${own.source}). Put the new key there.`]
  const stored = await home.credentials(connection.baseUrl)
  await home.saveCredentials({
    apiKey: String(made.api_key),
    orgId: stored?.orgId ?? null,
    apiBase: connection.baseUrl,
  })
  return [`svc was signed in with the old key; the new one is now in ${own.source}.`]
}

const stateOf = (key: Row, now: Date): string => {
  if (key.revoked_at !== null) return 'revoked'
  if (key.expires_at !== null && new Date(String(key.expires_at)) <= now) return 'expired'
  return key.replaced_by === null ? 'active' : 'replaced'
}

const day = (field: string) => (key: Row) => (key[field] === null ? 'never' : String(key[field]).slice(0, 10))

const SAVE = 'Save the key now: it is not shown again.'
const FIELDS = [
  ['Key', 'api_key'],
  ['Id', 'id'],
  ['Name', 'name'],
  ['Scopes', 'scopes'],
  ['Organization', 'org_id'],
  ['Expires', (key: Row) => key.expires_at ?? 'never'],
] as const

const keyId = argument('key_id', 'id of the key, as svc keys list shows it', { field: 'key_id' })

export const keys: Resource = {
  name: 'keys',
  summary: 'create, list, rotate, and revoke API keys',
  actions: [
    action('create', 'create an API key', 'POST /api/v1/keys', {
      args: [argument('name', 'name of the key', { field: 'name' })],
      options: [
        option('--scope <scope>', 'scope of the key, repeatable (default: all but admin)', 'scopes', addScope),
        option(
          '--expires <days>',
          "lifetime, such as 30d (default: never, or the organization's maximum)",
          'expires_in_days',
          parseDays,
        ),
        option(
          '--org <org_id>',
          'organization to bind the key to (default: the one from svc init, else that of your key)',
          'org_id',
        ),
      ],
      body: async ({ org_id }, _, context) => (org_id === undefined ? orgOfInit(context) : {}),
      fields: FIELDS,
      notes: async () => [SAVE],
    }),
    action('list', 'list API keys', 'GET /api/v1/keys', {
      options: [
        option('--devices', 'list device keys instead of service and personal keys', 'devices', 'flag'),
        option('--kind <kind>', 'only keys of this kind', 'kind', { choices: ['service', 'personal', 'device'] }),
      ],
      rows: 'keys',
      paged: 'uncounted',
      columns: [
        ['ID', 'id'],
        ['NAME', 'name'],
        ['KIND', 'kind'],
        ['KEY', ({ prefix }) => `${prefix}…`],
        ['STATE', stateOf],
        ['ORGANIZATION', 'org_id'],
        ['CREATED', day('created_at')],
        ['EXPIRES', day('expires_at')],
        ['LAST USED', day('last_used_at')],
        ['SCOPES', ({ scopes }) => (scopes as readonly string[]).join(',')],
      ],
      none: 'No keys. Create one with: svc keys create <name>',
      notes: async ({ keys: listed }, { session }) =>
        (listed as readonly Row[])
          .filter((key) => key.exceeds_lifetime && stateOf(key, session.now()) === 'active')
          .map(
            ({ name, id }) =>
              `${name} has a longer lifetime than the organization allows. Replace it with: svc keys rotate ${id}`,
          ),
    }),
    action('revoke', 'revoke an API key', 'DELETE /api/v1/keys/{key_id}', {
      args: [keyId],
      done: 'Revoked {name} ({id}).',
      notes: async ({ prefix }, { session, connection }) => {
        const own = await session.apiKey(connection.baseUrl)
        return own?.key.startsWith(String(prefix))
          ? [`You were using this key (${own.source}). Sign in again: svc login`]
          : []
      },
    }),
    action('rotate', 'replace an API key, with an overlap', 'POST /api/v1/keys/{key_id}/rotate', {
      args: [keyId],
      options: [
        option('--overlap <time>', 'how long the old key still works, such as 24h or 7d', 'overlap_hours', {
          parse: parseHours,
          default: [24, '24h'],
        }),
      ],
      fields: [...FIELDS, ['Replaces', 'replaces']],
      after: keepSignedIn,
      notes: async (_, __, { overlap_hours: hours }) => [
        SAVE,
        `The old key, and what was signed in with it, ${hours === 0 ? 'no longer works' : `works for ${hours} h more`}.`,
      ],
    }),
  ],
}
