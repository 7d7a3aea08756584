import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { SCOPES } from '../src/domain/access.ts'
import { ROLES, type Role } from '../src/domain/roles.ts'
import { readPaths } from './api-document.ts'
import { startWorld, type World } from './world.ts'

interface Operation {
  readonly operationId: string
  /** Empty if no key is needed. */
  readonly security?: readonly unknown[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema?: { readonly examples?: readonly unknown[] } }>>
  }
}

const OPERATIONS = Object.entries(readPaths<Operation>()).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path,
    id: operation.operationId,
    isPublic: operation.security?.length === 0,
    body: operation.requestBody && (operation.requestBody.content['application/json']?.schema?.examples?.[0] ?? {}),
  })),
)

/** Operations that need no key, so roles do not matter. */
const PUBLIC: Readonly<Record<string, string>> = {
  getHealth: 'whether the service runs',
  getSession: 'who the browser is signed in as',
  openSession: 'signing in',
  closeSession: 'signing out',
  showSecondFactor: 'signing in',
  beginPasskeySignIn: 'signing in',
  finishPasskeySignIn: 'signing in',
  beginProviderSignIn: 'signing in',
  finishProviderSignIn: 'signing in',
  authorizeLogin: 'a key of no more than the own role, which the test below looks at',
  exchangeLoginCode: 'the code stands for the key',
  startDeviceLogin: 'a code that counts for nothing before somebody approves it',
  getDeviceLogin: 'whoever has the code is told what asks, before they approve',
  decideDeviceLogin: 'as authorizeLogin',
  exchangeDeviceCode: 'the code stands for the key',
  readInvitation: 'the token stands for the key',
  acceptInvitation: 'the token stands for the key',
  claimPairing: 'the code stands for the key',
  registerDevice: 'of devices themselves under open enrollment; the test below tries it by token',
}

/** A person's own data in the browser, regardless of role, and never available to keys: see account.test.ts. */
const OWN_SESSION = [
  'confirmSession',
  'getAccount',
  'listOwnSessions',
  'changePassword',
  'revokeOwnSession',
  'beginTotp',
  'confirmTotp',
  'removeTotp',
  'renewRecoveryCodes',
  'listPasskeys',
  'beginPasskey',
  'addPasskey',
  'renamePasskey',
  'removePasskey',
]

/** Operations other than GET that a viewer may call. */
const NO_CHANGE: Readonly<Record<string, string>> = {
  createSignInLink: 'signs in another browser with what the caller holds',
  previewRollout: 'computes which devices a rollout would reach',
  prepareDeployment: 'computes what a deployment would do',
  replayReceipt: 'computes a round again and compares',
  describeVariable: 'statistics',
  compareTwoGroups: 'statistics',
  compareGroups: 'statistics',
  testIndependence: 'statistics',
  createChatCompletion: 'asks a model',
  createEmbeddings: 'asks a model',
}

/** Paths for administration, which members may not even read; with the exceptions below. */
const ADMINISTRATION = /^\/api\/v1\/(keys|team|sessions|audit|integrations|backups|storage)(\/|$)/
const NOT_ADMINISTRATION = [
  'getOwnKey',
  // A person's own keys do not need the scope admin, nor does revoking and rotating them.
  'listKeys',
]
const ALSO_ADMINISTRATION = [
  'createOrg',
  'setOrgSettings',
  'approveRequest',
  'rejectRequest',
  'exportDevice',
  'eraseDevice',
  'listDeviceErasures',
  'getDeviceErasure',
]
/** These concern all organizations at once: not for the admin of one. */
const INSTALLATION = /^\/api\/v1\/backups(\/|$)/

/** Returns the roles that may call an operation by the rules of docs/team.md, without the service's own scope table. */
const rolesFor = ({ method, path, id }: (typeof OPERATIONS)[number]): readonly Role[] => {
  if (INSTALLATION.test(path)) return []
  const isAdministration = ADMINISTRATION.test(path) && !NOT_ADMINISTRATION.includes(id)
  if (isAdministration || ALSO_ADMINISTRATION.includes(id)) return ['admin']
  return method === 'GET' || id in NO_CHANGE ? ROLES : ['admin', 'member']
}

interface Member {
  readonly id: string
  readonly key: string
  /** The headers of a signed-in browser. */
  readonly headers: Readonly<Record<string, string>>
}

const start = async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const admin = world.service.firstAdminKey!
  const must = async (method: string, path: string, body: unknown, key = admin): Promise<Record<string, string>> => {
    const response = await world.request(method, `/api/v1${path}`, { key, body })
    expect([path, response.status]).toEqual([path, expect.toSatisfy((status: number) => status < 300)])
    return response.body as Record<string, string>
  }
  /** Adds a person whose own key has every scope: only the role restricts them. */
  const join = async (role: Role): Promise<Member> => {
    const { token } = await must('POST', '/team', { email: `${role}@acme.example`, role, org_id: 'acme' })
    const { id } = await must('POST', '/invitations/accept', { token, password: 'four unrelated words here' })
    const key = await must('POST', '/keys', { name: role, org_id: 'acme', scopes: SCOPES })
    await sql`update keys set person_id = ${id} where id = ${key.id}`.execute(world.database!.sql)
    const origin = world.baseUrl
    const opened = await world.request('POST', '/api/v1/session', {
      headers: { origin },
      body: { api_key: key.api_key },
    })
    const cookie = opened.headers.get('set-cookie')!.split(';')[0]!
    return { id: id!, key: key.api_key!, headers: { origin, cookie } }
  }
  return { world, must, join }
}

const NOBODY = '00000000-0000-4000-8000-000000000000'
const at = (path: string): string => path.replace(/\{\w+\}/g, NOBODY)

/** Tables changed by any request, even a refused one: counts, records of requests, times of key use, and sign-ins. */
const OF_REQUESTS = ['keys', 'rate_counts', 'login_codes', 'sessions', 'audit_entries', 'audit_heads']

/** Returns every row of every other table. */
const contentsOf = async (world: World): Promise<Record<string, string>> => {
  const db = world.database!.sql
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_name <> all (${OF_REQUESTS})`.execute(db)
  const contents: Record<string, string> = {}
  for (const { name } of rows) {
    const found = await sql<{ all: string }>`
      select coalesce(string_agg(t::text, ',' order by t::text), '') as all from ${sql.table(name)} t`.execute(db)
    contents[name] = found.rows[0]!.all
  }
  return contents
}

it('every operation admits exactly the roles that may call it, by key and by session', async () => {
  const { world, join } = await start()
  const named = [...Object.keys(NO_CHANGE), ...NOT_ADMINISTRATION, ...OWN_SESSION, ...ALSO_ADMINISTRATION]
  expect(OPERATIONS.map(({ id }) => id)).toEqual(expect.arrayContaining(named))
  expect(OPERATIONS.filter(({ isPublic }) => isPublic).map(({ id }) => id)).toEqual(
    expect.arrayContaining(Object.keys(PUBLIC)),
  )
  const guarded = OPERATIONS.filter(({ id }) => !(id in PUBLIC) && !OWN_SESSION.includes(id))
  const members = { viewer: await join('viewer'), member: await join('member'), admin: await join('admin') }
  const before = await contentsOf(world)

  const wrong: unknown[] = []
  const attempt = async (role: Role, by: 'key' | 'session', operation: (typeof OPERATIONS)[number]) => {
    const { method, path, id } = operation
    const { key, headers } = members[role]
    // A viewer sends a valid body; for the others, an empty one is refused only after the role check.
    const body = operation.body && (role === 'viewer' ? operation.body : {})
    const response = await world.request(method, at(path), { body, ...(by === 'key' ? { key } : { headers }) })
    const may = rolesFor(operation).includes(role)
    if ((response.status !== 403) !== may || response.status === 401) {
      wrong.push({ id, path, role, by, may, status: response.status, body: response.body })
    }
  }
  const attemptAll = (role: Role, by: 'key' | 'session', operations = guarded) =>
    Promise.all(operations.map((operation) => attempt(role, by, operation)))
  await attemptAll('viewer', 'key')
  await attemptAll(
    'viewer',
    'session',
    // A link is created with a key, for a session.
    guarded.filter(({ method, id }) => method !== 'GET' && id !== 'createSignInLink'),
  )
  expect(wrong, 'a change needs a scope that viewers lack; what changes nothing is named in NO_CHANGE').toEqual([])
  expect(await contentsOf(world)).toEqual(before)

  await attemptAll('member', 'key')
  await attemptAll('admin', 'key')
  expect(wrong, 'what only admins may do lies under ADMINISTRATION').toEqual([])
})

it("a removed role ends immediately for the person's own key, the browser, and keys from logins", async () => {
  const { world, must, join } = await start()
  await join('admin')
  const member = await join('member')
  const code_verifier = randomBytes(32).toString('base64url')
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
  const requested = { code_challenge, redirect_uri: 'http://127.0.0.1:49152/callback', state: NOBODY }
  const { redirect_to } = await must('POST', '/login/authorize', requested, member.key)
  const code = new URL(redirect_to!).searchParams.get('code')
  const login = await must('POST', '/login/token', { code, code_verifier })

  const change = async () => {
    const body = { name: `model-${randomBytes(4).toString('hex')}`, framework: 'pytorch' }
    const device = { device_id: body.name }
    const statuses: number[] = []
    for (const by of [{ key: member.key }, { headers: member.headers }, { key: login.api_key }]) {
      statuses.push((await world.request('POST', '/api/v1/models', { ...by, body })).status)
      statuses.push((await world.request('POST', '/api/v1/devices/register', { ...by, body: device })).status)
      body.name += '-'
      device.device_id += '-'
    }
    return statuses
  }
  expect(await change()).toEqual([201, 201, 201, 201, 201, 201])
  await must('PATCH', `/team/${member.id}`, { role: 'viewer' })
  expect(await change()).toEqual([403, 403, 403, 403, 403, 403])
  await must('PATCH', `/team/${member.id}`, { role: 'member' })
  expect(await change()).toEqual([201, 201, 201, 201, 201, 201])
  await world.request('DELETE', `/api/v1/team/${member.id}`, { key: world.service.firstAdminKey! })
  expect(await change()).toEqual([401, 401, 401, 401, 401, 401])
})
